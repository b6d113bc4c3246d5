//go:build !race

package headrace_test

const underRace = false
