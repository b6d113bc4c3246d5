package headrace

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headrace/extern"
	"headrace/internal/machine"
	"headrace/internal/record"
	"headrace/order"
	"headrace/pipe"
	"headrace/recipe"
	"headrace/sample"
)

// doing is what an operation does to a sample.
type doing func(context.Context, *record.Record) error

// attempt is an operation that has come to its end with a sample: it returns the sample, or another object for it, where it has succeeded. Otherwise the
// sample holds nothing any more, or whatever an abandoned operation still works on, which lets go of it.
type attempt func(context.Context, *record.Record) (*record.Record, error)

// named says of an error which sample has failed.
func named(a attempt) attempt {
	return func(ctx context.Context, it *record.Record) (*record.Record, error) {
		out, err := a(ctx, it)
		if err != nil {
			return nil, blamed(it, err)
		}
		return out, nil
	}
}

// blamed names the sample that failed, where it is the sample that did.
func blamed(it *record.Record, err error) error {
	if start := (*extern.StartError)(nil); errors.As(err, &start) {
		return stopping(err)
	}
	err = stopping(err)
	if short := (*machine.Shortage)(nil); errors.As(err, &short) {
		return err
	}
	return &sample.Error{Key: it.Key, Index: it.ID.Index, Output: it.ID.Output, Err: err}
}

// failing is what a loader does about failures.
type failing struct {
	onError   OnError
	maxErrors MaxErrors
	sources   int
}

func (l *Loader) failing() failing {
	return failing{l.config.OnError, l.config.MaxErrors, len(l.sources)}
}

// handling is what is done about the failures of one stage.
type handling struct {
	policy   *pipe.Policy // nil: that of the run
	replaces bool
	skips    bool
	most     int // samples that may be replaced, where policy is not nil
	retries  int
	wait     time.Duration
	limit    time.Duration
}

// mostWait is the longest wait before a retry.
const mostWait = 30 * time.Second

// does tells whether a loader or a step of its recipe does this about failures; the step is named, if it is one.
func (f failing) does(what OnError, r recipe.Recipe) (step string, ok bool) {
	for _, s := range r.All() {
		if s.Failures != nil && OnError(s.Failures.OnError) == what {
			return s.Name, true
		}
	}
	return "", f.onError == what
}

// of says what is done about the failures of a step; n samples come there in an epoch.
func (f failing) of(s *recipe.Failures, n int64) handling {
	if s == nil {
		return handling{replaces: f.onError == Replace, skips: f.onError == Skip}
	}
	h := handling{retries: s.Retries}
	if s.TimeLimit != nil {
		h.limit = time.Duration(*s.TimeLimit * float64(time.Second))
	}
	if s.Wait != nil {
		h.wait = time.Duration(*s.Wait * float64(time.Second))
	}
	onError, own := OnError(s.OnError), s.OnError != "" || s.MaxErrors != nil
	if onError == "" {
		onError = f.onError
	}
	limit := f.maxErrors
	if s.MaxErrors != nil {
		limit = *s.MaxErrors
	}
	h.replaces, h.skips = onError == Replace, onError == Skip
	if own {
		h.policy, h.most = new(policy(onError, limit, n)), limit.Limit(n)
	}
	return h
}

// policy is the engine's form of what happens to samples that fail, n of which come in an epoch. What is replaced has not failed.
func policy(e OnError, m MaxErrors, n int64) pipe.Policy {
	limit := m.Limit(n)
	if e != Skip || limit == 0 {
		return pipe.Policy{} // the first failure is one too many
	}
	return pipe.Policy{Skip: true, Count: limit}
}

// attempt makes one of an operation, with retries and a time limit. A sample that an abandoned operation still has is made again, on the way that led here. Undo makes
// a sample as it was before the operation has failed.
func (w *work) attempt(do doing, h handling, way []op, undo func(*record.Record)) attempt {
	if h.retries == 0 && h.limit == 0 {
		return func(ctx context.Context, it *record.Record) (*record.Record, error) {
			if err := caught(ctx, it, do); err != nil {
				w.Drop(it)
				return nil, err
			}
			return it, nil
		}
	}
	try := w.try(do, h.limit)
	retry := pipe.Retry(func(ctx context.Context, t *tries) (_ *record.Record, err error) {
		if t.it == nil {
			if t.it, err = w.along(ctx, t.of.Again(), way); err != nil {
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
			t.it = nil
		}
		return nil, err
	}, pipe.Backoff{Times: h.retries, First: h.wait, Most: mostWait})
	return func(ctx context.Context, it *record.Record) (*record.Record, error) {
		t := &tries{of: it, it: it}
		out, err := retry(ctx, t)
		if err != nil && t.it != nil {
			w.Drop(t.it)
		}
		return out, err
	}
}

// tries are those of one sample.
type tries struct {
	of *record.Record // names it
	it *record.Record // what is worked on; nil: an abandoned operation has it
}

// caught makes a panic an operation's error. The engine would do so too, but nothing would then name the sample, or let go of what it holds.
func caught(ctx context.Context, it *record.Record, do doing) (err error) {
	defer catch(&err)
	return stopping(do(ctx, it))
}

// try makes a try of an operation, with a time limit where that is not 0. It reports whether the sample is still the caller's: one whose operation was abandoned
// is not. What that holds is parked, as nobody must wait for it.
func (w *work) try(do doing, most time.Duration) func(context.Context, *record.Record) (ours bool, err error) {
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

// along takes a sample on its way.
func (w *work) along(ctx context.Context, it *record.Record, way []op) (_ *record.Record, err error) {
	for _, o := range way {
		if !o.waits {
			it, err = w.inside(ctx, it, o.do)
		} else {
			it, err = w.aside(ctx, it, o.do)
		}
		if err != nil {
			return nil, err
		}
	}
	return it, nil
}

// aside does what waits, without a permit of the gate.
func (w *work) aside(ctx context.Context, it *record.Record, do attempt) (out *record.Record, err error) {
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
func (w *work) inside(ctx context.Context, it *record.Record, do attempt) (out *record.Record, err error) {
	begun := false
	err = pipe.InGate(ctx, w.gate, func() (err error) {
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

// errElsewhere is why a sample is not taken for another's place: it goes another way.
var errElsewhere = errors.New("headrace: another branch takes this sample")

// only lets samples pass that go to one branch.
func only(branch int, choose func(*record.Record) (int, error), w *work) attempt {
	return func(_ context.Context, it *record.Record) (*record.Record, error) {
		i, err := choose(it)
		if err == nil && i != branch {
			err = errElsewhere
		}
		if err != nil {
			w.Drop(it)
			return nil, err
		}
		return it, nil
	}
}

// replacing makes an attempt of a stage with others in the place of samples that fail.
func (w *work) replacing(a attempt, stage string, way []op) attempt {
	return pipe.Replace(a, func(ctx context.Context, it *record.Record, err error) (*record.Record, error) {
		return w.substitute(ctx, it, err, stage, way, a)
	})
}

// substitute finds another sample for the place of one that has failed: one of the same source, drawn by the seed and the identity of the sample whose place it is. It is taken
// to where that has failed, and through that. In the place of an output comes the output of the same number, or the last one, of what is drawn.
func (w *work) substitute(ctx context.Context, it *record.Record, failure error, stage string, way []op, last attempt) (*record.Record, error) {
	origin := it.Replaced
	if origin == nil {
		origin = &record.Lost{ID: it.ID, Key: it.Key, Stage: stage, Err: blamed(it, failure), Replaced: true}
	}
	source := it.Source
	place := origin.ID.Output.Numbers()
	chance := w.chanceOf(source, it.ID.Epoch, origin.ID.Index, place)
	failed := 0
	for drawn := it.Drawn; drawn < it.Drawn+mostDraws; drawn++ {
		index := int64(chance.Intn(opReplace, drawn, int(source.Samples)))
		if index == origin.ID.Index || w.quarantined(source, index) {
			continue
		}
		other := source.Record(it.ID.Epoch, it.ID.Pos, index)
		other.Replaced, other.Drawn, other.Wanted = origin, drawn+1, place
		out, err := w.along(ctx, other, way)
		if err == nil {
			out, err = last(ctx, out)
		}
		switch {
		case err == nil:
			return out, nil
		case ctx.Err() != nil || pipe.Stops(err):
			return nil, err
		case errors.Is(err, errElsewhere) || errors.Is(err, pipe.Skip):
			continue
		}
		if failed++; failed == mostFailures {
			return nil, fmt.Errorf("%w; and so did the %d samples that were drawn for its place, the last of them %q: %w", failure, failed, other.Key, err)
		}
	}
	return nil, fmt.Errorf("%w; and among %d samples that were drawn, none could take its place", failure, mostDraws)
}
