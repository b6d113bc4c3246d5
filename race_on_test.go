//go:build race

package headrace

import "flag"

const underRace = true

// Random tests are about what comes out, for which they run without the race detector; what that finds, it finds in a few runs, which take it three times as long.
func init() { flag.Set("rapid.checks", "25") }
