package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/store"
)

// Op carries an operation out on a sample.
type Op func(context.Context, *record.Record) error

// Guarded is an operation with all that is done about its failures. It returns the
// record, or another one in its place. If it fails, the record holds nothing any more,
// except what an abandoned operation still works on and gives back itself.
type Guarded func(context.Context, *record.Record) (*record.Record, error)

// PathStep is a step of the path that leads to an operation. A record that is read again,
// or instead of another, follows it by itself.
type PathStep struct {
	Do    Guarded
	Waits bool // rather than works
}

// Named puts the sample's name into the operation's errors.
func Named(a Guarded) Guarded {
	return func(ctx context.Context, it *record.Record) (*record.Record, error) {
		out, err := a(ctx, it)
		if err != nil {
			return nil, Blame(it, err)
		}
		return out, nil
	}
}

// Blame puts the sample's name into an error, unless the sample is not to blame.
func Blame(it *record.Record, err error) error {
	if start := (*extern.StartError)(nil); errors.As(err, &start) {
		return stopping(err)
	}
	err = stopping(err)
	if short := (*machine.Shortage)(nil); errors.As(err, &short) {
		return err
	}
	return &sample.Error{Key: it.Key, Index: it.ID.Index, Output: it.ID.Output, Err: err}
}

// stopping makes an error of the machine, or of an object that was replaced, one that
// ends the run: whatever the policy, no sample is skipped, replaced or listed as bad for
// it.
func stopping(err error) error {
	if err == nil {
		return nil
	}
	short := machine.Short(err)
	var lack *machine.Shortage
	if errors.As(short, &lack) || errors.Is(err, arena.ErrMemory) { // which says itself what to do
		return pipe.Stop(short)
	}
	if errors.Is(err, store.ErrChanged) {
		return pipe.Fatal(err) // the data are others, not one sample of them
	}
	return err
}

// Policies are a loader's settings for failures.
type Policies struct {
	OnError   OnError
	MaxErrors recipe.MaxErrors
	Sources   int
}

// Handling is a stage's policy for failures.
type Handling struct {
	Policy   *pipe.Policy // nil: that of the run
	Replaces bool
	Skips    bool
	Most     int // samples that may be replaced, where policy is not nil
	Retries  int
	Wait     time.Duration
	Limit    time.Duration
}

// MostWait is the longest wait before a retry.
const MostWait = 30 * time.Second

// Does tells whether a loader or a step of its recipe does this about failures; the step
// is named, if it is one.
func (f Policies) Does(what OnError, r recipe.Recipe) (step string, ok bool) {
	for _, s := range r.All() {
		if s.Failures != nil && OnError(s.Failures.OnError) == what {
			return s.Name, true
		}
	}
	return "", f.OnError == what
}

// Of says what is done about the failures of a step; n samples come there in an epoch.
func (f Policies) Of(s *recipe.Failures, n int64) Handling {
	if s == nil {
		return Handling{Replaces: f.OnError == Replace, Skips: f.OnError == Skip}
	}
	h := Handling{Retries: s.Retries}
	if s.TimeLimit != nil {
		h.Limit = time.Duration(*s.TimeLimit * float64(time.Second))
	}
	if s.Wait != nil {
		h.Wait = time.Duration(*s.Wait * float64(time.Second))
	}
	onError, own := OnError(s.OnError), s.OnError != "" || s.MaxErrors != nil
	if onError == "" {
		onError = f.OnError
	}
	limit := f.MaxErrors
	if s.MaxErrors != nil {
		limit = *s.MaxErrors
	}
	h.Replaces, h.Skips = onError == Replace, onError == Skip
	if own {
		h.Policy, h.Most = new(RunPolicy(onError, limit, n)), limit.Limit(n)
	}
	return h
}

// RunPolicy is the engine's form of what happens to samples that fail, n of which come in
// an epoch. What is replaced has not failed.
func RunPolicy(e OnError, m recipe.MaxErrors, n int64) pipe.Policy {
	limit := m.Limit(n)
	if e != Skip || limit == 0 {
		return pipe.Policy{} // the first failure is one too many
	}
	return pipe.Policy{Skip: true, Count: limit}
}

// Guard makes one of an operation, with retries and a time limit. A sample that an
// abandoned operation still has is made again, on the way that led here. Undo makes a
// sample as it was before the operation has failed.
func (w *Env) Guard(do Op, h Handling, way []PathStep, undo func(*record.Record)) Guarded {
	if h.Retries == 0 && h.Limit == 0 {
		return func(ctx context.Context, it *record.Record) (*record.Record, error) {
			if err := caught(ctx, it, do); err != nil {
				w.Drop(it)
				return nil, err
			}
			return it, nil
		}
	}

	try := w.try(do, h.Limit)
	retry := pipe.Retry(func(ctx context.Context, t *tries) (_ *record.Record, err error) {
		if t.it == nil {
			if t.it, err = w.Follow(ctx, t.of.Again(), way); err != nil {
				return nil, err
			}
		}
		ours, err := try(ctx, t.it)
		switch {
		case err == nil:
			return t.it, nil
		case ours:
			undo(t.it)
		default:
			// The abandoned operation drops this one when it returns; the next try reads
			// the sample again.
			t.it = nil
		}
		return nil, err
	}, pipe.Backoff{Times: h.Retries, First: h.Wait, Most: MostWait})

	return func(ctx context.Context, it *record.Record) (*record.Record, error) {
		t := &tries{of: it, it: it}
		out, err := retry(ctx, t)
		if err != nil && t.it != nil {
			w.Drop(t.it)
		}
		return out, err
	}
}

// tries holds a sample between its tries.
type tries struct {
	of *record.Record // names it
	it *record.Record // what is worked on; nil: an abandoned operation has it
}

// caught makes a panic an operation's error. The engine would do so too, but nothing
// would then name the sample, or let go of what it holds.
func caught(ctx context.Context, it *record.Record, do Op) (err error) {
	defer Catch(&err)
	return stopping(do(ctx, it))
}

// try makes a try of an operation, with a time limit where that is not 0. It reports
// whether the sample is still the caller's: one whose operation was abandoned is not.
// What that holds is parked, as nobody must wait for it.
func (w *Env) try(do Op, most time.Duration) func(context.Context, *record.Record) (ours bool, err error) {
	if most <= 0 {
		return func(ctx context.Context, it *record.Record) (bool, error) { return true, caught(ctx, it, do) }
	}

	type outcome struct {
		it  *record.Record
		err error
	}
	limited := pipe.Limit(func(ctx context.Context, it *record.Record) (outcome, error) {
		content, working := it.Content, it.Working
		defer context.AfterFunc(ctx, func() { content.Park(); working.Park() })()
		it.Limited = true
		err := caught(ctx, it, do)
		it.Limited = false
		// An operation that heeds its context fails with its own words; the limit is the
		// cause.
		if err != nil && ctx.Err() == context.DeadlineExceeded {
			err = &pipe.LimitError{Limit: most, Err: err}
		}
		return outcome{it, err}, nil
	}, most, func(o outcome) { w.Drop(o.it) })

	return func(ctx context.Context, it *record.Record) (bool, error) {
		if o, err := limited(ctx, it); err != nil {
			return false, err
		} else {
			return true, o.err
		}
	}
}

// Follow takes a sample on its way.
func (w *Env) Follow(ctx context.Context, it *record.Record, way []PathStep) (_ *record.Record, err error) {
	for _, o := range way {
		if !o.Waits {
			it, err = w.inside(ctx, it, o.Do)
		} else {
			it, err = w.aside(ctx, it, o.Do)
		}
		if err != nil {
			return nil, err
		}
	}
	return it, nil
}

// aside does what waits, without a permit of the gate.
func (w *Env) aside(ctx context.Context, it *record.Record, do Guarded) (out *record.Record, err error) {
	err = pipe.Ungated(ctx, func() (err error) {
		out, err = do(ctx, it)
		return err
	})
	if err != nil && out != nil {
		w.Drop(out)
		out = nil
	}
	return out, err
}

// inside does what computes, with a permit of the gate, also where the stage has none.
func (w *Env) inside(ctx context.Context, it *record.Record, do Guarded) (out *record.Record, err error) {
	begun := false
	err = pipe.InGate(ctx, w.Gate, func() (err error) {
		begun = true
		out, err = do(ctx, it)
		return err
	})
	if !begun {
		w.Drop(it)
	}
	return out, err
}

const (
	mostFailures = 10  // of samples that were drawn for another's place, before that one has failed
	mostDraws    = 100 // also of those that do not come there
)

var opReplace = order.OpID("replace")

// ErrElsewhere is why a sample is not taken for another's place: it goes another way.
var ErrElsewhere = errors.New("headrace: another branch gets this sample")

// OnlyBranch lets samples pass that go to one branch.
func OnlyBranch(branch int, choose func(*record.Record) (int, error), w *Env) Guarded {
	return func(_ context.Context, it *record.Record) (*record.Record, error) {
		i, err := choose(it)
		if err == nil && i != branch {
			err = ErrElsewhere
		}
		if err != nil {
			w.Drop(it)
			return nil, err
		}
		return it, nil
	}
}

// Replacing makes an attempt of a stage with others instead of samples that fail.
func (w *Env) Replacing(a Guarded, stage string, way []PathStep) Guarded {
	return pipe.Replace(a, func(ctx context.Context, it *record.Record, err error) (*record.Record, error) {
		return w.Substitute(ctx, it, err, stage, way, a)
	})
}

// Substitute finds another sample for the place of one that has failed: one of the same
// source, drawn by the seed and the identity of the sample whose place it is. It is taken
// to where that has failed, and through that. In the place of an output comes the output
// of the same number, or the last one, of what is drawn.
func (w *Env) Substitute(ctx context.Context, it *record.Record, failure error, stage string,
	way []PathStep, last Guarded) (*record.Record, error) {
	origin := it.Replaced
	if origin == nil {
		origin = &sample.Lost{ID: it.ID, Key: it.Key, Stage: stage, Err: Blame(it, failure), Replaced: true}
	}

	source := it.Source
	place := origin.ID.Output.Numbers()
	chance := w.chanceOf(source, it.ID.Epoch, origin.ID.Index, it.Turn, place)
	failed := 0
	n, at := source.Samples, func(i int64) int64 { return i }
	if source.Among != nil {
		n, at = source.Among(it.Pass)
	}

	for drawn := it.Drawn; drawn < it.Drawn+mostDraws; drawn++ {
		index := at(int64(chance.Intn(opReplace, drawn, int(n))))
		if index == origin.ID.Index || w.Quarantined(source, index) {
			continue
		}

		other := source.Record(it.ID.Epoch, it.ID.Pos, index)
		other.Replaced, other.Drawn, other.Wanted, other.Turn = origin, drawn+1, place, it.Turn
		other.Pass = it.Pass
		other.InList, other.OfList, other.Standing = it.InList, it.OfList, it.Standing
		out, err := w.Follow(ctx, other, way)
		if err == nil {
			out, err = last(ctx, out)
		}
		switch {
		case err == nil:
			return out, nil
		case ctx.Err() != nil || pipe.Stops(err):
			return nil, err
		case errors.Is(err, ErrElsewhere) || errors.Is(err, pipe.Skip):
			continue
		}

		if failed++; failed == mostFailures {
			return nil, fmt.Errorf("%w; the %d samples drawn to replace it failed too, the last of them %q: %w",
				failure, failed, other.Key, err)
		}
	}

	return nil, fmt.Errorf("%w; none of the %d samples drawn could replace it", failure, mostDraws)
}
