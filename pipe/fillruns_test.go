package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// While runs are large, numbers come together, in as many operations as are said; when
// they are small again, all workers work.
func TestFillRunsComeTogether(t *testing.T) {
	for _, size := range []int{1, 8} {
		synctest.Test(t, func(t *testing.T) {
			active, most, longest := 0, 0, 0
			mutex := make(chan struct{}, 1)
			enter := func(n, numbers int) {
				mutex <- struct{}{}
				active += n
				most, longest = max(most, active), max(longest, numbers)
				<-mutex
			}
			op := func(ctx context.Context, v int, b []int, row int) error {
				enter(1, 1)
				defer enter(-1, 0)
				b[row] = v
				return pipetest.Sleep(ctx, time.Millisecond)
			}
			several := func(ctx context.Context, run []pipe.Row[int, []int], done func(int, error)) {
				enter(1, len(run))
				defer enter(-1, 0)
				for i, r := range run {
					r.Batch[r.Row] = r.Item
					done(i, pipetest.Sleep(ctx, time.Millisecond))
				}
			}
			o := pipe.FillOpts{Name: "fill", Workers: 2, InFlightPerWorker: 16, Ordered: true, OnResize: func(int) {}}
			numbers := pipe.From("numbers", pipetest.Numbers{N: 400})
			run, err := pipe.Start(context.Background(), pipe.FillRuns(numbers, 100, plainStore{100}, op, several, func() int { return size }, o), pipe.Config{Epochs: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer run.Close()
			for k := range 4 {
				b, err := run.Next(context.Background())
				if err != nil || b[0] != 100*k || b[99] != 100*k+99 {
					t.Fatal(b, err)
				}
			}
			mutex <- struct{}{}
			defer func() { <-mutex }()
			if size == 1 && (most != 32 || longest != 1) || size > 1 && longest != size {
				t.Errorf("size %d: %d operations at once, of up to %d numbers", size, most, longest)
			}
		})
	}
}

// A panic, and the end of the goroutine, are the failures of those numbers of a run for
// which nothing was said before.
func TestFillRunsThatEndEarly(t *testing.T) {
	for name, end := range map[string]func(){"a panic": func() { panic("broken") }, "the goroutine's end": runtime.Goexit, "a return": func() {}} {
		for _, skips := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				several := func(_ context.Context, run []pipe.Row[int, []int], done func(int, error)) {
					for i, r := range run {
						if r.Item == 6 {
							end()
							return
						}
						r.Batch[r.Row] = r.Item
						done(i, nil)
					}
				}
				op := func(_ context.Context, v int, b []int, row int) error {
					err := errors.New("nothing was said of it")
					several(nil, []pipe.Row[int, []int]{{Item: v, Batch: b, Row: row}}, func(_ int, e error) { err = e })
					return err
				}
				o := pipe.FillOpts{Name: "fill", InFlightPerWorker: 2, Ordered: true, OnResize: func(int) {}}
				c := pipe.Config{Epochs: 1}
				if skips {
					c.Failures = pipe.Policy{Skip: true, Count: -1}
				}
				run, err := pipe.Start(context.Background(), pipe.FillRuns(pipe.From("numbers", pipetest.Numbers{N: 12}), 3, plainStore{3}, op, several, func() int { return 4 }, o), c)
				if err != nil {
					t.Fatal(err)
				}
				defer run.Close()
				var got []string
				for {
					b, err := run.Next(context.Background())
					if err != nil {
						if failed := !errors.Is(err, pipe.ErrDone) && !strings.Contains(err.Error(), "EOF"); failed == (skips && name != "the goroutine's end") {
							t.Errorf("%s, skips %v: %v after %v", name, skips, err, got)
						}
						break
					}
					got = append(got, fmt.Sprint(b))
				}
				if len(got) < 2 || got[0] != "[0 1 2]" || got[1] != "[3 4 5]" {
					t.Errorf("%s, skips %v: %v", name, skips, got)
				}
			})
		}
	}
}

func TestFillRunsMistakes(t *testing.T) {
	o := pipe.FillOpts{Name: "fill", Limit: time.Second}
	_, err := pipe.Start(context.Background(), pipe.FillRuns(pipe.From("numbers", pipetest.Numbers{N: 1}), 1, plainStore{1}, func(context.Context, int, []int, int) error { return nil }, nil, nil, o), pipe.Config{})
	for _, want := range []string{"its function for several items, or that for their number, is nil", "a Gate and a Limit are for operations of one item"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: lacks %q", err, want)
		}
	}
}

// A worker's spans have all the items that it took, also those of a run that was stopped
// meanwhile, in whatever order they end.
func TestSpansOfFillRunsThatAreStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		op := func(ctx context.Context, _ int, _ []int, _ int) error { return pipetest.Sleep(ctx, time.Millisecond) }
		several := func(ctx context.Context, run []pipe.Row[int, []int], done func(int, error)) {
			<-ctx.Done()
			for _, i := range []int{2, 0, 3, 1} {
				if i < len(run) {
					done(i, ctx.Err())
				}
			}
		}
		var s spans
		o := pipe.FillOpts{Name: "fill", OnResize: func(int) {}}
		f := pipe.FillRuns(pipe.From("numbers", pipetest.Numbers{N: 40}), 10, plainStore{10}, op, several, func() int { return 4 }, o)
		run := start(t, pipe.Discard(f, func([]int) {}), pipe.Config{Hooks: pipe.Hooks{Span: s.add}})
		<-time.After(time.Second)
		run.Close()
		items, want := int64(0), int64(0)
		for _, one := range s.all {
			if one.Stage == "fill" && one.Kind == pipe.Operation {
				items += int64(one.Items)
			}
		}
		for _, stage := range run.Stats().Stages {
			if stage.Name == "fill" {
				want = stage.In
			}
		}
		if want < 2 || items != want {
			t.Errorf("spans have %d items, and %d were taken", items, want)
		}
	})
}
