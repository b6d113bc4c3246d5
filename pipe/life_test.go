package pipe_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// Every buffer may be 1, and a million items with a consumer that is slow at times take
// no more memory than a thousand.
func TestE17MemoryIsFlat(t *testing.T) {
	items := tier.Cases(aMillion/10, aMillion)
	var alive, most atomic.Int64
	made := func(_ context.Context, v int) (*[1000]byte, error) {
		if n := alive.Add(1); n > most.Load() {
			most.Store(n)
		}
		return new([1000]byte), nil
	}
	f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: items}), made, pipe.Opts{Name: "make", Workers: 2, Buffer: 1})
	f = pipe.Map(f, func(_ context.Context, b *[1000]byte) (*[1000]byte, error) { return b, nil }, pipe.Opts{Name: "pass", Buffer: 1})
	b := pipe.Batch(f, 50, pipe.BatchOpts{Name: "batch", Buffer: 1})
	run := start(t, b, pipe.Config{})
	defer run.Close()
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	early, n := uint64(0), 0
	for batch, err := range run.All() {
		if err != nil {
			t.Fatal(err)
		}
		alive.Add(-int64(len(batch)))
		if n += len(batch); n == 1000 {
			early = heap()
		}
		if n%(items/10) == 0 {
			<-time.After(5 * time.Millisecond)
		}
	}
	if n != items {
		t.Fatalf("%d items", n)
	}
	if late := heap(); late > early+1<<20 {
		t.Errorf("%d bytes after a thousand items, %d after all", early, late)
	}
	if bound := int64(2 + 1 + 1 + 1 + 50*3); most.Load() > bound {
		t.Errorf("%d items at once, the bound is %d", most.Load(), bound)
	}
}

// A run starts with Start, and reading needs nothing more. Closing twice is no error,
// reading after it is one, and each Start is a run of its own, also after another was
// closed.
func TestE39StartAndClose(t *testing.T) {
	f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 3}), same, pipe.Opts{Name: "map"})
	run := start(t, f, pipe.Config{})
	for range 3 {
		if err := run.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := run.Next(context.Background()); err != pipe.ErrClosed {
		t.Errorf("%v", err)
	}
	for _, err := range run.All() {
		if err != pipe.ErrClosed {
			t.Errorf("%v", err)
		}
	}
	again := start(t, f, pipe.Config{})
	defer again.Close()
	if got := collect(t, again); !slices.Equal(got, upTo(3)) {
		t.Errorf("%v", got)
	}
}

// The sequence of a source ends exactly once, with its own clean-up, however the run
// ends.
func TestE44SourceIsClosedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		bad  int
		read int
	}{"end": {-1, 99}, "failure": {5, 99}, "close": {-1, 3}, "close at once": {-1, 0}} {
		synctest.Test(t, func(t *testing.T) {
			var begun, ended atomic.Int64
			source := pipetest.Numbers{N: 20, Stopped: func(int, int64) { ended.Add(1) }, Pulled: func(_ int, pos int64) {
				if pos == 0 {
					begun.Add(1)
				}
			}}
			run := start(t, pipe.Map(pipe.From("numbers", source), failing(c.bad), pipe.Opts{Name: "map", Workers: 2, Ordered: true}), pipe.Config{})
			synctest.Wait()
			for range c.read {
				if _, err := run.Next(context.Background()); err != nil {
					break
				}
			}
			run.Close()
			run.Close()
			if begun.Load() != 1 || ended.Load() != 1 {
				t.Errorf("%s: it began %d times and ended %d times", name, begun.Load(), ended.Load())
			}
		})
	}
}

// A program that forgets a run, full or waiting, ends all the same.
func TestE46ForgottenRun(t *testing.T) {
	if os.Getenv("PIPE_FORGETS") != "" {
		for _, op := range []func(context.Context, int) (int, error){same, func(ctx context.Context, v int) (int, error) { <-ctx.Done(); return v, nil }} {
			run, err := pipe.Start(context.Background(), pipe.Map(pipe.From("numbers", pipetest.Numbers{N: -1}), op, pipe.Opts{Name: "map", Workers: 4}), pipe.Config{Epochs: -1})
			if err != nil {
				os.Exit(2)
			}
			ctx, stop := context.WithTimeout(context.Background(), 20*time.Millisecond)
			_, _ = run.Next(ctx)
			stop()
		}
		os.Exit(0) // as main does when it returns
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestE46ForgottenRun$")
	cmd.Env = append(os.Environ(), "PIPE_FORGETS=1")
	if out, err := cmd.CombinedOutput(); err != nil || ctx.Err() != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// After a break in the middle of an epoch the rest of that epoch comes, and the next one
// is whole. A consumer that wants the next epoch starts a run there.
func TestE50BreakMidEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := pipetest.Numbers{N: 9, Value: func(epoch int, pos int64) int { return 100*epoch + int(pos) }}
		f := pipe.Map(pipe.From("numbers", source), same, pipe.Opts{Name: "map", Workers: 3, Ordered: true})
		run := start(t, f, pipe.Config{Epochs: 3})
		for v := range run.All() {
			if v == 3 {
				break
			}
		}
		<-time.After(time.Hour)
		if got := collect(t, run); !slices.Equal(got, []int{4, 5, 6, 7, 8}) {
			t.Errorf("%v", got)
		}
		for v := range run.All() {
			if v == 101 {
				break
			}
		}
		at := run.State().Sources["numbers"].Epoch
		run.Close()
		next := start(t, f, pipe.Config{Epoch: at + 1})
		defer next.Close()
		if got := collect(t, next); got[0] != 200 || len(got) != 9 {
			t.Errorf("%v", got)
		}
		if _, err := next.Next(context.Background()); !errors.Is(err, pipe.ErrDone) || err == io.EOF {
			t.Error(err)
		}
	})
}
