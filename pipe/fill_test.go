package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// writeUnless fails for some values.
func writeUnless(bad ...int) func(context.Context, int, []int, int) error {
	return func(ctx context.Context, v int, b []int, row int) error {
		if slices.Contains(bad, v) {
			return fmt.Errorf("%d is bad", v)
		}
		b[row] = v
		_, err := restless(ctx, v)
		return err
	}
}

// spyStore notes what is asked of it. Its batches are numbered.
type spyStore struct {
	n       int
	next    int
	noting  sync.Mutex // Drop comes at any time
	log     []string
	reserve func(ctx context.Context, k int) error // before batch k is given; may be nil
	seal    func(k int) error                      // may be nil
}

type numbered struct {
	k    int
	rows []int
}

func (s *spyStore) note(format string, args ...any) {
	s.noting.Lock()
	defer s.noting.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *spyStore) Reserve(ctx context.Context) (*numbered, error) {
	k := s.next
	s.next++
	if s.reserve != nil {
		if err := s.reserve(ctx, k); err != nil {
			return nil, err
		}
	}
	return &numbered{k, make([]int, s.n)}, nil
}

func (s *spyStore) Move(dst *numbered, to int, src *numbered, from int) {
	s.note("%d:%d→%d:%d", src.k, from, dst.k, to)
	dst.rows[to] = src.rows[from]
}

func (s *spyStore) Seal(b *numbered, rows int) error {
	s.note("seal %d:%d", b.k, rows)
	b.rows = b.rows[:rows]
	if s.seal != nil {
		return s.seal(b.k)
	}
	return nil
}

func (s *spyStore) Drop(b *numbered) { s.note("drop %d", b.k) }

func spyFill(s *spyStore, items int, op func(context.Context, int, []int, int) error, o pipe.FillOpts) pipe.Flow[*numbered] {
	o.Name = "fill"
	return pipe.Fill(pipe.From("numbers", pipetest.Numbers{N: items}), s.n, s, func(ctx context.Context, v int, b *numbered, row int) error {
		return op(ctx, v, b.rows, row)
	}, o)
}

// A loss that is known before the next batch is begun costs only the moves around it: the
// batch after takes just the missing row, and later batches are written where they
// belong.
func TestFillMovesOnlyAroundALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &spyStore{n: 4}
		f := spyFill(s, 17, writeUnless(1), pipe.FillOpts{Workers: 1, Ordered: true})
		run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: 1}})
		var got [][]int
		for _, b := range collect(t, run) {
			got = append(got, b.rows)
		}
		run.Close()
		if want := [][]int{{0, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}, {13, 14, 15, 16}}; !reflect.DeepEqual(got, want) {
			t.Errorf("%v", got)
		}
		// One worker has nothing under way when rows run out, so they close up in place,
		// and the last row is free again.
		if log := strings.Join(s.log, ", "); !strings.HasPrefix(log, "0:2→0:1, 0:3→0:2, seal 0:4, seal 1:4") {
			t.Errorf("the store saw %s", log)
		}
		if moved := run.Stats().Stages[1].Moved; moved != 2 {
			t.Errorf("%d rows moved", moved)
		}
	})
}

// While a row of the first batch is still being written, the batch after takes just the
// rows that the first is known to lack.
func TestFillReservesAShortBatchAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &spyStore{n: 4}
		op := func(ctx context.Context, v int, b []int, row int) error {
			b[row] = v
			if v == 1 {
				return errors.New("one is bad")
			}
			if v == 0 {
				return pipetest.Sleep(ctx, time.Second)
			}
			return nil
		}
		f := spyFill(s, 13, op, pipe.FillOpts{Workers: 2, Ordered: true})
		run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: 1}})
		var got [][]int
		for _, b := range collect(t, run) {
			got = append(got, b.rows)
		}
		run.Close()
		if want := [][]int{{0, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}}; !reflect.DeepEqual(got, want) {
			t.Errorf("%v", got)
		}
		if log := strings.Join(s.log, ", "); !strings.HasPrefix(log, "0:2→0:1, 0:3→0:2, 1:0→0:3, seal 0:4, ") || strings.Count(log, "→") != 3 {
			t.Errorf("the store saw %s", log)
		}
	})
}

// A batch with a slow row holds up the others in input order, and does not in completion
// order.
func TestFillInCompletionOrderOvertakes(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			op := func(ctx context.Context, v int, b []int, row int) error {
				b[row] = v
				if v == 1 {
					return pipetest.Sleep(ctx, time.Second)
				}
				return nil
			}
			s := &spyStore{n: 4}
			run := start(t, spyFill(s, 12, op, pipe.FillOpts{Workers: 2, Ordered: ordered}), pipe.Config{})
			defer run.Close()
			began := time.Now()
			if _, err := run.Next(context.Background()); err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(began) > 0; waited != ordered {
				t.Errorf("ordered %v: waited %v", ordered, waited)
			}
		})
	}
}

// Reserve may wait: meanwhile rows of batches that are there are written, and Close
// cancels it.
func TestFillReserveMayBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled := false
		s := &spyStore{n: 4, reserve: func(ctx context.Context, k int) error {
			if k == 1 {
				<-ctx.Done()
				cancelled = true
				return ctx.Err()
			}
			return nil
		}}
		var gauge pipetest.Gauge
		op := func(ctx context.Context, v int, b []int, row int) error {
			defer gauge.Enter()()
			b[row] = v
			return pipetest.Sleep(ctx, time.Duration(v)*time.Second)
		}
		run := start(t, spyFill(s, 100, op, pipe.FillOpts{Workers: 4, Ordered: true}), pipe.Config{})
		b, err := run.Next(context.Background())
		if err != nil || !slices.Equal(b.rows, upTo(4)) {
			t.Errorf("%v, %v", b, err)
		}
		synctest.Wait()
		run.Close()
		if !cancelled || gauge.Now() != 0 {
			t.Errorf("Reserve was cancelled: %v; %d operations run", cancelled, gauge.Now())
		}
		if log := strings.Join(s.log, ", "); log != "seal 0:4" {
			t.Errorf("the store saw %s", log)
		}
	})
}

func TestFillStoreErrors(t *testing.T) {
	broken := errors.New("out of memory")
	for _, ordered := range []bool{false, true} {
		for name, s := range map[string]*spyStore{
			"reserve": {n: 4, reserve: func(_ context.Context, k int) error {
				if k == 1 {
					return broken
				}
				return nil
			}},
			"seal": {n: 4, seal: func(k int) error {
				if k == 1 {
					return broken
				}
				return nil
			}},
			"panic": {n: 4, seal: func(k int) error {
				if k == 1 {
					panic(broken)
				}
				return nil
			}},
		} {
			t.Run(fmt.Sprint(name, " ordered ", ordered), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					run := start(t, spyFill(s, 12, writeUnless(), pipe.FillOpts{Workers: 3, Ordered: ordered}), pipe.Config{})
					defer run.Close()
					var err error
					batches := 0
					for _, err = range run.All() {
						if err == nil {
							batches++
						}
					}
					stage := (*pipe.StageError)(nil)
					if !errors.Is(err, broken) || !errors.As(err, &stage) || stage.Stage != "fill" || batches > 1 || ordered && batches != 1 {
						t.Errorf("after %d batches: %v", batches, err)
					}
				})
			})
		}
	}
}
