package python

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[FlatMap]("flat_map", recipe.Between,
	"Call a Python function that returns any number of samples for each, usually a generator.").Explained(`
Each sample moves on as soon as it is yielded. Later random steps draw for each. The number of batches is at most a bound.`,
	`def crops(sample, rng):
    for _ in range(4):
        y, x = rng.integers(0, 32, 2)
        yield {**sample, "image": sample["image"][y:y + 224, x:x + 224]}

.flat_map(crops)`).Called("function, *, fields, to, gives"))

// FlatMap are the arguments of the operation flat_map: those of map.
type FlatMap Map

// Docs implements [argument.Documented].
func (m *FlatMap) Docs() map[string]string { return (*Map)(m).Docs() }

// Complete implements [recipe.Completer].
func (m FlatMap) Complete() recipe.Args {
	out := FlatMap(*Map(m).Complete().(*Map))
	return &out
}

// Identity implements [recipe.Identifier].
func (m FlatMap) Identity(r recipe.Recipe) recipe.Args {
	out := FlatMap(*Map(m).Identity(r).(*Map))
	return &out
}

// CheckFailures implements [recipe.Failing].
func (m *FlatMap) CheckFailures(f *recipe.Failures) error {
	return f.CheckOnce("what flat_map has made of a sample is on its way already")
}

// Check implements [recipe.Args]. The schema is nil if Gives has no fields.
func (m *FlatMap) Check(in sample.Schema) (sample.Schema, error) { return (*Map)(m).Check(in) }

// Traits implements [recipe.Traited].
func (m *FlatMap) Traits() recipe.Traits {
	return recipe.Traits{Count: recipe.More, Call: (*Map)(m).call(recipe.FlatMapCall)}
}

// WithGives implements [recipe.Giving].
func (m FlatMap) WithGives(g recipe.Gives) recipe.Args {
	m.Gives = g
	return &m
}

// WithPace implements [recipe.Paced].
func (m FlatMap) WithPace(p recipe.Pace) recipe.Args {
	m.Pace = p
	return &m
}

// FlatMapFunction is a function of Python that makes any number of samples of one. They
// have the place and the key of that sample, and among themselves a number.
type FlatMapFunction struct {
	*Function
	stays          []Field // fields that pass by the function: each sample that it makes has them too
	Whole          bool    // all that it makes of a sample is taken before the first goes on
	RefusesReplace bool    // the loader replaces samples that fail, which cannot be done with one of which some were made

	// spare has the worker for samples that are made in the places of others. Those of
	// the pool may be waiting until these have come.
	spare func() (*extern.Pool, error)
}

// NewFlatMapFunction makes such a function of a step, and returns the fields after it.
func NewFlatMapFunction(w *core.Env, p fuse.Part, in sample.Schema, where *record.Columns) (*FlatMapFunction, sample.Schema, error) {
	next := &FlatMapFunction{}
	var out sample.Schema
	var err error
	if next.Function, out, err = NewFunction(w, *p.Step, in, where); err != nil {
		return nil, nil, err
	}
	for _, f := range in {
		at, ok := where.Of[f.Name]
		if ok && !next.Makes(f.Name) {
			next.stays = append(next.stays, Field{f.Name, f.Type, at})
		}
	}
	next.Stage = p.Name()
	next.PerWorker = min(next.PerWorker, flatHands)
	next.spare = sync.OnceValues(func() (*extern.Pool, error) { return HostOf(w).another(next.Pool) })
	return next, out, nil
}

// flatHands is how many samples are in hand for each worker at most. One of them is with
// it; the others have been there and wait for their turn, or come next.
const flatHands = 4

// Expand yields what the function makes of a sample, which is done with then.
func (f *FlatMapFunction) Expand(ctx context.Context, it *record.Record) iter.Seq2[*record.Record, error] {
	return func(yield func(*record.Record, error) bool) {
		defer f.Env.Drop(it)
		err := f.each(ctx, f.Pool, it, func(child *record.Record) error {
			admit := f.Env.Admit
			if f.Whole {
				admit = f.Env.Charge
			}
			if err := admit(ctx, child); err != nil {
				return err
			}
			if !yield(child, nil) {
				return ErrEnough
			}
			return nil
		})
		if err == nil {
			return
		}
		if f.RefusesReplace && ctx.Err() == nil && !errors.As(err, new(*extern.StartError)) {
			err = fmt.Errorf("on_error=%q cannot replace it, since some samples may have been made from it, "+
				"so the run ends; .failures(on_error=%q) after %s leaves it out: %w",
				core.Replace, core.Skip, f.Name, err)
		}
		yield(nil, core.Blame(it, err))
	}
}

// Again takes a sample on its way by itself: it goes on as one of those that are made of
// it. That waits for its bytes when the worker is free again, since who waits for the
// worker may have them.
func (f *FlatMapFunction) Again(ctx context.Context, it *record.Record) (out *record.Record, err error) {
	defer f.Env.Drop(it)
	pool, err := f.spare()
	if err != nil {
		return nil, pipe.Stop(err)
	}
	which := int64(0)
	if depth := len(it.Made); depth < len(it.Wanted) {
		which = it.Wanted[depth]
	}
	out, err = f.nth(ctx, pool, it, which)
	if err == nil {
		err = f.Env.Admit(ctx, out)
	}
	return out, err
}

// nth is one of the samples that are made of another, from 0; of one that replaces
// another it is the last where there are fewer. The others have their room in what is
// reserved for all.
func (f *FlatMapFunction) nth(ctx context.Context, pool *extern.Pool, it *record.Record, n int64) (out *record.Record, err error) {
	err = f.each(ctx, pool, it, func(child *record.Record) error {
		if n--; n >= 0 && it.Replaced == nil {
			f.Env.Drop(child)
			return nil
		}
		if out != nil {
			f.Env.Drop(out)
		}
		if out = child; n >= 0 {
			return nil
		}
		return ErrEnough
	})
	if err != nil && out != nil {
		f.Env.Drop(out)
		out = nil
	}
	if err == nil && out == nil {
		err = pipe.Skip
	}
	return out, err
}

// ErrEnough ends a stream of samples whose consumer wants no more.
var ErrEnough = errors.New("headrace: no more are taken")

// each calls yield with every sample that the function makes of one, until it returns an
// error; errEnough is none.
func (f *FlatMapFunction) each(ctx context.Context, pool *extern.Pool, it *record.Record, yield func(*record.Record) error) error {
	room, err := f.ahead(ctx, pool, it)
	if err != nil {
		return err
	}
	defer room.Release()

	c := f.Call(it)
	defer f.Done(c)

	number := int64(0)
	told := time.Duration(0)
	// Time is reported with each sample, since a call may last as long as the run.
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

	if errors.Is(err, ErrEnough) {
		return nil
	}
	return Final(err)
}

// child makes a sample of an output of the function.
func (f *FlatMapFunction) child(it *record.Record, number int64, out []extern.Value) (_ *record.Record, err error) {
	child := it.Again()
	child.Wanted, child.Draws = it.Wanted, slices.Clone(it.Draws)
	child.SetOutput(it.Made, number)
	return child, f.fill(child, out, func(v *record.Values) {
		for i := range f.stays {
			f.Env.Copy(v, f.stays[i].Column, it.Values, f.stays[i].Column)
		}
	})
}

// ahead waits until there are bytes for what a worker makes of a sample before anybody
// has asked for it. What came is counted besides, before more is asked for: so nothing is
// made that had no room. The sample that is the oldest has room in any case, and so have
// those that are made of it.
func (p *Function) ahead(ctx context.Context, pool *extern.Pool, it *record.Record) (budget.Grant, error) {
	return p.Env.Await(ctx, it, pool.Ahead())
}

// fill gives a sample that was made the values that came for it, and others, where there
// are any.
func (p *Function) fill(it *record.Record, out []extern.Value, others func(*record.Values)) (err error) {
	w := p.Env
	w.Blank(it)
	defer func() {
		if err != nil {
			w.Drop(it)
		}
	}()
	v := it.Values
	for i := range out {
		w.Adopt(v, out[i].Data)
	}
	for i := range p.Out {
		if err := p.Out[i].Fits(&out[i]); err != nil {
			return p.Misfit(err)
		}
	}
	if others != nil {
		others(v)
	}
	for i := range p.Out {
		p.Put(v, &p.Out[i], &out[i])
	}
	v.Sweep()
	return nil
}
