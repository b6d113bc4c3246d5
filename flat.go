package headrace

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"headrace/budget"
	"headrace/extern"
	"headrace/pipe"
	"headrace/recipe/fuse"
)

// flat is a function of Python that makes any number of samples of one. They have the place and the key of that sample, and among themselves a number.
type flat struct {
	*python
	stays   []slot // fields that pass by the function: each sample that it makes has them too
	refuses bool   // the loader replaces samples that fail, which cannot be done with one of which some were made

	// spare has the worker for samples that are made in the places of others. Those of the pool may be waiting until these have come.
	spare func() (*extern.Pool, error)
}

// flatMap appends the stage of such a function. Behind it bytes are reserved anew, for each of the samples that it makes.
func (c *compiler) flatMap(n *line, p fuse.Part) error {
	c.reach(n, p)
	t := &c.trail
	before := t.schema
	next := &flat{}
	var err error
	if next.python, err = c.python(*p.Step); err != nil {
		return err
	}
	for _, f := range before {
		at, ok := t.places.of[f.Name]
		if ok && !next.makes(f.Name) {
			next.stays = append(next.stays, slot{f.Name, f.Type, at})
		}
	}
	next.stage = p.Name()
	next.hands = min(next.hands, flatHands)
	next.spare = sync.OnceValues(func() (*extern.Pool, error) { return c.work.host.another(next.pool) })
	h := c.failing.of(p.Failures, t.samples)
	s := &stage{name: p.Name(), steps: p.Names, python: next.python, flat: next, asks: true, losses: h.policy}
	if next.refuses = h.replaces; !h.replaces {
		c.limit(s.name, h)
	}
	n.steps = append(n.steps, step{stage: s})
	t.way = append(slices.Clip(t.way), op{next.one, true})
	t.leg = nil
	c.drops, c.makes = true, true
	return nil
}

// flatHands is how many samples are in hand for each worker at most. One of them is with it; the others have been there and wait for their turn, or come next.
const flatHands = 4

// expand yields what the function makes of a sample, which is done with then.
func (f *flat) expand(ctx context.Context, it *item) iter.Seq2[*item, error] {
	return func(yield func(*item, error) bool) {
		defer f.work.drop(it)
		err := f.each(ctx, f.pool, it, func(child *item) error {
			if err := f.admit(ctx, child); err != nil {
				return err
			}
			if !yield(child, nil) {
				return errEnough
			}
			return nil
		})
		if err == nil {
			return
		}
		if f.refuses && ctx.Err() == nil && !errors.As(err, new(*extern.StartError)) {
			err = fmt.Errorf("on_error=%q has no other sample to put in its place, since some may have been made of it, so it ends the run; .failures(on_error=%q) behind %s leaves it out: %w",
				Replace, Skip, f.name, err)
		}
		yield(nil, it.blamed(err))
	}
}

// one takes a sample on its way by itself: it goes on as one of those that are made of it. That waits for its bytes when the worker is free again, since who waits for the worker may
// have them.
func (f *flat) one(ctx context.Context, it *item) (out *item, err error) {
	defer f.work.drop(it)
	pool, err := f.spare()
	if err != nil {
		return nil, pipe.Stop(err)
	}
	which := int64(0)
	if depth := len(it.made); depth < len(it.wanted) {
		which = it.wanted[depth]
	}
	out, err = f.nth(ctx, pool, it, which)
	if err == nil {
		err = f.admit(ctx, out)
	}
	return out, err
}

// nth is one of the samples that are made of another, from 0; of one that replaces another it is the last where there are fewer. The others have their room in
// what is reserved for all.
func (f *flat) nth(ctx context.Context, pool *extern.Pool, it *item, n int64) (out *item, err error) {
	err = f.each(ctx, pool, it, func(child *item) error {
		if n--; n >= 0 && it.replaced == nil {
			f.work.drop(child)
			return nil
		}
		if out != nil {
			f.work.drop(out)
		}
		if out = child; n >= 0 {
			return nil
		}
		return errEnough
	})
	if err != nil && out != nil {
		f.work.drop(out)
		out = nil
	}
	if err == nil && out == nil {
		err = pipe.Skip
	}
	return out, err
}

var errEnough = errors.New("headrace: no more are taken")

// each calls yield with every sample that the function makes of one, until it returns an error; errEnough is none.
func (f *flat) each(ctx context.Context, pool *extern.Pool, it *item, yield func(*item) error) error {
	room, err := f.ahead(ctx, pool, it)
	if err != nil {
		return err
	}
	defer room.Release()
	c := f.call(it)
	defer f.done(c)
	number := int64(0)
	told := time.Duration(0)
	tell := func() {
		pipe.Worked(ctx, c.Took-told)
		told = c.Took
	}
	err = pool.Stream(ctx, c, func(out []extern.Value) error {
		tell()
		child, err := f.child(it, number, out)
		if err != nil {
			return err
		}
		number++
		return yield(child)
	})
	tell()
	if errors.Is(err, errEnough) {
		return nil
	}
	return final(err)
}

// child makes a sample of what the function yields.
func (f *flat) child(it *item, number int64, out []extern.Value) (_ *item, err error) {
	child := it.again()
	child.wanted, child.draws = it.wanted, slices.Clone(it.draws)
	child.output(it.made, number)
	return child, f.fill(child, out, func(v *values) {
		for i := range f.stays {
			f.copyOf(it, v, &f.stays[i])
		}
	})
}

// ahead waits until there are bytes for what a worker makes of a sample before anybody has asked for it. What came is counted besides, before more is asked for: so nothing
// is made that had no room. The sample that is the oldest has room in any case, and so have those that are made of it.
func (p *python) ahead(ctx context.Context, pool *extern.Pool, it *item) (budget.Grant, error) {
	return p.work.await(ctx, it, pool.Ahead())
}

// admit waits until there are bytes for a sample that was made. Where it fails the sample is gone.
func (p *python) admit(ctx context.Context, it *item) (err error) {
	if it.working, err = p.work.await(ctx, it, it.values.held()); err != nil {
		p.work.drop(it)
	}
	return err
}

// await waits for bytes in the name of a sample, in the middle of what is made of it.
func (w *work) await(ctx context.Context, it *item, n int64) (g budget.Grant, err error) {
	err = pipe.AwaitRoom(ctx, func() error {
		g, err = it.source.lane.Acquire(ctx, w.age(it.id), forDecoder, n)
		return err
	})
	return g, err
}

// fill gives a sample that was made the values that came for it, and others, where there are any.
func (p *python) fill(it *item, out []extern.Value, others func(*values)) (err error) {
	w := p.work
	w.blank(it)
	defer func() {
		if err != nil {
			w.drop(it)
		}
	}()
	v := it.values
	for i := range out {
		w.adopt(v, out[i].Data)
	}
	for i := range p.out {
		if err := p.out[i].fits(&out[i]); err != nil {
			return p.misfit(err)
		}
	}
	if others != nil {
		others(v)
	}
	for i := range p.out {
		p.put(v, &p.out[i], &out[i])
	}
	v.sweep()
	return nil
}

// copyOf gives a value to another sample, too.
func (f *flat) copyOf(it *item, to *values, s *slot) {
	from, at := it.values, s.place
	switch at.in {
	case numbers:
		copy(to.numbers[at.at:][:at.size], from.numbers[at.at:])
	case texts:
		to.texts[at.at] = from.texts[at.at]
	case data:
		to.data[at.at] = f.work.copied(to, from.data[at.at])
	case arrays:
		to.arrays[at.at] = array{from.arrays[at.at].shape, f.work.copied(to, from.arrays[at.at].data)}
	case pictures:
		p := from.pictures[at.at]
		own := to.room(&f.work.pictures, p.form())
		p.copyTo(own.Data)
		to.pictures[at.at] = own
	}
}

// copied is a copy of bytes in memory that workers have, too.
func (w *work) copied(v *values, b []byte) []byte {
	own := *v.borrow(&w.pictures, len(b))
	copy(own, b)
	return own
}
