package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// groupsOf makes groups of numbers; the last of each is one for which last is true.
func groupsOf(s *spyStore, items int, last func(int) bool, op func(context.Context, int, []int, int) error, o pipe.FillOpts) pipe.Flow[*numbered] {
	o.Name = "fill"
	return pipe.FillGroups(pipe.From("numbers", pipetest.Numbers{N: items}), s.n, last, s, func(ctx context.Context, v int, b *numbered, row int) error {
		return op(ctx, v, b.rows, row)
	}, o)
}

func multipleOf(n int) func(int) bool { return func(v int) bool { return v%n == n-1 } }

// A batch ends after its last item, also when that is lost or dropped, and with the
// epoch; a batch of which nothing is left does not come.
func TestFillGroupsEndBehindTheLast(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		synctest.Test(t, func(t *testing.T) {
			op := func(ctx context.Context, v int, b []int, row int) error {
				switch v {
				case 3, 6, 7, 8, 11:
					return errBad
				case 5, 9, 10:
					return pipe.Skip
				}
				b[row] = v
				_, err := restless(ctx, v)
				return err
			}
			s := &spyStore{n: 4}
			var lost []int64
			run := start(t, groupsOf(s, 14, multipleOf(3), op, pipe.FillOpts{Workers: workers}), pipe.Config{
				Failures: pipe.Policy{Skip: true, Count: -1}, Epochs: 2, Hooks: pipe.Hooks{Lost: func(l pipe.Loss) { lost = append(lost, l.Pos) }},
			})
			defer run.Close()
			for range 2 {
				var got [][]int
				for _, b := range collect(t, run) {
					got = append(got, b.rows)
				}
				if want := "[[0 1 2] [4] [12 13]]"; fmt.Sprint(got) != want {
					t.Errorf("%d workers: %v", workers, got)
				}
			}
			if want := []int64{3, 6, 7, 8, 11, 3, 6, 7, 8, 11}; !slices.Equal(lost, want) {
				t.Errorf("%v", lost)
			}
			if st := run.Stats().Stages[1]; st.Lost != 10 || st.Skipped != 6 || st.Out != 6 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// Batches as large as the store's are fine. One item more without an end is the end of
// the run, which blames that item.
func TestFillGroupsWithoutAnEnd(t *testing.T) {
	for items, fine := range map[int]bool{4: true, 5: false} {
		synctest.Test(t, func(t *testing.T) {
			var owner pipetest.Owner[int]
			s := &spyStore{n: 4}
			op := func(_ context.Context, v int, b []int, row int) error {
				owner.Gone(v)
				b[row] = v
				return nil
			}
			numbers := pipe.Discard(pipe.From("numbers", pipetest.Numbers{N: items, Value: func(_ int, pos int64) int { return owner.Made(int(pos)) }}), owner.Gone)
			f := pipe.FillGroups(numbers, 4, func(int) bool { return false }, s, func(ctx context.Context, v int, b *numbered, row int) error {
				return op(ctx, v, b.rows, row)
			}, pipe.FillOpts{Name: "fill", Workers: 2})
			run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: -1}})
			got, err := drain(run)
			stage := (*pipe.StageError)(nil)
			switch {
			case fine && (err != io.EOF || len(got) != 1):
				t.Errorf("%v, %v", got, err)
			case !fine && (!errors.As(err, &stage) || stage.Pos != 4 || stage.Stage != "fill" || !contains(err, "no end after 4 items") || len(got) > 0):
				t.Errorf("%v, %v", got, err)
			}
			run.Close()
			if faults := owner.Faults(); len(faults) > 0 {
				t.Error(faults)
			}
		})
	}
}

// What the caller's function does wrong ends the run at the item.
func TestFillGroupsPanicOfLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		last := func(v int) bool {
			if v == 3 {
				panic(errBad)
			}
			return v%2 == 1
		}
		run := start(t, groupsOf(&spyStore{n: 4}, 9, last, writeUnless(), pipe.FillOpts{}), pipe.Config{Failures: pipe.Policy{Skip: true, Count: -1}})
		defer run.Close()
		got, err := drain(run)
		stage := (*pipe.StageError)(nil)
		if !errors.As(err, &stage) || stage.Pos != 3 || !errors.Is(err, errBad) || len(got) != 1 {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// What comes after an item that ends the run does not pass it, however long it takes to
// dispose of the item.
func TestFillGroupsEndBeforeWhatFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		numbers := pipe.Discard(pipe.From("numbers", pipetest.Numbers{N: 4}), func(int) { <-time.After(time.Second) })
		last := func(v int) bool {
			if v == 3 {
				panic(errBad)
			}
			return v%2 == 1
		}
		s := &spyStore{n: 4}
		write := func(_ context.Context, v int, b *numbered, row int) error { b.rows[row] = v; return nil }
		run := start(t, pipe.FillGroups(numbers, 4, last, s, write, pipe.FillOpts{Name: "fill", Workers: 3}), pipe.Config{})
		defer run.Close()
		got, err := drain(run)
		if stage := (*pipe.StageError)(nil); !errors.As(err, &stage) || stage.Pos != 3 || len(got) != 1 {
			t.Errorf("%v, %v", got, err)
		}
	})
}

func TestFillGroupsMistakes(t *testing.T) {
	f := groupsOf(&spyStore{n: 4}, 9, nil, writeUnless(), pipe.FillOpts{DropLast: true, Limit: -1})
	err := f.Check()
	for _, want := range []string{"tells a batch's last item is nil", "DropLast is for batches of n", "Limit is -1ns"} {
		if !contains(err, want) {
			t.Errorf("%v lacks %s", err, want)
		}
	}
}

// However small batches are, as many operations run at once as there are workers, and
// batches are reserved for no more than one more, beside one that is being sealed.
func TestFillGroupsInWorkAtOnce(t *testing.T) {
	for _, size := range []int{1, 2, 7} {
		synctest.Test(t, func(t *testing.T) {
			var gauge, batches pipetest.Gauge
			var leave sync.Map // of func(), by batch: one is reserved while another is sealed
			s := &spyStore{n: 8, reserve: func(_ context.Context, k int) error {
				leave.Store(k, batches.Enter())
				return nil
			}, seal: func(k int) error {
				f, _ := leave.Load(k)
				f.(func())()
				return nil
			}}
			op := func(ctx context.Context, v int, b []int, row int) error {
				defer gauge.Enter()()
				b[row] = v
				return pipetest.Sleep(ctx, time.Second)
			}
			run := start(t, groupsOf(s, 70, multipleOf(size), op, pipe.FillOpts{Workers: 4}), pipe.Config{})
			defer run.Close()
			if got := collect(t, run); len(got) != 70/size {
				t.Errorf("%d batches", len(got))
			}
			if gauge.Max() != 4 || batches.Max() > 6 {
				t.Errorf("of %d: %d operations and %d batches at once", size, gauge.Max(), batches.Max())
			}
		})
	}
}

// A batch and its losses are one step: the hook learns when the batch comes, and not
// again when the batch is lost after it.
func TestFillGroupsLoseABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := construct{kind: "groups", salt: 3, n: 3}
		numbers := pipe.From("numbers", pipetest.Numbers{N: 30})
		items := pipe.Aggregate(numbers, func() pipe.Aggregator[int, placed] { return &placer{sorter{construct: c}} }, pipe.AggregateOpts{Name: "buckets"})
		s := &spyStore{n: 3}
		f := pipe.FillGroups(items, 3, func(p placed) bool { return p.last }, s, func(ctx context.Context, p placed, b *numbered, row int) error {
			return writeUnless(2, 4, 8, 9, 16)(ctx, p.v, b.rows, row)
		}, pipe.FillOpts{Name: "fill", Workers: 3})
		config := pipe.Config{Epochs: 2, Failures: pipe.Policy{Skip: true, Count: -1}}
		lose := pipe.Map(f, func(_ context.Context, b *numbered) (int, error) { return 0, errBad }, pipe.Opts{Name: "lose"})
		told := make(map[int64]string)
		config.Epochs, config.Hooks.Lost = 1, func(l pipe.Loss) { told[l.Pos] += l.Stage }
		run := start(t, lose, config)
		defer run.Close()
		if got := collect(t, run); len(got) > 0 {
			t.Error(got)
		}
		for v := range int64(30) {
			if want := map[bool]string{true: "fill", false: "lose"}[slices.Contains([]int64{2, 4, 8, 9, 16}, v)]; told[v] != want {
				t.Errorf("%d was lost in %q", v, told[v])
			}
		}
		if st := run.State().Sources["numbers"]; len(st.Lost) != 0 || st.Epoch != 1 {
			t.Errorf("%+v", st)
		}
	})
}

// One loss more than the run tolerates ends it after the batch; one more than the stage
// tolerates, before.
func TestFillGroupsPolicies(t *testing.T) {
	two := &pipe.Policy{Skip: true, Count: 2}
	for _, own := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			o, c := pipe.FillOpts{Workers: 2}, pipe.Config{Failures: *two}
			if own {
				o.Failures, c.Failures = two, pipe.Policy{}
			}
			f := groupsOf(&spyStore{n: 3}, 12, multipleOf(3), writeUnless(1, 5, 7), o)
			run := start(t, f, c)
			defer run.Close()
			got, err := drain(run)
			stage := (*pipe.StageError)(nil)
			want := map[bool]int{false: 3, true: 2}[own]
			if len(got) != want || !errors.As(err, &stage) || stage.Pos != 7 || stage.Stage != "fill" || !contains(err, "lost 3 of") {
				t.Errorf("own %v: %d batches, %v", own, len(got), err)
			}
			if own {
				return
			}
			rest := start(t, f, pipe.Config{Failures: *two, Resume: run.State()})
			defer rest.Close()
			if got, err := drain(rest); len(got) > 0 || !contains(err, "lost 3 of") {
				t.Errorf("resumed: %v, %v", got, err)
			}
		})
	}
}

// A row that is stuck while the only batch waits for more: the others are written into
// another batch, and so is what had been written.
func TestFillMovesOutOfAStuckBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &spyStore{n: 3}
		free := make(chan struct{})
		op := func(ctx context.Context, v int, b []int, row int) error {
			if v == 1 {
				<-free
			}
			b[row] = v
			return nil
		}
		run := start(t, spyFill(s, 6, op, pipe.FillOpts{Workers: 1, Ordered: true, Limit: time.Second}), pipe.Config{Failures: pipe.Policy{Skip: true, Count: 1}})
		var got [][]int
		for _, b := range collect(t, run) {
			got = append(got, b.rows)
		}
		if fmt.Sprint(got) != "[[0 2 3] [4 5]]" {
			t.Errorf("%v", got)
		}
		busy := (*pipe.BusyError)(nil)
		if err := run.Close(); !errors.As(err, &busy) || busy.Stages[0] != (pipe.BusyStage{Stage: "fill", Operations: 1}) {
			t.Error(err)
		}
		before := strings.Join(s.log, ", ")
		if strings.Contains(before, "drop 0") || strings.Contains(before, "seal 0") {
			t.Errorf("the batch has left while it is written into: %s", before)
		}
		close(free)
		synctest.Wait()
		if log := strings.Join(s.log, ", "); log != before+", drop 0" {
			t.Errorf("then the store saw %s", log)
		}
		if err := run.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A store that has no other batch makes the stage wait for the operation, and no longer.
func TestFillWaitsForAStuckOperation(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			room := make(chan struct{}, 1)
			s := &spyStore{n: 3, reserve: func(ctx context.Context, _ int) error {
				select {
				case room <- struct{}{}:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}}
			op := func(ctx context.Context, v int, b []int, row int) error {
				if v == 1 {
					<-time.After(time.Hour)
				}
				b[row] = v
				return nil
			}
			f := spyFill(s, 3, op, pipe.FillOpts{Workers: 2, Ordered: ordered, Limit: time.Second})
			run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: 1}})
			defer run.Close()
			began := time.Now()
			b, err := run.Next(context.Background())
			if took := time.Since(began); err != nil || took != time.Hour || len(b.rows) != 2 {
				t.Errorf("ordered %v: %v, %v after %v", ordered, b, err, took)
			}
		})
	}
}

// More abandoned operations at a time than workers end the run.
func TestFillTooManyAbandoned(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			e, free := newEvery(1), make(chan struct{})
			op := func(_ context.Context, v int, b *rows, row int) error {
				if v%4 == 1 {
					<-free
				}
				b.set(row, e.Made(v))
				return nil
			}
			f := pipe.Fill(pipe.From("numbers", pipetest.Numbers{N: 40}), 3, newRowStore(e, construct{n: 3}), op, pipe.FillOpts{Name: "fill", Workers: 2, Ordered: ordered, Limit: time.Second})
			run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: -1}})
			all, err := drain(run)
			late := (*pipe.LimitError)(nil)
			if !errors.As(err, &late) || !contains(err, "one more than the stage has workers") {
				t.Error(err)
			}
			for _, b := range all {
				list, _ := rowsOf(t.Context(), b)
				e.list(list)
			}
			run.Close()
			close(free)
			synctest.Wait()
			if err, faults := run.Close(), e.Faults(); err != nil || len(faults) > 0 {
				t.Error(err, faults)
			}
		})
	}
}

// A store that fails when another batch is wanted for the rows beside a stuck one stops
// the run.
func TestFillStoreFailsBesideAStuckRow(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			free := make(chan struct{})
			s := &spyStore{n: 3, reserve: func(_ context.Context, k int) error {
				if k > 0 {
					return errBad
				}
				return nil
			}}
			op := func(_ context.Context, v int, b []int, row int) error {
				if v == 1 {
					<-free
				}
				b[row] = v
				return nil
			}
			run := start(t, spyFill(s, 3, op, pipe.FillOpts{Workers: 2, Ordered: ordered, Limit: time.Second}), pipe.Config{Failures: pipe.Policy{Skip: true, Count: 1}})
			if got, err := drain(run); !errors.Is(err, errBad) || len(got) > 0 {
				t.Errorf("%v, %v", got, err)
			}
			close(free)
			run.Close()
			synctest.Wait()
			if log := strings.Join(s.log, ", "); log != "drop 0" {
				t.Errorf("the store saw %s", log)
			}
		})
	}
}
