//go:build race

package headrace

const underRace = true
