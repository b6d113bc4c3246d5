package extern

import (
	"context"
	"time"

	"headrace/extern/internal/message"
)

// callsTime is how long calls that are made together should take a worker: what is done
// once for all of them is little beside that.
const callsTime = time.Millisecond

// Together is how many calls are worth being made together by [Pool.CallAll]: one, where
// a call takes so long that it does not matter, or runs beside others.
func (p *Pool) Together() int {
	each := time.Duration(p.each.Load())
	if each <= 0 {
		return 1
	}
	return min(message.MostCalls, max(1, int(callsTime/each)))
}

// CallAll is [Pool.Call] for several calls, which costs little more than one. It calls
// done with the place of each among them when that has come back, in this goroutine.
func (p *Pool) CallAll(ctx context.Context, calls []*Call, done func(i int, err error)) {
	q := &p.workers.queue
	g := &group{news: make(chan struct{}, 1)}
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
		j := jobs.Get().(*job)
		j.pool, j.call, j.ctx, j.group, j.at = p, c, ctx, g, i
		all[i], queued = j, append(queued, j)
	}
	if !p.o.Idle {
		p.workers.Start()
	}
	q.put(queued...)

	var ready []*job
	stop := ctx.Done()
	for left := len(queued); left > 0; {
		select {
		case <-g.news:
		case <-stop:
			stop = nil // from here on nothing is used again: the timer may look at it
			for _, j := range all {
				if j != nil && q.withdraw(j) {
					q.complete(j, ctx.Err())
				}
			}
			timer := time.AfterFunc(patience, func() {
				for _, j := range all {
					if j != nil {
						q.running(j, (*process).Kill)
					}
				}
			})
			defer timer.Stop()
			continue
		}

		q.mu.Lock()
		ready, g.ready = g.ready, ready[:0]
		q.mu.Unlock()
		for _, j := range ready {
			left--
			if j.err == nil {
				p.calls.Add(1)
				p.time.Add(int64(j.call.Took))
			}
			i, err := j.at, j.err
			if stop != nil || ctx.Done() == nil {
				all[i] = nil
				j.forget()
			}
			done(i, err)
		}
	}
}
