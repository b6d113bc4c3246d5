package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"headrace/internal/tier"
	"headrace/pipe"
	"headrace/pipe/pipetest"
)

// A purse counts what was made, what was handed on, and what was disposed of, each thing
// by its number.
type purse struct {
	pipetest.Owner[int]
	mu   sync.Mutex
	last int
	bad  func() error // what operations fail with; nil: errBad
}

func (p *purse) fail() error {
	if p.bad == nil {
		return errBad
	}
	return p.bad()
}

// coin makes a new thing.
func (p *purse) coin() int {
	p.mu.Lock()
	p.last++
	v := p.last
	p.mu.Unlock()
	return p.Made(v)
}

func (p *purse) source() pipe.Flow[int] {
	return pipe.Discard(pipe.From("numbers", pipetest.Numbers{N: 30, Value: func(int, int64) int { return p.coin() }}), p.Gone)
}

// verbs are flows with each verb, whose operations end what they are given, whatever
// becomes of it, and make new things.
func (p *purse) verbs(bad int, ordered bool) map[string]pipe.Flow[int] {
	o := func(name string) pipe.Opts { return pipe.Opts{Name: name, Workers: 3, Ordered: ordered} }
	pause := func(ctx context.Context, v int) error {
		if v%10 == bad {
			return p.fail()
		}
		return pipetest.Sleep(ctx, time.Duration(v*31%4)*time.Millisecond)
	}
	op := func(ctx context.Context, v int) (int, error) {
		defer p.Gone(v)
		if err := pause(ctx, v); err != nil {
			return 0, err
		}
		return p.coin(), nil
	}
	look := func(ctx context.Context, v int) error { return pause(ctx, v) } // takes nothing
	batch := func(f pipe.Flow[int]) pipe.Flow[[]int] { return pipe.Batch(f, 4, pipe.BatchOpts{Name: "batch"}) }
	flat := func(f pipe.Flow[[]int]) pipe.Flow[int] { return pipe.Unbatch(f, pipe.UnbatchOpts{Name: "flat"}) }
	many := func(ctx context.Context, v int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			defer p.Gone(v)
			for range v % 4 {
				if err := pause(ctx, v); err != nil {
					yield(0, err)
					return
				}
				if !yield(p.coin(), nil) {
					return
				}
			}
		}
	}
	owned := func(f pipe.Flow[int]) pipe.Flow[int] { return pipe.Discard(f, p.Gone) }
	filled := func(f pipe.Flow[*rows]) pipe.Flow[int] {
		lists := pipe.Discard(pipe.Map(f, rowsOf, pipe.Opts{Name: "rows"}), func(all []int) {
			for _, v := range all {
				p.Gone(v)
			}
		})
		return flat(lists)
	}
	write := func(ctx context.Context, v int, b *rows, row int) error {
		out, err := op(ctx, v)
		if err == nil {
			b.all[row] = out
		}
		return err
	}
	others := func() pipe.Flow[int] {
		return pipe.Discard(pipe.From("others", pipetest.Numbers{N: 20, Value: func(int, int64) int { return p.coin() }}), p.Gone)
	}
	merged := func(mo pipe.MergeOpts) pipe.Flow[int] {
		mo.Name = "merge"
		return pipe.Merge([]pipe.Flow[int]{p.source(), others()}, mo)
	}
	pick := func(ctx context.Context, v int) (int, error) { return v % 2, look(ctx, v) }
	branch := func(k int) func(pipe.Flow[int]) pipe.Flow[int] {
		return func(f pipe.Flow[int]) pipe.Flow[int] {
			return owned(pipe.Map(f, op, pipe.Opts{Name: fmt.Sprint("branch ", k), Workers: 2, Ordered: true}))
		}
	}
	same := func(f pipe.Flow[[]int]) pipe.Flow[[]int] { return f }
	store := newRowStore(newEvery(1), construct{n: 4})
	drops := purseStore{store, p}
	return map[string]pipe.Flow[int]{
		"map":                owned(pipe.Map(p.source(), op, o("map"))),
		"with":               owned(pipe.MapWith(p.source(), func(context.Context) (func(context.Context, int) (int, error), func(), error) { return op, nil, nil }, o("with"))),
		"limited":            owned(pipe.Map(p.source(), pipe.Limit(op, time.Minute, p.Gone), o("map"))),
		"filter":             pipe.Filter(p.source(), func(ctx context.Context, v int) (bool, error) { return v%3 > 0, look(ctx, v) }, o("filter")),
		"flatmap":            owned(pipe.FlatMap(p.source(), many, o("many"))),
		"batch":              flat(batch(p.source())),
		"batches of batches": flat(pipe.Unbatch(pipe.Batch(batch(p.source()), 2, pipe.BatchOpts{Name: "outer"}), pipe.UnbatchOpts{Name: "outer flat"})),
		"drop last":          flat(pipe.Batch(p.source(), 7, pipe.BatchOpts{Name: "batch", DropLast: true})),
		"then map":           owned(pipe.Map(flat(batch(p.source())), op, o("map"))),
		"aggregate": flat(pipe.Discard(pipe.Aggregate(p.source(), func() pipe.Aggregator[int, []int] { return &refuses{pairs{n: 4}, bad, p} }, pipe.AggregateOpts{Name: "aggregate"}), func(all []int) {
			for _, v := range all {
				p.Gone(v)
			}
		})),
		"outputs":         owned(pipe.Aggregate(p.source(), func() pipe.Aggregator[int, int] { return &opener{pairs{n: 4}} }, pipe.AggregateOpts{Name: "opener"})),
		"fill":            filled(pipe.Fill(p.source(), 4, drops, write, pipe.FillOpts{Name: "fill", Workers: 3, Ordered: ordered})),
		"fill groups":     filled(pipe.FillGroups(p.source(), 4, multipleOf(4), drops, write, pipe.FillOpts{Name: "fill", Workers: 3})),
		"merge":           merged(pipe.MergeOpts{}),
		"merge by weight": merged(pipe.MergeOpts{Order: pipe.ByWeight, Weights: []float64{1, 2}}),
		"merge by pick": merged(pipe.MergeOpts{Order: pipe.ByPick, Pick: func(_ int, turn int64) int {
			if turn > 20 {
				return -1
			}
			return int(turn % 2)
		}}),
		"shortest":    merged(pipe.MergeOpts{Until: pipe.Shortest}),
		"route":       pipe.Route(p.source(), pick, branches{branch(0), branch(1)}, pipe.RouteOpts{Name: "route", Ordered: ordered}),
		"route batch": flat(pipe.RouteBatch(batch(p.source()), pick, batchBranches{same, same}, pipe.RouteBatchOpts{Name: "route"})),
	}
}

// purseStore is a store whose rows are things of a purse.
type purseStore struct {
	*rowStore
	purse *purse
}

func (s purseStore) Drop(b *rows) {
	for _, v := range b.all {
		if v >= 0 {
			s.purse.Gone(v)
		}
	}
}

// refuses is an aggregator that fails for some things, which stay the stage's.
type refuses struct {
	pairs
	bad   int
	purse *purse
}

func (r *refuses) Add(ctx context.Context, v pipe.Held[int], e *pipe.Emitter[int, []int]) error {
	if v.Value%10 == r.bad {
		return r.purse.fail()
	}
	return r.pairs.Add(ctx, v, e)
}

// Whatever is made is handed on or disposed of, once: with every verb, closed or
// cancelled at any item, after a failure, and where failures are tolerated.
func TestWhatIsMadeIsHandedOnOrDisposedOf(t *testing.T) {
	for name := range new(purse).verbs(-1, true) {
		t.Run(name, func(t *testing.T) {
			for run := 0; run < 96; run += tier.Cases(5, 1) {
				ordered, cancel, bad, read := run%2 == 0, run/2%2 == 0, []int{-1, 7}[run/4%2], run/8
				policy := pipe.Policy{}
				if run/8%2 == 0 {
					policy = pipe.Policy{Skip: true, Count: -1}
				}
				if read == 11 {
					read = 1000
				}
				synctest.Test(t, func(t *testing.T) {
					var p purse
					ctx, stop := context.WithCancel(context.Background())
					defer stop()
					r, err := pipe.Start(ctx, p.verbs(bad, ordered)[name], pipe.Config{Failures: policy, Epochs: 2})
					if err != nil {
						t.Fatal(err)
					}
					for range read {
						v, err := r.Next(context.Background())
						if stage := (*pipe.StageError)(nil); errors.As(err, &stage) || err == pipe.ErrDone {
							break
						}
						if err == nil {
							p.Gone(v)
						}
					}
					if run%3 == 0 {
						synctest.Wait() // all queues are full
					}
					if cancel {
						stop()
					}
					r.Close()
					if faults := p.Faults(); len(faults) > 0 {
						slices.Sort(faults)
						t.Errorf("ordered %v, cancel %v, bad %d, %v, after %d: %v", ordered, cancel, bad, policy, read, faults)
					}
				})
			}
		})
	}
}
