package extern

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/headrace/headrace/extern/internal/message"
	"github.com/headrace/headrace/extern/internal/queue"
	"github.com/headrace/headrace/sample"
)

// mostRun is the largest number of samples in a message of [Pool.Gather].
const mostRun = 4 * message.MostCalls

// Run returns how many samples are worth a message of [Pool.Gather]; 0: it is not known
// how long a call takes, or the function draws random numbers, runs in threads of the
// program, or is async.
func (p *Pool) Run() int {
	each := time.Duration(p.function.each.Load())
	if each <= 0 || p.Draws() {
		return 0
	}
	return min(mostRun, max(1, int(callsTime/each)))
}

// Gather has the function called for each of c.Run, as c.Into says, by messages for many
// samples. It returns the first sample that has failed, by its place in c.Run, and why;
// results after it may be there or not. Calls begin in their order, after those that
// were given to Gather before.
func (p *Pool) Gather(ctx context.Context, c *Call) (failed int, err error) {
	if err := errors.Join(ctx.Err(), p.check(c)); err != nil {
		return 0, err
	}
	g := gathering{pool: p, ctx: ctx, call: c, group: queue.NewGroup[request](), todo: []span{{0, len(c.Run)}},
		out: map[*job]bool{}, failed: len(c.Run)}
	if !p.o.Idle {
		p.workers.Start()
	}
	p.turn.Lock()
	defer g.pass()
	g.run()
	return g.failed, g.err
}

// span is some places of a run.
type span struct{ first, end int }

// gathering is a call of Gather.
type gathering struct {
	pool    *Pool
	ctx     context.Context
	call    *Call
	group   *queue.Group[request]
	todo    []span        // in order: what no worker has
	out     map[*job]bool // what workers have
	failed  int
	err     error
	passed  bool // others have their turn
	stopped bool
}

// run makes the calls.
func (g *gathering) run() {
	q := &g.pool.workers.queue
	stop := g.ctx.Done()
	var ready []*job
	for {
		g.put(q)
		if len(g.todo) == 0 {
			g.pass()
		}
		if len(g.out) == 0 {
			return
		}
		select {
		case <-g.group.News():
			ready = q.Collect(g.group, ready)
			for _, j := range ready {
				g.take(j)
			}
		case <-stop:
			stop, g.stopped = nil, true
			defer g.pool.abandon(slices.Collect(maps.Keys(g.out)), g.ctx.Err()).Stop()
		}
	}
}

// put gives workers as many runs as they have time for: one more than there are workers.
func (g *gathering) put(q *queue.Queue[request]) {
	fn := &g.pool.function
	for len(g.todo) > 0 && len(g.out) <= q.Wanted(&fn.backlog) {
		s := &g.todo[0]
		if s.first >= g.failed || g.stopped {
			g.todo = nil
			return
		}
		left, most := s.end-s.first, max(1, g.pool.Run())
		n := ceil(left, ceil(left, most)) // all have nearly as many
		j := fn.job(g.ctx, g.part(s.first, s.first+n))
		j.Group, j.At = g.group, s.first
		if s.first += n; s.first == s.end {
			g.todo = g.todo[1:]
		}
		g.out[j] = true
		q.Put(j)
	}
}

func ceil(n, by int) int { return (n + by - 1) / by }

// part is a call for some of the samples.
func (g *gathering) part(first, end int) *Call {
	in := len(g.pool.o.In)
	c := &Call{ID: g.call.ID, Run: g.call.Run[first:end], In: g.call.In[first*in : end*in]}
	for _, to := range g.call.Into {
		size := len(to.Data) / len(g.call.Run)
		to.Data = to.Data[first*size : end*size]
		if to.Texts != nil {
			to.Texts = to.Texts[first:end]
		}
		c.Into = append(c.Into, to)
	}
	return c
}

// take takes a run that has come back.
func (g *gathering) take(j *job) {
	c, first, err := j.Of.Call, j.At, j.Err
	delete(g.out, j)
	if !g.stopped { // the timer may still look at it
		forget(j)
	}
	g.pool.calls.Add(int64(c.Ran))
	g.pool.time.Add(int64(c.Took))
	g.call.Took += c.Took
	switch at := first + c.Ran; {
	case err != nil && at < g.failed:
		g.failed, g.err = at, err
	case err == nil && c.Ran < len(c.Run):
		g.todo = append([]span{{at, first + len(c.Run)}}, g.todo...)
	}
}

// pass lets the next call of Gather begin.
func (g *gathering) pass() {
	if !g.passed {
		g.passed = true
		g.pool.turn.Unlock()
	}
}

// checkRun refuses calls that are not for Gather.
func (p *Pool) checkRun(c *Call) error {
	reads := p.o.Kind == Index || p.function.Chain.Reads()
	texts := len(c.In) == len(p.o.In)*len(c.Run)
	for _, f := range p.o.In {
		texts = texts && f.Type.Kind == sample.Text && f.Type.Shape == nil
	}
	room := p.o.Gives != nil && len(c.Into) == len(p.o.Gives)
	if !reads || !texts || !room || len(c.Run) == 0 {
		return fmt.Errorf("extern: %s is given a run of %d samples", p.o.Stage, len(c.Run))
	}
	for f, to := range c.Into {
		of := p.o.Gives[f]
		fits := of.Type.Kind == sample.Text && len(to.Texts) == len(c.Run)
		if of.Type.Kind == sample.Tensor && of.Type.Fixed() {
			n, err := of.Type.Shape.Bytes(of.Type.DType)
			fits = err == nil && int64(len(to.Data)) == n*int64(len(c.Run))
		}
		if !fits {
			return fmt.Errorf("extern: %s gives %q as %v: a run has no room for it", p.o.Stage, of.Name, of.Type)
		}
	}
	return nil
}
