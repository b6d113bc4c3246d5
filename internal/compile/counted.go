package compile

import (
	"context"
	"slices"

	"github.com/headrace/headrace/internal/depth"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/pipe"
)

// counted is the limit of a flow: it counts samples from the first function of Python
// that begins with them to the loop, or to a step that makes others of them.
type counted struct {
	by      *depth.Limit // nil: nobody
	each    int          // samples in an item
	workers int          // most of a stage that calls Python
}

// samples is a flow of them.
type samples struct {
	pipe.Flow[*record.Record]
	counted
}

// count begins to count the samples that a stage calls Python with, unless they are
// counted already.
func (j joiner) count(in samples, step string) samples {
	if !j.Counts || in.by != nil {
		return in
	}
	return j.enter(in, step)
}

// recount begins again after a step that has made others of samples that were counted, or
// that has brought several flows together.
func (j joiner) recount(in samples, step string, before ...counted) samples {
	if !slices.ContainsFunc(before, func(c counted) bool { return c.by != nil }) {
		return in
	}
	for _, c := range before {
		passed(c, 1)
	}
	return j.enter(in, step)
}

// enter has samples wait for tickets before a step.
func (j joiner) enter(in samples, step string) samples {
	var by *depth.Limit
	in.Flow, by = enter(j, in.Flow, step, func(it *record.Record) *record.Record { return it }, j.Env.Drop)
	in.counted = counted{by: by, each: 1}
	return in
}

// keptCounted is how many samples that have tickets a stage may take at once: short calls
// come together.
const keptCounted = 64

// enter has items wait for tickets, each of which its record has.
func enter[T any](j joiner, in pipe.Flow[T], step string, of func(T) *record.Record, drop func(T)) (pipe.Flow[T], *depth.Limit) {
	by := j.limit()
	name := "prefetch " + step
	j.note(name, 1, nil)
	return pipe.Discard(pipe.Map(in, func(ctx context.Context, item T) (T, error) {
		var t depth.Ticket
		err := pipe.WaitBlocked(ctx, func() (err error) {
			t, err = by.Enter(ctx)
			return err
		})
		if err != nil {
			drop(item)
			return item, err
		}
		it := of(item)
		it.Ticket.Leave()
		it.Ticket = t
		return item, nil
	}, pipe.Opts{Name: name, Ordered: true, Buffer: keptCounted}), drop), by
}

// limit makes one; passed or taken set it.
func (j joiner) limit() *depth.Limit {
	by := &depth.Limit{}
	j.Limits = append(j.Limits, by)
	return by
}

// passed sets the limit of samples that a step takes as they come, or so many together.
func passed(c counted, together int) {
	if c.by != nil {
		c.by.Ahead = together*c.each + c.workers
	}
}

// taken sets the limit of samples that the loop takes, in batches of so many items, with
// so many batches ahead of it. One sample is tried before anything runs.
func taken(c counted, batch, prefetch int) {
	switch {
	case c.by == nil:
	case prefetch == 0:
		c.by.Batch = batch * c.each
	default:
		c.by.Ahead, c.by.Batch = prefetch*batch*c.each+max(0, c.workers-1), batch*c.each
	}
}
