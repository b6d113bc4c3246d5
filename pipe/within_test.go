package pipe_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// arrivals is a source whose items come so long after each other.
type arrivals []time.Duration

func (a arrivals) Items(ctx context.Context, _ int, pos int64) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := int(pos); i < len(a); i++ {
			if a[i] > 0 {
				select {
				case <-time.After(a[i]):
				case <-ctx.Done():
					return
				}
			}
			if !yield(i, nil) {
				return
			}
		}
	}
}

// A batch comes when it is full, or so long after its first item, or at the end of the
// epoch; whichever is first.
func TestBatchesWithinATime(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		gaps arrivals
		drop bool
		want string // each batch with when it comes; epoch after epoch
	}{
		"full at once":         {arrivals{0, 0, 0, 0}, false, "[0 1 2]@0s [3]@0s end@0s"},
		"time after time":      {arrivals{0, 6 * s, 6 * s, 13 * s, 1 * s}, false, "[0 1]@10s [2]@22s [3 4]@26s end@26s"},
		"at the last moment":   {arrivals{0, 4 * s, 5 * s, 2 * s}, false, "[0 1 2]@9s [3]@11s end@11s"},
		"a late first item":    {arrivals{40 * s, 3 * s}, false, "[0 1]@43s end@43s"},
		"nothing":              {nil, false, "end@0s"},
		"dropped at the end":   {arrivals{0, 13 * s, 1 * s}, true, "[0]@10s end@14s"},
		"waits for the epoch":  {arrivals{0, 3 * s, 10 * s}, false, "[0 1]@10s [2]@13s end@13s"},
		"the time of a second": {arrivals{0, 0, 0, 5 * s, 4 * s, 7 * s}, false, "[0 1 2]@0s [3 4]@15s [5]@16s end@16s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := pipe.Batch(pipe.From("arrivals", c.gaps), 3, pipe.BatchOpts{Name: "batch", Within: 10 * s, DropLast: c.drop})
				run := start(t, f, pipe.Config{Epochs: 2})
				defer run.Close()
				for range 2 {
					got, began := "", time.Now()
					for {
						v, err := run.Next(t.Context())
						if err == io.EOF {
							got += fmt.Sprint("end@", time.Since(began))
							break
						}
						if err != nil {
							t.Fatal(err)
						}
						got += fmt.Sprint(v, "@", time.Since(began), " ")
					}
					if got != c.want {
						t.Errorf("got  %s\nwant %s", got, c.want)
					}
				}
			})
		})
	}
}

// What is still being made when the time of a batch is over comes into the next; in
// completion order, what is made after it does not wait for it.
func TestBatchesDoNotWaitForWhatIsInWork(t *testing.T) {
	const s = time.Second
	for ordered, want := range map[bool]string{
		true:  "[0]@10s [1 2 3]@20s end@20s",
		false: "[0 2 3]@0s [1]@20s end@20s",
	} {
		synctest.Test(t, func(t *testing.T) {
			slow := func(ctx context.Context, v int) (int, error) {
				if v == 1 {
					return v, pipetest.Sleep(ctx, 20*s)
				}
				return v, nil
			}
			made := pipe.Map(pipe.From("arrivals", arrivals{0, 0, 0, 0}), slow, pipe.Opts{Name: "slow", Workers: 4, Ordered: ordered})
			run := start(t, pipe.Batch(made, 3, pipe.BatchOpts{Name: "batch", Within: 10 * s}), pipe.Config{})
			defer run.Close()
			got, began := "", time.Now()
			for {
				v, err := run.Next(t.Context())
				if err != nil {
					got += fmt.Sprint("end@", time.Since(began))
					break
				}
				slices.Sort(v)
				got += fmt.Sprint(v, "@", time.Since(began), " ")
			}
			if got != want {
				t.Errorf("ordered %v: %s, want %s", ordered, got, want)
			}
		})
	}
}

// However items and the consumer are timed, and wherever the run is cut and resumed with
// other times, every item comes exactly once and in order, and no item waits in the stage
// for longer than Within while the consumer asks.
func TestBatchesWithinATimeAreExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, size := rapid.IntRange(0, 30).Draw(rt, "items"), rapid.IntRange(1, 5).Draw(rt, "size")
		within := time.Duration(rapid.IntRange(1, 5).Draw(rt, "within"))
		gaps := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 4), func(n int) time.Duration { return time.Duration(n) }), n, n)
		cut := rapid.SliceOfN(rapid.IntRange(0, 6), 1, 8).Draw(rt, "batches of each run")
		defer pipe.Haste(rt)()
		slow := rapid.IntRange(0, 3).Draw(rt, "the consumer takes")
		plans := make([]arrivals, len(cut)+1)
		for i := range plans {
			plans[i] = gaps.Draw(rt, "gaps")
		}
		synctest.Test(t, func(t *testing.T) {
			var got []int
			var at pipe.State
			for i := range plans {
				f := pipe.Batch(pipe.From("arrivals", plans[i]), size, pipe.BatchOpts{Name: "batch", Within: within})
				run, err := pipe.Start(t.Context(), f, pipe.Config{Resume: at, Until: 1})
				if err != nil {
					rt.Fatal(err)
				}
				for k := 0; i == len(cut) || k < cut[i]; k++ {
					v, err := run.Next(t.Context())
					if err != nil {
						break
					}
					if len(v) < 1 || len(v) > size {
						rt.Errorf("a batch of %d", len(v))
					}
					got = append(got, v...)
					pipetest.Sleep(t.Context(), time.Duration(slow))
				}
				at = run.State()
				run.Close()
			}
			if !slices.Equal(got, upTo(n)) {
				rt.Errorf("%v of %d", got, n)
			}
		})
	})
}

// Where a state is in the middle of what was made of such a batch, the next run could
// make another batch: that is refused. After it, it is not.
func TestStatesWithinBatchesByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flow := func(within time.Duration) pipe.Flow[int] {
			b := pipe.Batch(pipe.From("arrivals", arrivals{0, 0, 20, 0, 0}), 3, pipe.BatchOpts{Name: "batch", Within: within})
			return pipe.Unbatch(b, pipe.UnbatchOpts{Name: "elements"})
		}
		run := start(t, flow(10), pipe.Config{})
		defer run.Close()
		for k := range 5 {
			if v, err := run.Next(t.Context()); v != k || err != nil {
				t.Fatal(v, err)
			}
			pipetest.Sleep(t.Context(), 1) // for the message after a batch's last element
			synctest.Wait()
			err := flow(10).Fits(run.State())
			if inside := k == 0 || k == 2 || k == 3; inside && !contains(err, "because stage batch makes batches by time") {
				t.Errorf("after item %d: %v", k, err)
			}
		}
		if _, err := run.Next(t.Context()); err != io.EOF {
			t.Error(err)
		}
		if err := flow(10).Fits(run.State()); err != nil {
			t.Errorf("after the epoch: %v", err)
		}
	})
}

// The time of a batch is a mistake where it is none.
func TestBatchesWithinNoTime(t *testing.T) {
	f := pipe.Batch(pipe.From("numbers", pipetest.Numbers{N: 1}), 3, pipe.BatchOpts{Name: "batch", Within: -1})
	if err := f.Check(); !contains(err, "stage batch: Within is -1ns: it must be a time above 0, or 0 for none") {
		t.Error(err)
	}
	if text := pipe.Batch(pipe.From("numbers", pipetest.Numbers{N: 1}), 3, pipe.BatchOpts{Name: "batch", Within: time.Second}).String(); !contains(fmt.Errorf("%s", text), "of 3 within 1s") {
		t.Error(text)
	}
}
