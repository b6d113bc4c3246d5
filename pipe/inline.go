package pipe

import "context"

// Stages are generic, so they are compiled in the package that uses them. There the
// compiler inlines what pipe itself has inlined, and nothing else of the packages below.
// This flow of every kind of stage is compiled here, and never runs: without it an item
// costs three calls more on its way out of its source alone.
var _ = func() {
	f := From[int]("", nil)
	f = Map(f, func(context.Context, int) (int, error) { return 0, nil }, Opts{})
	f = MapWith[int, int](f, nil, Opts{})
	f = FlatMap[int, int](f, nil, Opts{})
	f = Merge([]Flow[int]{f}, MergeOpts{})
	f = Route[int, int](f, nil, nil, RouteOpts{})
	f = Aggregate[int, int](f, nil, AggregateOpts{})
	f = Fill[int, int](f, 1, nil, nil, FillOpts{})
	f = FillRuns[int, int](f, 1, nil, nil, nil, nil, FillOpts{})
	b := RouteBatch[int, int](Batch(f, 1, BatchOpts{}), nil, nil, RouteBatchOpts{})
	_, _ = Start(context.Background(), Unbatch(b, UnbatchOpts{}), Config{})
}
