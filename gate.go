package headrace

import (
	"context"
	"sync"

	"github.com/headrace/headrace/pipe"
)

// Gate bounds how many operations run at once over all loaders that share it: as many as
// the largest of their shares of the usable cores. While any of them looks for the sample
// that crashes C code, it is one for all, so that a crash has one suspect.
type Gate struct {
	gate *pipe.Gate

	mu    sync.Mutex
	limit int // guarded by mu: how many, while nobody asks for one at a time
	alone int // guarded by mu: loaders that do
}

// NewGate returns a gate for one operation; every loader that is opened widens it to what
// it needs.
func NewGate() *Gate { return &Gate{gate: pipe.NewGate(1), limit: 1} }

// Do runs an operation that belongs to no loader when it is its turn, beside those of all
// loaders that share the gate, with a number from 0 that no other has meanwhile. Where
// ctx ends first, it does not run, and the error is ctx's cause. The operation must not
// wait for anything.
func (g *Gate) Do(ctx context.Context, operation func(permit int)) error {
	return g.gate.Do(ctx, operation)
}

// stages returns the gate for the stages of a loader.
func (g *Gate) stages() *pipe.Gate { return g.gate }

// Widen raises the limit to at least n.
func (g *Gate) Widen(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = max(g.limit, n)
	g.apply()
}

// hold asks for one operation at a time, until release.
func (g *Gate) hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.alone++
	g.apply()
}

func (g *Gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.alone--
	g.apply()
}

func (g *Gate) apply() {
	n := g.limit
	if g.alone > 0 {
		n = 1
	}
	if g.gate.Limit() != n {
		g.gate.SetLimit(n)
	}
}

// serial keeps a gate at one operation until a place is passed: after a crash with
// several suspects, the next crash has one.
type serial struct {
	gate  *Gate
	until *Until // nil: nothing is asked for
}

// begin asks for it, unless there is no place.
func (s *serial) begin(gate *Gate, until *Until) {
	if until != nil {
		s.gate, s.until = gate, until
		gate.hold()
	}
}

// reached opens the gate again once all before the place is finished.
func (s *serial) reached(at State) {
	if s.until != nil && s.until.Passed(at) {
		s.end()
	}
}

// end opens the gate again.
func (s *serial) end() {
	if s.until != nil {
		s.gate.release()
		s.until = nil
	}
}
