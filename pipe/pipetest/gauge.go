package pipetest

import "sync"

// A Gauge measures how many operations run at once.
type Gauge struct {
	mu  sync.Mutex
	now int
	max int
}

// Enter counts an operation until the function that it returns is called.
func (g *Gauge) Enter() (leave func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now++
	g.max = max(g.max, g.now)
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.now--
	}
}

// Now is how many operations run.
func (g *Gauge) Now() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now
}

// Max is how many ran at once at most.
func (g *Gauge) Max() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.max
}
