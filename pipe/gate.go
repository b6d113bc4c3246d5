package pipe

import "github.com/headrace/headrace/pipe/internal/gate"

// A Gate limits how many operations run at once over all stages and runs that share it.
// Nobody waits for anything else while holding a permit, so a gate of 1 cannot deadlock.
// When it is contended, the stage nearer to its consumer goes first: what is almost
// finished makes room.
//
// Limit and SetLimit are how many operations may run at once. Do runs one that belongs to
// no run, with the number of its permit.
type Gate = gate.Gate

// NewGate makes a gate for n operations at once, at least one.
func NewGate(n int) *Gate { return gate.NewGate(n) }
