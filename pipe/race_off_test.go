//go:build !race

package pipe_test

import "github.com/headrace/headrace/internal/tier"

const aMillion = 1_000_000

// modelRounds are so many, of 100 definitions each, or of RAPID_CHECKS.
var modelRounds = tier.Cases(8, 30)
