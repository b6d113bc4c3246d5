package pipe_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

func second(ctx context.Context, v int) (int, error) { return v, pipetest.Sleep(ctx, time.Second) }

func gauged(g *pipetest.Gauge, op func(context.Context, int) (int, error)) func(context.Context, int) (int, error) {
	return func(ctx context.Context, v int) (int, error) {
		defer g.Enter()()
		return op(ctx, v)
	}
}

// E13: one number caps all stages of two runs, without deadlock at 1.
func TestE13GateOfOneOverTwoRuns(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			gate := pipe.NewGate(1)
			var gauge pipetest.Gauge
			flow := func() pipe.Flow[[]int] {
				f := pipe.From("numbers", pipetest.Numbers{N: 12})
				f = pipe.Map(f, gauged(&gauge, second), pipe.Opts{Name: "one", Workers: 3, Ordered: ordered, Gate: gate})
				f = pipe.Map(f, gauged(&gauge, second), pipe.Opts{Name: "two", Workers: 3, Ordered: ordered, Gate: gate})
				return pipe.Fill(f, 4, plainStore{4}, func(ctx context.Context, v int, b []int, row int) (err error) {
					b[row], err = gauged(&gauge, second)(ctx, v)
					return err
				}, pipe.FillOpts{Name: "fill", Workers: 3, Ordered: ordered, Gate: gate})
			}
			began := time.Now()
			var wg sync.WaitGroup
			for range 2 {
				run := start(t, flow(), pipe.Config{})
				defer run.Close()
				wg.Go(func() {
					all := slices.Concat(collect(t, run)...)
					if slices.Sort(all); !slices.Equal(all, upTo(12)) {
						t.Errorf("%v", all)
					}
				})
			}
			wg.Wait()
			if took := time.Since(began); gauge.Max() != 1 || took != 72*time.Second {
				t.Errorf("%d at once, took %v", gauge.Max(), took)
			}
		})
	}
}

// E14: what is almost finished goes first, so that the first item does not wait for work
// on later ones.
func TestE14GatePrefersDownstream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := pipe.NewGate(1)
		f := pipe.From("numbers", pipetest.Numbers{N: -1})
		for _, name := range []string{"one", "two", "three"} {
			f = pipe.Map(f, second, pipe.Opts{Name: name, Workers: 4, Ordered: true, Gate: gate})
		}
		run := start(t, f, pipe.Config{})
		defer run.Close()
		began := time.Now()
		for range 4 {
			if _, err := run.Next(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		// Three seconds of work each, and each time something upstream may have begun
		// just before.
		if took := time.Since(began); took > 4*6*time.Second {
			t.Errorf("four items took %v", took)
		}
	})
}

func TestGateLimitChangesLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := pipe.NewGate(1)
		var gauge pipetest.Gauge
		permits := make(map[int]bool)
		var mu sync.Mutex
		op := func(ctx context.Context, v int) (int, error) {
			permit := pipe.Permit(ctx)
			mu.Lock()
			if permits[permit] || permit >= 70 {
				t.Errorf("permit %d is given twice", permit)
			}
			permits[permit] = true
			mu.Unlock()
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				permits[permit] = false
			}()
			return second(ctx, v)
		}
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: -1}), gauged(&gauge, op), pipe.Opts{Name: "map", Workers: 80, Buffer: 1000, Gate: gate})
		run := start(t, f, pipe.Config{})
		defer run.Close()
		at := func(limit, want int) {
			t.Helper()
			gate.SetLimit(limit)
			<-time.After(1100 * time.Millisecond)
			if gauge.Now() != want || gate.Limit() != max(1, limit) {
				t.Errorf("at a limit of %d, %d operations run", limit, gauge.Now())
			}
		}
		at(1, 1)
		at(70, 70)
		at(3, 3)
		at(0, 1)
		at(5, 5)
	})
}

// A worker that waits at a gate is let go when its run is closed, and its turn goes to
// another.
func TestGateIsLeftOnClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := pipe.NewGate(1)
		hold := func(ctx context.Context, v int) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		one := start(t, pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 9}), hold, pipe.Opts{Name: "map", Workers: 3, Gate: gate}), pipe.Config{})
		synctest.Wait()
		two := start(t, pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 9}), second, pipe.Opts{Name: "map", Workers: 3, Gate: gate}), pipe.Config{})
		defer two.Close()
		synctest.Wait()
		one.Close()
		if got := collect(t, two); len(got) != 9 {
			t.Errorf("%v", got)
		}
	})
}

func TestPermitOutsideOfAnOperation(t *testing.T) {
	if n := pipe.Permit(context.Background()); n != -1 {
		t.Errorf("%d", n)
	}
	pipe.AddBytes(context.Background(), 1)
}

// Operations of no run pass the same gate, and have numbers that nobody else has
// meanwhile.
func TestGateDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := pipe.NewGate(2)
		var gauge pipetest.Gauge
		f := pipe.From("numbers", pipetest.Numbers{N: 6})
		f = pipe.Map(f, gauged(&gauge, second), pipe.Opts{Name: "one", Workers: 3, Ordered: true, Gate: gate})
		run := start(t, f, pipe.Config{})
		defer run.Close()
		var held [2]sync.Mutex
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				err := gate.Do(context.Background(), func(permit int) {
					defer gauge.Enter()()
					if !held[permit].TryLock() {
						t.Errorf("two have number %d", permit)
					}
					pipetest.Sleep(context.Background(), time.Second)
					held[permit].Unlock()
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		began := time.Now()
		if got := collect(t, run); len(got) != 6 {
			t.Errorf("%v", got)
		}
		all.Wait()
		if took := time.Since(began); gauge.Max() != 2 || took > 8*time.Second {
			t.Errorf("%d at once, took %v", gauge.Max(), took)
		}
	})
}

// Anyone who gives up leaves the line, and its permit goes on.
func TestGateDoThatIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := pipe.NewGate(1)
		ctx, cancel := context.WithCancelCause(context.Background())
		why := errors.New("enough")
		err := gate.Do(context.Background(), func(int) {
			time.AfterFunc(time.Second, func() { cancel(why) })
			if err := gate.Do(ctx, func(int) { t.Error("it ran") }); !errors.Is(err, why) {
				t.Error(err)
			}
		})
		if err != nil {
			t.Error(err)
		}
		func() {
			defer func() { recover() }()
			gate.Do(context.Background(), func(int) { panic("ouch") })
		}()
		ran := false
		if err := gate.Do(context.Background(), func(int) { ran = true }); err != nil || !ran {
			t.Error(err, ran)
		}
	})
}
