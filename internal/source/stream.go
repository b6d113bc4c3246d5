package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/depth"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/sample"
)

// stream is the reading of one epoch of an iterated source.
type stream struct {
	*Iterable
	ctx   context.Context
	epoch int
	pos   int64 // samples before it come again, and are thrown away
	yield func(*record.Record, error) bool

	began  int64              // the position of the first sample that the worker gives
	at     int64              // the position after the last one
	state  string             // and the object's there
	enough bool               // nobody wants more
	room   budget.Grant       // for what the worker makes before anybody has asked for it
	bytes  int64              // of that, as far as samples have told; 0: none has
	ahead  map[int64]*landing // by position: of records that are ahead of their samples
	ticket depth.Ticket       // of the next sample
}

// items are the samples of an epoch from a position on.
func (s *Iterable) items(ctx context.Context, epoch int, pos int64) iter.Seq2[*record.Record, error] {
	return func(yield func(*record.Record, error) bool) {
		r := &stream{Iterable: s, ctx: ctx, epoch: epoch, pos: pos, yield: yield, ahead: map[int64]*landing{}}
		// It is held all the time, so no sample waits until it comes back.
		var err error
		r.room, err = s.Source.Lane.Acquire(ctx, s.work.Age(s.Source.Record(epoch, pos, pos).ID), core.ForFiles, s.python.Pool.Ahead())
		if err != nil {
			return // the run has ended
		}
		r.room.Park()
		defer r.room.Release()
		if r.enter() != nil {
			return // likewise
		}
		defer r.ticket.Leave()

		r.end(r.read())
	}
}

// enter waits until the next sample may be taken.
func (r *stream) enter() error {
	if r.Source.Limit == nil {
		return nil
	}
	return pipe.WaitBlocked(r.ctx, func() (err error) {
		r.ticket, err = r.Source.Limit.Enter(r.ctx)
		return err
	})
}

// record makes that of the sample at a position, which is the next.
func (r *stream) record(pos int64) *record.Record {
	it := r.Source.Record(r.epoch, pos, pos)
	it.Ticket.Join(&r.ticket)
	return it
}

// read has the worker give its samples. If the object has a state, another worker goes on
// from there when one has died.
func (r *stream) read() error {
	id := sample.ID{Source: r.Source.Name, Epoch: r.epoch, Index: int64(r.epoch)}
	call := &extern.Call{ID: id, Key: r.Source.Name, OneByOne: r.Source.Limit != nil}
	if r.epoch == r.Iterable.epoch && r.from.State != "" {
		call.State, r.at = []byte(r.from.State), r.from.Position
	}
	if r.late {
		call.Place = r.place
	}

	for {
		r.began, r.state = r.at, ""
		call.Random = r.random(r.epoch, r.at)
		err := r.python.Pool.Stream(r.ctx, call, r.give)
		if gone := (*extern.WorkerError)(nil); !errors.As(err, &gone) || r.at == r.began || r.ctx.Err() != nil {
			return err
		}
		if r.state == "" {
			return fmt.Errorf("%w\nthe source has no state_dict(), so no other worker can go on after %d samples", err, r.at)
		}
		call.State = []byte(r.state)
	}
}

// give takes a sample.
func (r *stream) give(out []extern.Value) error {
	out, state := out[:len(out)-1], out[len(out)-1].Text
	pos := r.at
	r.at, r.state = r.at+1, state
	if pos < r.pos {
		r.giveBack(out)
		return nil
	}

	r.Note(r.epoch, r.at, state)
	if n := r.python.Pool.Ahead(); n != r.bytes { // larger ones have come
		r.room.Resize(n)
		r.bytes = n
	}
	// The record of a large sample is ahead already, to get a row for it.
	if l := r.ahead[pos]; l != nil {
		delete(r.ahead, pos)
		l.land(out, nil)
	} else {
		it := r.record(pos)
		err := r.receive(r.ctx, it, out)
		if err != nil {
			r.work.Drop(it)
			it, err = nil, core.Blame(it, err)
		}
		r.enough = !r.yield(it, err)
	}

	if r.enough = r.enough || r.Source.ends(r.at); r.enough {
		return python.ErrEnough
	}
	return cmp.Or(r.ctx.Err(), r.enter())
}

// place is memory for a field of a sample that is about to come: in its row. Its record
// goes ahead to get one.
func (r *stream) place(item, field int) []byte {
	pos := r.began + int64(item)
	if pos < r.pos || r.enough {
		return nil
	}
	l := r.ahead[pos]
	if l == nil {
		l = newLanding(r.Iterable)
		r.ahead[pos] = l
		it := r.record(pos)
		it.Opened = l
		r.enough = !r.yield(it, nil)
	}
	return l.room(r.ctx, field)
}

// end ends an epoch whose samples have ended, with an error or without.
func (r *stream) end(err error) {
	if err == nil && len(r.ahead) > 0 {
		err = errGone
	}
	told := err == nil || r.enough || r.ctx.Err() != nil
	for _, l := range r.ahead {
		if told {
			l.land(nil, err) // the run, or the epoch, is over in any case
		} else {
			told = l.land(nil, pipe.Fatal(err))
		}
	}
	if !told { // an epoch that ends early must not look like one that has ended
		r.yield(nil, pipe.Fatal(core.Blame(r.Source.Record(r.epoch, r.at, r.at), err)))
	}
}
