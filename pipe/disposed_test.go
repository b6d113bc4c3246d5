package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// What a stage has in hand when it cannot hand it on is disposed of, once. Each of these
// ends there: at a run that is closed, at a failure, at a mistake of the caller's.
func TestWhatAStageHasInHandIsDisposedOf(t *testing.T) {
	asIs := func(f pipe.Flow[int]) pipe.Flow[int] { return f }
	listsAsTheyAre := func(f pipe.Flow[[]int]) pipe.Flow[[]int] { return f }
	tooMany := &pipe.Policy{Skip: true, Rate: 0.1, After: 2} // one of two is, and the second tells
	const (
		closed = iota
		failed
		through
	)

	for name, c := range map[string]struct {
		ends int
		flow func(in pipe.Flow[int], owner *pipetest.Owner[int]) pipe.Flow[int]
	}{
		"inputs whose sequences have not begun": {closed, func(in pipe.Flow[int], owner *pipetest.Owner[int]) pipe.Flow[int] {
			endless := func(_ context.Context, v int) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) {
					for yield(v, nil) {
						owner.Made(v)
					}
				}
			}
			return pipe.FlatMap(in, endless, pipe.Opts{Name: "stage", InFlightPerWorker: 4, Buffer: 1, Ordered: true})
		}},
		"the item that no aggregator was there for": {failed, func(in pipe.Flow[int], _ *pipetest.Owner[int]) pipe.Flow[int] {
			return pipe.Aggregate(in, func() pipe.Aggregator[int, int] { panic(errBad) }, pipe.AggregateOpts{Name: "stage"})
		}},
		"an output of items that are not held": {failed, func(in pipe.Flow[int], owner *pipetest.Owner[int]) pipe.Flow[int] {
			return pipe.Aggregate(in, func() pipe.Aggregator[int, int] { return emitsTwice{owner} }, pipe.AggregateOpts{Name: "stage"})
		}},
		"the item that shows that too many were lost": {failed, func(in pipe.Flow[int], _ *pipetest.Owner[int]) pipe.Flow[int] {
			pick := func(_ context.Context, v int) (int, error) {
				if v == 0 {
					return 0, errBad
				}
				return 0, nil
			}
			return pipe.Route(in, pick, branches{asIs}, pipe.RouteOpts{Name: "stage", Failures: tooMany})
		}},
		"the batch that shows it, and elements that were dropped": {failed, func(in pipe.Flow[int], _ *pipetest.Owner[int]) pipe.Flow[int] {
			pick := func(_ context.Context, v int) (int, error) {
				switch v {
				case 0:
					return 0, errBad
				case 4:
					return 0, pipe.Skip
				}
				return 0, nil
			}
			b := pipe.Batch(in, 3, pipe.BatchOpts{Name: "batch"})
			return pipe.Unbatch(pipe.RouteBatch(b, pick, batchBranches{listsAsTheyAre}, pipe.RouteBatchOpts{Name: "stage", Failures: tooMany}), pipe.UnbatchOpts{Name: "unbatch"})
		}},
		"elements that were dropped": {through, func(in pipe.Flow[int], _ *pipetest.Owner[int]) pipe.Flow[int] {
			pick := func(_ context.Context, v int) (int, error) {
				if v%3 != 0 {
					return 0, pipe.Skip
				}
				return 0, nil
			}
			b := pipe.Batch(in, 4, pipe.BatchOpts{Name: "batch"})
			return pipe.Unbatch(pipe.RouteBatch(b, pick, batchBranches{listsAsTheyAre}, pipe.RouteBatchOpts{Name: "stage"}), pipe.UnbatchOpts{Name: "unbatch"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var owner pipetest.Owner[int]
				in := pipe.Discard(pipe.From("numbers", pipetest.Numbers{N: 20, Pulled: func(_ int, pos int64) { owner.Made(int(pos)) }}), owner.Gone)
				run := start(t, pipe.Discard(c.flow(in, &owner), owner.Gone), pipe.Config{})
				synctest.Wait()

				var end error
				for c.ends != closed && end == nil {
					var v int
					if v, end = run.Next(context.Background()); end == nil {
						owner.Gone(v)
					}
				}
				run.Close()

				stage := (*pipe.StageError)(nil)
				if c.ends == through && end != io.EOF || c.ends == failed && (!errors.As(end, &stage) || stage.Stage != "stage") {
					t.Errorf("the end: %v", end)
				}
				if faults := owner.Faults(); len(faults) > 0 {
					t.Error(faults)
				}
			})
		})
	}
}

// emitsTwice emits each item, and then something else of it, which is a mistake.
type emitsTwice struct{ owner *pipetest.Owner[int] }

func (a emitsTwice) Add(_ context.Context, v pipe.Held[int], out *pipe.Emitter[int, int]) error {
	out.Emit(v.Value, v)
	out.Emit(a.owner.Made(100+v.Value), v)
	return nil
}

func (emitsTwice) Flush(context.Context, *pipe.Emitter[int, int]) error {
	return fmt.Errorf("no item was added")
}
