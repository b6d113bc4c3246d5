package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// Whenever a run is closed or cancelled, and whatever its order and number of workers,
// everything ends at once, and every item was either handed on or disposed of.
func TestE40CloseAtAnyTime(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		for _, workers := range []int{1, 4} {
			for _, cancel := range []bool{false, true} {
				for read := range 12 {
					t.Run(fmt.Sprintf("ordered %v workers %d cancel %v read %d", ordered, workers, cancel, read), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { closeAfter(t, ordered, workers, cancel, read) })
					})
				}
			}
		}
	}
}

func closeAfter(t *testing.T, ordered bool, workers int, cancel bool, read int) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var owner pipetest.Owner[int]
	var gauge pipetest.Gauge
	var pulled, stopped atomic.Int64
	op := func(ctx context.Context, v int) (int, error) {
		defer gauge.Enter()()
		if _, err := restless(ctx, v); err != nil {
			owner.Gone(v)
			return 0, err
		}
		return v, nil
	}
	f := pipe.Discard(pipe.From("numbers", pipetest.Numbers{
		N: -1, Pulled: func(_ int, pos int64) { owner.Made(int(pos)); pulled.Add(1) }, Stopped: func(int, int64) { stopped.Add(1) },
	}), owner.Gone)
	f = pipe.Discard(pipe.Map(f, op, pipe.Opts{Name: "map", Workers: workers, Ordered: ordered}), owner.Gone)
	b := pipe.Batch(f, 3, pipe.BatchOpts{Name: "batch"})
	run, err := pipe.Start(ctx, b, pipe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for range read {
		batch, err := run.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range batch {
			owner.Gone(v)
		}
	}
	began := time.Now()
	if cancel {
		stop()
		synctest.Wait()
		if gauge.Now() != 0 {
			t.Errorf("%d operations run after cancel", gauge.Now())
		}
		if _, err := run.Next(context.Background()); !errors.Is(err, context.Canceled) {
			t.Errorf("after cancel: %v", err)
		}
	}
	run.Close()
	run.Close()
	if took := time.Since(began); took > 0 {
		t.Errorf("Close took %v", took)
	}
	if _, err := run.Next(context.Background()); err == nil {
		t.Error("an item after Close")
	}
	if faults := owner.Faults(); len(faults) > 0 || gauge.Now() > 0 {
		t.Errorf("%d operations run; %v", gauge.Now(), faults)
	}
	if stopped.Load() != min(1, pulled.Load()) {
		t.Errorf("the source's sequence ended %d times", stopped.Load()) // E44
	}
}

func TestCloseWakesNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := func(ctx context.Context, v int) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		run := start(t, pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 3}), stuck, pipe.Opts{Name: "map"}), pipe.Config{})
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := run.Next(context.Background()); err != pipe.ErrClosed {
				t.Errorf("%v", err)
			}
		})
		synctest.Wait()
		if _, err := run.Next(context.Background()); err != pipe.ErrBusy {
			t.Errorf("a second consumer: %v", err)
		}
		wg.Go(func() { run.Close() })
		wg.Go(func() { run.Close() })
		wg.Wait()
		if low := run.State().Sources["numbers"].Low; low != 0 {
			t.Errorf("operations that were cancelled are counted: %d", low)
		}
	})
}

// E41: after a break, the loop goes on with the very next item.
func TestE41BreakAndGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 20}), restless, pipe.Opts{Name: "map", Workers: 3, Ordered: true})
		run := start(t, f, pipe.Config{})
		defer run.Close()
		var got []int
		for v := range run.All() {
			if got = append(got, v); len(got) == 5 {
				break
			}
		}
		if got = append(got, collect(t, run)...); !slices.Equal(got, upTo(20)) {
			t.Errorf("%v", got)
		}
	})
}

func TestE42TimeoutLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context, v int) (int, error) { return v, pipetest.Sleep(ctx, time.Second) }
		run := start(t, pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 5}), slow, pipe.Opts{Name: "map"}), pipe.Config{})
		defer run.Close()
		var got []int
		timeouts := 0
		for len(got) < 5 {
			ctx, stop := context.WithTimeout(context.Background(), 300*time.Millisecond)
			v, err := run.Next(ctx)
			stop()
			switch {
			case err == nil:
				got = append(got, v)
			case errors.Is(err, context.DeadlineExceeded):
				timeouts++
			default:
				t.Fatal(err)
			}
		}
		if !slices.Equal(got, upTo(5)) || timeouts != 15 {
			t.Errorf("%v after %d timeouts", got, timeouts)
		}
	})
}

// What goes wrong with discarding does not stop Close, and is reported by it.
func TestDiscardMayPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := pipe.Discard(pipe.From("numbers", pipetest.Numbers{N: 3}), func(int) { panic(errBad) })
		run := start(t, f, pipe.Config{})
		synctest.Wait()
		if err := run.Close(); !errors.Is(err, errBad) {
			t.Errorf("%v", err)
		}
	})
}
