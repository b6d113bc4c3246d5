package pipe

import (
	"math/bits"
	"sync"
)

// A Gate limits how many operations run at once over all stages and runs that share it. Nobody waits for anything else while
// holding a permit, so a gate of 1 cannot deadlock. When it is contended, the stage nearer to its consumer goes first:
// what is almost finished makes room.
type Gate struct {
	mu      sync.Mutex
	limit   int
	held    int
	taken   []uint64  // bit set of permits
	waiting []*worker // in order of arrival
}

// NewGate makes a gate for n operations at once, at least one.
func NewGate(n int) *Gate {
	g := new(Gate)
	g.SetLimit(n)
	return g
}

// Limit is how many operations may run at once.
func (g *Gate) Limit() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.limit
}

// SetLimit changes the limit, at least one. When it gets lower, operations that run are let finish.
func (g *Gate) SetLimit(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = max(1, n)
	for len(g.taken)*64 < g.limit {
		g.taken = append(g.taken, 0)
	}
	for len(g.waiting) > 0 && g.held < g.limit {
		g.admit()
	}
}

// enter waits for a permit. It returns false when the worker's stage was stopped meanwhile.
func (g *Gate) enter(w *worker) (permit int, ok bool) {
	g.mu.Lock()
	if g.held < g.limit {
		permit = g.issue()
		g.mu.Unlock()
		return permit, true
	}
	g.waiting = append(g.waiting, w)
	g.mu.Unlock()
	defer w.tick(&w.gated)
	select {
	case permit = <-w.turn:
		return permit, true
	case <-w.ctx.Done():
		g.giveUp(w)
		return -1, false
	}
}

// leave gives a permit back, or rather to the next who waits.
func (g *Gate) leave(permit int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.taken[permit/64] &^= 1 << (permit % 64)
	g.held--
	if len(g.waiting) > 0 && g.held < g.limit {
		g.admit()
	}
}

// giveUp takes a worker out of the line. If its turn has come in the same moment, the permit goes on to the next.
func (g *Gate) giveUp(w *worker) {
	g.mu.Lock()
	for i, other := range g.waiting {
		if other == w {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			g.mu.Unlock()
			return
		}
	}
	g.mu.Unlock()
	g.leave(<-w.turn)
}

// admit gives a permit to the waiting worker whose stage is nearest to its consumer; among equals to the first.
func (g *Gate) admit() {
	next := 0
	for i, w := range g.waiting {
		if w.stage.rank < g.waiting[next].stage.rank {
			next = i
		}
	}
	w := g.waiting[next]
	g.waiting = append(g.waiting[:next], g.waiting[next+1:]...)
	w.turn <- g.issue() // never blocks: the channel has room for the one permit that a worker waits for
}

// issue takes the lowest permit. There is one below the limit, because fewer than limit are held.
func (g *Gate) issue() int {
	for i, word := range g.taken {
		if free := bits.TrailingZeros64(^word); free < 64 {
			g.taken[i] |= 1 << free
			g.held++
			return i*64 + free
		}
	}
	panic("pipe: a gate ran out of permits below its limit")
}
