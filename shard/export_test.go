package shard

import "testing"

// HoldNothing has no segment stay in memory while an index is made.
func HoldNothing(t *testing.T) {
	before := mostHeld
	mostHeld = 0
	t.Cleanup(func() { mostHeld = before })
}
