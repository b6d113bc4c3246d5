//go:build !race

package headrace

const underRace = false
