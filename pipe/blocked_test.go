package pipe_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// gathersOne hands on what becomes of each item.
type gathersOne func(context.Context, int) (int, error)

func (f gathersOne) Add(ctx context.Context, v pipe.Held[int], e *pipe.Emitter[int, int]) error {
	out, err := f(ctx, v.Value)
	if err == nil {
		e.Emit(out, v)
	}
	return err
}

func (f gathersOne) Flush(context.Context, *pipe.Emitter[int, int]) error { return nil }

// An operation that waits for room is not busy meanwhile, here or elsewhere, and takes no
// longer for it: its stage is blocked.
func TestWaitBlocked(t *testing.T) {
	const items, works, waits = 50, 10 * time.Millisecond, 30 * time.Millisecond
	type op = func(context.Context, int) (int, error)
	from := func() pipe.Flow[int] { return pipe.From("numbers", pipetest.Numbers{N: items}) }
	sequence := func(f op) func(context.Context, int) iter.Seq2[int, error] {
		return func(ctx context.Context, v int) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) { yield(f(ctx, v)) }
		}
	}
	elsewhere := pipe.Opts{Name: "work", InFlightPerWorker: 3, OnResize: func(int) {}}
	for name, flow := range map[string]func(op) pipe.Flow[int]{
		"map":                func(f op) pipe.Flow[int] { return pipe.Map(from(), f, pipe.Opts{Name: "work"}) },
		"map elsewhere":      func(f op) pipe.Flow[int] { return pipe.Map(from(), f, elsewhere) },
		"sequence":           func(f op) pipe.Flow[int] { return pipe.FlatMap(from(), sequence(f), pipe.Opts{Name: "work"}) },
		"sequence elsewhere": func(f op) pipe.Flow[int] { return pipe.FlatMap(from(), sequence(f), elsewhere) },
		"aggregator": func(f op) pipe.Flow[int] {
			begin := func() pipe.Aggregator[int, int] { return gathersOne(f) }
			return pipe.Aggregate(from(), begin, pipe.AggregateOpts{Name: "work"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				work := func(ctx context.Context, v int) (int, error) {
					wait := func() error { return pipetest.Sleep(ctx, waits) }
					if err := pipe.WaitBlocked(ctx, wait); err != nil {
						return 0, err
					}
					pipetest.Sleep(ctx, works)
					pipe.Worked(ctx, works)
					return v, pipe.WaitBlocked(ctx, wait)
				}
				run := start(t, flow(work), pipe.Config{})
				defer run.Close()
				for i := range items {
					if _, err := run.Next(t.Context()); err != nil {
						t.Fatal(i, err)
					}
				}
				run.Close()
				s := statsOf(run, "work")
				if s.Busy != items*works || s.Queued != 0 || s.Blocked < items*2*waits || s.P50 < works || s.P50 > works*11/10 {
					t.Errorf("busy for %v, queued for %v, blocked for %v; p50 %v", s.Busy, s.Queued, s.Blocked, s.P50)
				}
			})
		})
	}
	wrong := errors.New("wrong")
	if err := pipe.WaitBlocked(t.Context(), func() error { return wrong }); err != wrong {
		t.Error(err)
	}
}

// Who waits for room holds no permit: the stage after, which gives the room back, needs
// one.
func TestWhoWaitsForRoomHoldsNoPermit(t *testing.T) {
	for name, flat := range map[string]bool{"map": false, "sequence": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const items = 10
				var room [items + 1]chan struct{} // for one item, the oldest
				for i := range room {
					room[i] = make(chan struct{})
				}
				close(room[0])
				take := func(ctx context.Context, v int) error {
					return pipe.WaitBlocked(ctx, func() error {
						select {
						case <-room[v]:
							return nil
						case <-ctx.Done():
							return context.Cause(ctx)
						}
					})
				}
				gate := pipe.NewGate(1)
				o := pipe.Opts{Name: "takes", Workers: 2, Ordered: true, Gate: gate, Buffer: 4}
				in := pipe.From("numbers", pipetest.Numbers{N: items})
				taken := pipe.Map(in, func(ctx context.Context, v int) (int, error) { return v, take(ctx, v) }, o)
				if flat {
					taken = pipe.FlatMap(in, func(ctx context.Context, v int) iter.Seq2[int, error] {
						return func(yield func(int, error) bool) { yield(v, take(ctx, v)) }
					}, o)
				}
				run := start(t, pipe.Map(taken, func(_ context.Context, v int) (int, error) {
					close(room[v+1])
					return v, nil
				}, pipe.Opts{Name: "gives", Gate: gate, Ordered: true}), pipe.Config{})
				defer run.Close()
				for i := range items {
					if v, err := run.Next(t.Context()); v != i || err != nil {
						t.Fatal(i, v, err)
					}
				}
			})
		})
	}
}
