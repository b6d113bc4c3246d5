package headrace

import (
	"sync"

	"headrace/pipe"
)

// Gate bounds how many operations run at once over all loaders that share it: as many as the largest of their shares of the usable cores. While any of them looks for the sample that crashes C code, it is one for all, so that a crash has one suspect.
type Gate struct {
	gate *pipe.Gate

	mu     sync.Mutex
	limit  int // guarded by mu: how many, while nobody asks for one at a time
	serial int // guarded by mu: loaders that do
}

// NewGate returns a gate for one operation; every loader that is opened widens it to what it needs.
func NewGate() *Gate { return &Gate{gate: pipe.NewGate(1), limit: 1} }

// widen lets n operations run at once, where it were fewer.
func (g *Gate) widen(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = max(g.limit, n)
	g.apply()
}

// hold asks for one operation at a time, until release.
func (g *Gate) hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.serial++
	g.apply()
}

func (g *Gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.serial--
	g.apply()
}

func (g *Gate) apply() {
	n := g.limit
	if g.serial > 0 {
		n = 1
	}
	if g.gate.Limit() != n {
		g.gate.SetLimit(n)
	}
}
