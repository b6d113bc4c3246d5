package pipe

import (
	"context"
	"math"
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
	for len(g.waiting) > 0 && g.held < g.limit {
		g.admit()
	}
}

// enter waits for a permit. It returns false when the worker was stopped meanwhile.
func (g *Gate) enter(w *worker) bool {
	if g.admitted(w) {
		return true
	}
	w.waitsFor(&w.gated)
	defer w.tick(&w.gated)
	return g.await(w)
}

// await waits for the turn of a worker that stands in line. It returns false when the worker was stopped before.
func (g *Gate) await(w *worker) bool {
	select {
	case <-w.turn:
		return true
	case <-w.ctx.Done():
		g.giveUp(w)
		return false
	}
}

// Do runs an operation of no run, under the gate like any other: with a number that no other has meanwhile, and before operations of stages that have stages between
// them and their consumer. Where ctx ends before its turn has come, it does not run, and the error is ctx's cause. Nothing that it does may wait for the gate.
func (g *Gate) Do(ctx context.Context, operation func(permit int)) error {
	w := &worker{stage: guests, ctx: ctx, permit: -1, turn: make(chan struct{}, 1)}
	if !g.admitted(w) && !g.await(w) {
		return context.Cause(ctx)
	}
	defer g.leave(w)
	operation(w.permit)
	return nil
}

// guests is the stage of operations that belong to no run: as near to a consumer as any.
var guests = new(stage)

// admitted gives a worker a permit, if there is one; else it stands in line.
func (g *Gate) admitted(w *worker) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held < g.limit {
		g.issue(w)
		return true
	}
	g.waiting = append(g.waiting, w)
	return false
}

// leave gives a permit back, or rather to the next who waits.
func (g *Gate) leave(w *worker) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.taken[w.permit/64] &^= 1 << (w.permit % 64)
	w.permit = -1
	if !w.abandonedPermit {
		g.free()
	}
	w.abandonedPermit = false
}

// forsake lets others run in place of a worker whose operation was abandoned. It keeps the number of its permit until that returns.
func (g *Gate) abandon(w *worker) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.permit >= 0 {
		w.abandonedPermit = true
		g.free()
	}
}

func (g *Gate) free() {
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
	<-w.turn
	g.leave(w)
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
	g.issue(w)
	w.turn <- struct{}{} // never blocks: the channel has room for the one permit that a worker waits for
}

// issue gives a worker the lowest permit. It is below the limit unless abandoned operations keep the numbers there.
func (g *Gate) issue(w *worker) {
	i := 0
	for i < len(g.taken) && g.taken[i] == math.MaxUint64 {
		i++
	}
	if i == len(g.taken) {
		g.taken = append(g.taken, 0)
	}
	free := bits.TrailingZeros64(^g.taken[i])
	g.taken[i] |= 1 << free
	g.held++
	w.permit = i*64 + free
}
