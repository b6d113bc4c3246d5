package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// In a bubble nothing takes time, so that every stage and the consumer are fast, and take
// many items at once: what follows is about that.

// A consumer that is fast, and stops anywhere, has not made the source pull more than one
// that does not read: that is FastSourceBuffer where there was room for the source to
// become fast, Workers + Buffer of each map, and nothing in the consumer's hand besides.
// E16.
func TestE16FastConsumerBoundsTheSource(t *testing.T) {
	for _, workers := range []int{1, 3} {
		for _, read := range []int{0, 1, 63, 64, 65, 70, 96, 97, 150, 500, 1001} {
			synctest.Test(t, func(t *testing.T) {
				var pulled atomic.Int64
				f := pipe.From("numbers", pipetest.Numbers{N: -1, Pulled: func(int, int64) { pulled.Add(1) }})
				f = pipe.Map(f, same, pipe.Opts{Name: "map", Workers: workers, Buffer: 50})
				f = pipe.Map(f, same, pipe.Opts{Name: "again", Buffer: 5})
				run := start(t, f, pipe.Config{})
				defer run.Close()
				most := int64(pipe.FastSourceBuffer + workers + 50 + 1 + 5)
				for n := range read {
					if _, err := run.Next(context.Background()); err != nil {
						t.Fatal(err)
					}
					if random := rand.IntN(20); random == 0 {
						synctest.Wait()
					}
					if got := pulled.Load() - int64(n) - 1; got > most {
						t.Fatalf("%d items are on their way after %d were read, the bound is %d", got, n+1, most)
					}
				}
				<-time.After(time.Hour)
				got := pulled.Load() - int64(read)
				if got > most || read == 0 && got != most {
					t.Errorf("workers %d: %d items are on their way after %d were read, the bound is %d", workers, got, read, most)
				}
			})
		}
	}
}

// What is in the consumer's hand when a run ends, whatever ends it, was not yielded, is
// not in the state, and is disposed of once.
func TestE40CloseWithItemsAtHand(t *testing.T) {
	for _, workers := range []int{1, 4} {
		for _, read := range []int{64, 70, 75, 95, 96, 97, 128, 300} {
			for _, how := range []string{"close", "cancel", "fail"} {
				synctest.Test(t, func(t *testing.T) { endAtHand(t, workers, read, how) })
			}
		}
	}
}

func endAtHand(t *testing.T, workers, read int, how string) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var owner pipetest.Owner[int]
	bad := read + 1 + rand.IntN(60)
	op := func(_ context.Context, v int) (int, error) {
		if how == "fail" && v == bad {
			owner.Gone(v)
			return 0, fmt.Errorf("%d is bad", v)
		}
		return v, nil
	}
	f := pipe.Discard(pipe.From("numbers", pipetest.Numbers{N: -1, Pulled: func(_ int, pos int64) { owner.Made(int(pos)) }}), owner.Gone)
	f = pipe.Discard(pipe.Map(f, op, pipe.Opts{Name: "map", Workers: workers, Buffer: 40, Ordered: true}), owner.Gone)
	run, err := pipe.Start(ctx, f, pipe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	next := func(want int) {
		v, err := run.Next(context.Background())
		if err != nil || v != want {
			t.Fatalf("%s, %d workers: %d instead of %d: %v", how, workers, v, want, err)
		}
		owner.Gone(v)
	}
	for n := range read {
		if n > 60 && n%7 == 0 {
			synctest.Wait() // so that there is something to take at once
		}
		next(n)
	}
	if s := run.State().Sources["numbers"]; s.Low != int64(read) || s.Ahead != nil {
		t.Errorf("%d were read: %+v", read, s)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if v, err := run.Next(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("%d and %v with a context that is over", v, err)
	}
	next(read) // that has lost nothing
	switch how {
	case "cancel":
		stop()
		synctest.Wait()
		if _, err := run.Next(context.Background()); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	case "fail":
		for n := read + 1; n < bad; n++ {
			next(n)
		}
		var failure *pipe.StageError
		if _, err := run.Next(context.Background()); !errors.As(err, &failure) || failure.Pos != int64(bad) {
			t.Errorf("%v instead of the failure of %d", err, bad)
		}
	}
	if err := run.Close(); err != nil {
		t.Error(err)
	}
	if faults := owner.Faults(); len(faults) > 0 {
		t.Errorf("%s, %d workers, %d read: %v", how, workers, read, faults)
	}
	if _, err := run.Next(context.Background()); err == nil || err == io.EOF {
		t.Errorf("after Close: %v", err)
	}
}
