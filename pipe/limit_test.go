package pipe_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// stuck is an operation that for some items does not heed its context, and returns when
// it is let go.
type stuck struct {
	on   []int
	free chan struct{}
	runs pipetest.Gauge
	made pipetest.Owner[int]
}

func (s *stuck) do(ctx context.Context, v int) (int, error) {
	defer s.runs.Enter()()
	if slices.Contains(s.on, v) {
		<-s.free
		return s.made.Made(v), nil
	}
	if _, err := restless(ctx, v); err != nil {
		return 0, err
	}
	return s.made.Made(v), nil
}

func newStuck(on ...int) *stuck { return &stuck{on: on, free: make(chan struct{})} }

// Close while an operation is busy returns by its deadline and names the stage, and a
// later Close succeeds. What the operation makes then is disposed of.
func TestE43CloseWhileBusy(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newStuck(3, 4)
			f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: -1}), same, pipe.Opts{Name: "before", Workers: 2})
			f = pipe.Discard(pipe.Map(f, s.do, pipe.Opts{Name: "stuck", Workers: 3, Ordered: ordered}), s.made.Gone)
			run := start(t, pipe.Map(f, func(_ context.Context, v int) (int, error) { s.made.Gone(v); return v, nil }, pipe.Opts{Name: "behind"}), pipe.Config{})
			<-time.After(time.Minute)
			began := time.Now()
			ctx, stop := context.WithTimeout(context.Background(), 70*time.Millisecond)
			defer stop()
			err := run.CloseWithin(ctx)
			busy := (*pipe.BusyError)(nil)
			if !errors.As(err, &busy) || !slices.Equal(busy.Stages, []pipe.BusyStage{{Stage: "stuck", Operations: 2}}) || !strings.Contains(err.Error(), "2 of stage stuck") {
				t.Errorf("%v", err)
			}
			if took := time.Since(began); took != 70*time.Millisecond {
				t.Errorf("it took %v", took)
			}
			if _, err := run.Next(context.Background()); err != pipe.ErrClosed {
				t.Errorf("%v", err)
			}
			if s.made.Held() != 0 {
				t.Errorf("%d items are held", s.made.Held())
			}
			time.AfterFunc(time.Hour, func() { close(s.free) })
			if err := run.Close(); err != nil || time.Since(began) != time.Hour+70*time.Millisecond {
				t.Errorf("%v after %v", err, time.Since(began))
			}
			if faults := s.made.Faults(); len(faults) > 0 || s.runs.Now() > 0 {
				t.Error(faults)
			}
			if err := run.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// An operation that does not return in time is abandoned: its item is lost, the others
// come, the stage has all its workers, and what it makes in the end is disposed of.
func TestE43LimitAbandons(t *testing.T) {
	for _, gate := range []*pipe.Gate{nil, pipe.NewGate(2)} {
		for _, ordered := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s := newStuck(2, 5)
				var losses []pipe.Loss
				limited := pipe.Limit(s.do, time.Second, s.made.Gone)
				f := pipe.Discard(pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 20}), limited, pipe.Opts{Name: "stuck", Workers: 2, Ordered: ordered, Gate: gate}), s.made.Gone)
				run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: -1}, Hooks: pipe.Hooks{Lost: func(l pipe.Loss) { losses = append(losses, l) }}})
				got := collect(t, run)
				for _, v := range got {
					s.made.Gone(v)
				}
				if slices.Sort(got); len(got) != 18 || slices.Contains(got, 2) || slices.Contains(got, 5) {
					t.Errorf("%v", got)
				}
				late := (*pipe.LimitError)(nil)
				if len(losses) != 2 || !errors.As(losses[0].Err, &late) || !late.Abandoned || late.Limit != time.Second || !errors.Is(late, context.DeadlineExceeded) || losses[0].Stage != "stuck" {
					t.Errorf("%v", losses)
				}
				if st := run.Stats().Stages[1]; st.Abandoned != 2 || st.Lost != 2 || st.In != 20 || st.Out != 18 {
					t.Errorf("%+v", st)
				}
				busy := (*pipe.BusyError)(nil)
				if err := run.Close(); !errors.As(err, &busy) || !slices.Equal(busy.Stages, []pipe.BusyStage{{Stage: "stuck", Operations: 2}}) {
					t.Errorf("%v", err)
				}
				close(s.free)
				synctest.Wait()
				if err := run.Close(); err != nil {
					t.Error(err)
				}
				if faults := s.made.Faults(); len(faults) > 0 || s.runs.Now() > 0 {
					t.Error(faults)
				}
			})
		}
	}
}

// As many operations as a stage has workers may be abandoned at a time. One more stops
// the run, whatever the policy; those that have returned meanwhile do not count.
func TestE43TooManyAbandoned(t *testing.T) {
	for _, returned := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newStuck(2, 5, 9)
			op := pipe.Limit(s.do, time.Second, nil)
			by := func(context.Context, int, error) (int, error) { return -1, nil }
			f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 20}), pipe.Replace(op, by), pipe.Opts{Name: "stuck", Workers: 2, Ordered: true})
			run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: -1}})
			if returned {
				time.AfterFunc(1500*time.Millisecond, func() { s.free <- struct{}{} })
			}
			got, err := drain(run)
			want := []int{0, 1, -1, 3, 4, -1, 6, 7, 8}
			late, stage := (*pipe.LimitError)(nil), (*pipe.StageError)(nil)
			if returned {
				if len(got) != 20 || err != io.EOF {
					t.Errorf("%v, %v", got, err)
				}
			} else if !slices.Equal(got, want) || !errors.As(err, &stage) || stage.Stage != "stuck" || stage.Pos != 9 || !errors.As(err, &late) || !strings.Contains(err.Error(), "one more than the stage has workers") {
				t.Errorf("%v, %v", got, err)
			}
			close(s.free)
			synctest.Wait()
			if err := run.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// An operation that heeds its context is not abandoned, and what is in time is left
// alone, with its permit, its bytes, its panic.
func TestE43LimitOfHeedfulOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var retried atomic.Int64
		gate := pipe.NewGate(1)
		op := func(ctx context.Context, v int) (int, error) {
			if pipe.Permit(ctx) != 0 {
				t.Errorf("permit %d", pipe.Permit(ctx))
			}
			pipe.AddBytes(ctx, 10)
			switch {
			case v == 3:
				return v, pipetest.Sleep(ctx, time.Hour)
			case v == 4:
				panic(errBad)
			case v == 5:
				return v, pipe.Skip
			case v == 6 && retried.Add(1) < 3:
				return v, errBad
			}
			return v, pipetest.Sleep(ctx, 900*time.Millisecond)
		}
		within := pipe.Limit(pipe.Retry(op, pipe.Backoff{Times: 5, First: time.Millisecond, If: func(err error) bool { return !errors.As(err, new(*pipe.PanicError)) }}), time.Second, nil)
		var dead []int
		letters := pipe.DeadLetters(within, func(_ context.Context, v int, _ error) { dead = append(dead, v) })
		var losses []pipe.Loss
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 8}), letters, pipe.Opts{Name: "map", Gate: gate, Ordered: true})
		run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: -1}, Hooks: pipe.Hooks{Lost: func(l pipe.Loss) { losses = append(losses, l) }}})
		if got := collect(t, run); !slices.Equal(got, []int{0, 1, 2, 6, 7}) {
			t.Errorf("%v", got)
		}
		late := (*pipe.LimitError)(nil)
		if len(losses) != 2 || !errors.As(losses[0].Err, &late) || late.Abandoned || late.Err == nil || !errors.Is(losses[1].Err, errBad) || !slices.Equal(dead, []int{3, 4}) {
			t.Errorf("%v, %v", losses, dead)
		}
		if s := run.Stats().Stages[1]; s.Bytes != 100 || s.Retried != 2 || s.Skipped != 1 || s.Abandoned != 0 {
			t.Errorf("%+v", s)
		}
		if err := run.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A permit's number belongs to one operation, also while abandoned ones keep theirs; a
// gate lets as many run as before.
func TestE43AbandonedPermits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := pipe.NewGate(2)
		free := make(chan struct{})
		var held sync.Map
		var gauge pipetest.Gauge
		op := func(ctx context.Context, v int) (int, error) {
			permit := pipe.Permit(ctx)
			if other, twice := held.LoadOrStore(permit, v); twice || permit < 0 || permit > 3 {
				t.Errorf("%d has permit %d, which %v has", v, permit, other)
			}
			defer held.Delete(permit)
			if v%10 == 3 && v < 20 {
				<-free
				return v, nil
			}
			defer gauge.Enter()()
			return v, pipetest.Sleep(ctx, time.Millisecond)
		}
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 50}), pipe.Limit(op, time.Second, nil), pipe.Opts{Name: "map", Workers: 4, Gate: gate})
		run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: -1}})
		if got := collect(t, run); len(got) != 48 || gauge.Max() != 2 {
			t.Errorf("%d items, %d at once", len(got), gauge.Max())
		}
		close(free)
		synctest.Wait()
		if err := run.Close(); err != nil {
			t.Error(err)
		}
	})
}

// What goes wrong with a result that comes too late is reported by Close. An operation
// that ends its goroutine stops the run.
func TestLimitAndBadManners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStuck(1)
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 3}), pipe.Limit(s.do, time.Second, func(int) { panic(errBad) }), pipe.Opts{Name: "map"})
		run := start(t, f, pipe.Config{})
		if _, err := drain(run); !errors.As(err, new(*pipe.LimitError)) {
			t.Error(err)
		}
		close(s.free)
		synctest.Wait()
		if err := run.Close(); !errors.Is(err, errBad) || errors.As(err, new(*pipe.BusyError)) {
			t.Error(err)
		}
		leaves := start(t, pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 3}), pipe.Limit(exits, time.Second, nil), pipe.Opts{Name: "map"}), pipe.Config{Failures: pipe.Policy{Skip: true, Count: -1}})
		if _, err := drain(leaves); !errors.As(err, new(*pipe.StageError)) || !contains(err, "Goexit") {
			t.Error(err)
		}
		if err := leaves.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Outside of a run, a limit is one all the same.
func TestLimitOutsideOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if v, err := pipe.Limit(same, time.Hour, nil)(context.Background(), 3); v != 3 || err != nil || pipe.Limit[int, int](nil, 1, nil) != nil {
			t.Error(v, err)
		}
		s := newStuck(3)
		late := (*pipe.LimitError)(nil)
		if _, err := pipe.Limit(s.do, time.Second, s.made.Gone)(context.Background(), 3); !errors.As(err, &late) || !late.Abandoned {
			t.Error(err)
		}
		close(s.free)
		synctest.Wait()
		if faults := s.made.Faults(); len(faults) > 0 {
			t.Error(faults)
		}
	})
}
