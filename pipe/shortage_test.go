package pipe_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

var errDescriptors = &os.PathError{Op: "open", Path: "4.jpg", Err: syscall.EMFILE}

// lacks fails at 4, and not for a reason of its own.
func lacks(v int) error {
	if v == 4 {
		return errDescriptors
	}
	return nil
}

// What the machine lacks is no failure of an item, whichever function meets it: a policy
// that skips all failures does not skip this one.
func TestShortagesAreNoItemsFailure(t *testing.T) {
	numbers := pipe.From("numbers", pipetest.Numbers{N: 9})
	for name, f := range map[string]pipe.Flow[int]{
		"source": pipe.From("numbers", pipetest.Numbers{N: 9, Fail: func(_ int, pos int64) error { return lacks(int(pos)) }}),
		"map":    pipe.Map(numbers, func(_ context.Context, v int) (int, error) { return v, lacks(v) }, pipe.Opts{Name: "map"}),
		"filter": pipe.Filter(numbers, func(_ context.Context, v int) (bool, error) { return true, lacks(v) }, pipe.Opts{Name: "filter"}),
		"flatmap": pipe.FlatMap(numbers, func(_ context.Context, v int) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) { yield(v, lacks(v)) }
		}, pipe.Opts{Name: "flatmap"}),
		"panic": pipe.Map(numbers, func(_ context.Context, v int) (int, error) {
			if err := lacks(v); err != nil {
				panic(err)
			}
			return v, nil
		}, pipe.Opts{Name: "map"}),
		"replace": pipe.Map(numbers, pipe.Replace(func(_ context.Context, v int) (int, error) { return v, lacks(v) }, func(context.Context, int, error) (int, error) {
			t.Error("it was replaced")
			return 0, nil
		}), pipe.Opts{Name: "map"}),
		"dead letters": pipe.Map(numbers, pipe.DeadLetters(func(_ context.Context, v int) (int, error) { return v, lacks(v) }, func(context.Context, int, error) {
			t.Error("it was listed")
		}), pipe.Opts{Name: "map"}),
		"fill": pipe.Map(pipe.Fill(numbers, 1, plainStore{1}, func(_ context.Context, v int, b []int, row int) error {
			b[row] = v
			return lacks(v)
		}, pipe.FillOpts{Name: "fill"}), func(_ context.Context, b []int) (int, error) { return b[0], nil }, pipe.Opts{Name: "map"}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: pipe.NoLimit}, Hooks: pipe.Hooks{Lost: func(l pipe.Loss) { t.Errorf("lost: %+v", l) }}})
				defer run.Close()
				got, err := drain(run)
				if !errors.Is(err, syscall.EMFILE) || !slices.Equal(got, upTo(4)) {
					t.Errorf("%v, then %v", got, err)
				}
			})
		})
	}
}

// A retry is what helps: others give back what they have.
func TestShortagesPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 9}), pipe.Retry(func(_ context.Context, v int) (int, error) {
			if v == 4 && tries < 3 {
				tries++
				return 0, lacks(v)
			}
			return v, nil
		}, pipe.Backoff{Times: 3}), pipe.Opts{Name: "map"})
		run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: pipe.NoLimit}})
		defer run.Close()
		if got, err := drain(run); err != io.EOF || !slices.Equal(got, upTo(9)) {
			t.Errorf("%v, then %v", got, err)
		}
	})
}
