package gate

import (
	"context"
	"math"
	"math/bits"
	"sync"
)

// A Gate limits how many operations run at once over all stages and runs that share it.
// Nobody waits for anything else while holding a permit, so a gate of 1 cannot deadlock.
// When it is contended, the stage nearer to its consumer goes first: what is almost
// finished makes room.
type Gate struct {
	mu      sync.Mutex
	limit   int
	held    int
	taken   []uint64  // bit set of permits
	waiting []*Holder // in order of arrival
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

// SetLimit changes the limit, at least one. When it gets lower, operations that run are
// let finish.
func (g *Gate) SetLimit(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = max(1, n)
	for len(g.waiting) > 0 && g.held < g.limit {
		g.admit()
	}
}

// A Holder is who holds a permit, or waits for one.
type Holder struct {
	Permit int             // -1: none
	Rank   int             // steps from the consumer: those that are near go first
	Ctx    context.Context // ends the wait

	turn      chan struct{} // where the gate tells of a permit that had to be waited for
	abandoned bool          // its permit is only a number: its operation was abandoned
}

// NewHolder is one without a permit.
func NewHolder(ctx context.Context, rank int) Holder {
	return Holder{Permit: -1, Rank: rank, Ctx: ctx, turn: make(chan struct{}, 1)}
}

// Await waits for the turn of one that Enter did not admit. It returns false when its
// context has ended before.
func (h *Holder) Await(g *Gate) bool {
	select {
	case <-h.turn:
		return true
	case <-h.Ctx.Done():
		g.giveUp(h)
		return false
	}
}

// Do runs an operation of no run, under the gate like any other: with a number that no
// other has meanwhile, and before operations of stages that have stages between them and
// their consumer. Where ctx ends before its turn has come, it does not run, and the error
// is ctx's cause. Nothing that it does may wait for the gate.
func (g *Gate) Do(ctx context.Context, operation func(permit int)) error {
	h := NewHolder(ctx, 0) // as near to a consumer as any
	if !h.Enter(g) && !h.Await(g) {
		return context.Cause(ctx)
	}
	defer h.Leave(g)
	operation(h.Permit)
	return nil
}

// Enter takes a permit, if there is one; else the holder stands in line, and has to
// Await.
func (h *Holder) Enter(g *Gate) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held < g.limit {
		g.issue(h)
		return true
	}
	g.waiting = append(g.waiting, h)
	return false
}

// Leave gives a permit back, or rather to the next who waits.
func (h *Holder) Leave(g *Gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.taken[h.Permit/64] &^= 1 << (h.Permit % 64)
	h.Permit = -1
	if !h.abandoned {
		g.free()
	}
	h.abandoned = false
}

// Abandon lets others run in place of a holder whose operation was abandoned. It keeps
// the number of its permit until that returns.
func (h *Holder) Abandon(g *Gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if h.Permit >= 0 {
		h.abandoned = true
		g.free()
	}
}

func (g *Gate) free() {
	g.held--
	if len(g.waiting) > 0 && g.held < g.limit {
		g.admit()
	}
}

// giveUp takes a holder out of the line. If its turn has come in the same moment, the
// permit goes on to the next.
func (g *Gate) giveUp(h *Holder) {
	g.mu.Lock()
	for i, other := range g.waiting {
		if other == h {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			g.mu.Unlock()
			return
		}
	}
	g.mu.Unlock()
	<-h.turn
	h.Leave(g)
}

// admit gives a permit to the one that waits and is nearest to its consumer; among equals
// to the first.
func (g *Gate) admit() {
	next := 0
	for i, h := range g.waiting {
		if h.Rank < g.waiting[next].Rank {
			next = i
		}
	}
	h := g.waiting[next]
	g.waiting = append(g.waiting[:next], g.waiting[next+1:]...)
	g.issue(h)
	h.turn <- struct{}{} // never blocks: the channel has room for the one permit that is waited for
}

// issue gives a holder the lowest permit. It is below the limit unless abandoned
// operations keep the numbers there.
func (g *Gate) issue(h *Holder) {
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
	h.Permit = i*64 + free
}
