// Package lint holds the house rules that no tool checks: they are tests over the sources
// of the whole module.
//
// Each rule is a file: package docs, docs of exported names, words that must not be
// shipped, files that refer to each other in a circle. A rule's message says what to do
// instead. What formatters, vet and staticcheck find is theirs; see scripts/lint.sh.
package lint
