//go:build race

package pipe_test

import "github.com/headrace/headrace/internal/tier"

// aMillion is less where every item takes ten times as long.
const aMillion = 100_000

var modelRounds = tier.Cases(2, 3)
