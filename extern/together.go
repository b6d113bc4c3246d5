package extern

import (
	"context"
	"time"

	"github.com/headrace/headrace/extern/internal/message"
	"github.com/headrace/headrace/extern/internal/queue"
)

// callsTime is how long calls that are made together should take a worker: what is done
// once for all of them is little beside that.
const callsTime = 3 * time.Millisecond

// Together returns the number of calls worth making together with [Pool.CallAll]. It is
// one if a call takes so long that batching gains nothing, or if calls run concurrently.
func (p *Pool) Together() int {
	each := time.Duration(p.function.each.Load())
	if each <= 0 {
		return 1
	}
	return min(message.MostCalls, max(1, int(callsTime/each)))
}

// Draws tells whether the function is known to want random numbers.
func (p *Pool) Draws() bool { return p.function.draws.Load() }

// CallAll is [Pool.Call] for several calls, which costs little more than one. It calls
// done with the place of each among them when that has come back, in this goroutine.
func (p *Pool) CallAll(ctx context.Context, calls []*Call, done func(i int, err error)) {
	q := &p.workers.queue
	g := queue.NewGroup[request]()
	all, queued := make([]*job, len(calls)), make([]*job, 0, len(calls))
	for i, c := range calls {
		err := ctx.Err()
		if err == nil {
			err = p.check(c)
		}
		if err != nil {
			done(i, err)
			continue
		}
		j := p.function.job(ctx, c)
		j.Group, j.At = g, i
		all[i], queued = j, append(queued, j)
	}
	if !p.o.Idle {
		p.workers.Start()
	}
	q.Put(queued...)

	var ready []*job
	stop := ctx.Done()
	for left := len(queued); left > 0; {
		select {
		case <-g.News():
		case <-stop:
			stop = nil // from here on nothing is used again: the timer may look at it
			defer p.abandon(all, ctx.Err()).Stop()
			continue
		}

		ready = q.Collect(g, ready)
		for _, j := range ready {
			left--
			if j.Err == nil {
				p.calls.Add(1)
				p.time.Add(int64(j.Of.Call.Took))
			}
			i, err := j.At, j.Err
			// A job is used again unless the timer may still look at it.
			if stop != nil || ctx.Done() == nil {
				all[i] = nil
				forget(j)
			}
			done(i, err)
		}
	}
}

// abandon takes back the calls that no worker has begun, and has the workers of the
// others ended when the timer fires. Those that are nil are done.
func (p *Pool) abandon(calls []*job, why error) *time.Timer {
	q := &p.workers.queue
	for _, j := range calls {
		if j != nil && q.Withdraw(j) {
			q.Complete(j, why)
		}
	}
	return time.AfterFunc(patience, func() {
		for _, j := range calls {
			if j != nil {
				q.Kill(j)
			}
		}
	})
}
