package pipe

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/rows"
)

// A Store is where a Fill's batches live: it reserves room for a batch of n rows, moves
// rows, and seals a batch when its rows are written. Reserve may wait, until ctx ends;
// the others should not. One goroutine at a time is in Reserve, and one in Move or Seal;
// Drop may be called by anyone at any time. Operations write other rows meanwhile.
//
// A batch that was reserved is sealed or dropped, exactly once; one whose Seal returns an
// error is dropped. A sealed batch that nobody takes is dropped too, unless Discard says
// otherwise. An error stops the run.
type Store[B any] interface {
	Reserve(ctx context.Context) (B, error)
	Move(dst B, to int, src B, from int) // copies a row that is written
	Seal(b B, rows int) error            // rows 0 … rows-1 are written, and b is handed on
	Drop(b B)
}

// FillOpts are the settings of a Fill.
type FillOpts struct {
	Name     string        // of the stage; required, and unique in its flow
	Workers  int           // operations at once; 0: 1
	Buffer   int           // batches kept ready beyond those being filled; 0: DefaultBatchBuffer
	Ordered  bool          // batch k holds the survivors k·n … k·n+n-1 of the input; otherwise no batch waits for a slow row of another
	DropLast bool          // leave out the last batch of an epoch when it is not full
	Limit    time.Duration // the time that an operation may take for an item, as with Limit; 0: any
	Gate     *Gate         // a limit on operations at once that is shared with other stages and runs; nil: none
	Failures *Policy       // nil: the run's

	InFlightPerWorker int               // as in Opts
	OnResize          func(workers int) // as in Opts
}

// Fill is Map and Batch in one, without a copy: op writes an item into its row of a batch
// that store has reserved. Every batch has n rows but an epoch's last, and no batch
// crosses an epoch. An op that returns an error, or Skip, leaves a hole; holes are closed
// by other items, so the rows of a batch are known only when it is sealed.
//
// At most Workers operations run at once. Two batches are being filled at a time, or more
// where n is smaller than Workers.
//
// With a Limit, the context of op ends after that time, and an op that does not return
// within a tenth more is abandoned; in both cases the item has failed, with a
// *LimitError. An abandoned op goes on until it returns, and may write into its row. The
// batch with that row is not handed on: its other rows are moved to another one that
// store reserves, and it is dropped when op returns, which may be after Close. A store
// with few batches needs one for each of these besides, and one to move to; while it has
// none, the stage waits for it or for op. When more operations are abandoned at a time
// than Workers, the run stops, whatever the policy.
func Fill[In, B any](in Flow[In], n int, store Store[B], op func(ctx context.Context, in In, b B, row int) error, o FillOpts) Flow[B] {
	return fill(in, n, nil, store, op, nil, o)
}

// FillGroups is Fill for batches that have an end of their own: after every item for
// which last returns true, also if that item is lost or dropped, and at the end of an
// epoch. Their items come in the order of the input, whatever Ordered says. Holes close
// within the batch, and a batch of which all items are lost or dropped is not handed on.
// A batch has at most n rows: n items without an end, and one more, stop the run. There
// is no DropLast.
//
// A batch and what was lost of it are finished together, so that a resumed run makes it
// of the same items again: Hooks.Lost is called when the batch is handed on. Where the
// policy does not tolerate a loss, that batch still comes, unless the policy is the
// stage's own.
//
// Each batch is in one that store has reserved for n rows. At most Workers+1 of these
// are being filled at a time, and no more than two where the batches are as large as
// Workers. last is asked once for each item, in order, by one worker at a time; it should
// be quick. Stages between the one that decides where batches end and this one may not
// lose or drop items, or the end is lost with them.
func FillGroups[In, B any](in Flow[In], n int, last func(In) bool, store Store[B],
	op func(ctx context.Context, in In, b B, row int) error, o FillOpts) Flow[B] {
	o.Ordered = true
	f := fill(in, n, last, store, op, nil, o)
	if last == nil {
		f.node.mistake("its function that tells a batch's last item is nil")
	}
	if o.DropLast {
		f.node.mistake("DropLast is for batches of n, and these have ends of their own")
	}
	return f
}

// FillRuns is Fill for operations that cost little more for several items than for one,
// such as those that workers elsewhere are asked for: several is called with those that
// are there, up to as many as size says, which is asked each time; where there is one, op
// is. While size says more than one, so few operations run at once that items can come
// together: abreast for each of Workers. An item is settled as soon as several calls done
// with its place in the run: once, in its own goroutine. What it has not called done for
// when it returns has failed. A Gate and a Limit are for operations of one item.
func FillRuns[In, B any](in Flow[In], n int, store Store[B], op func(ctx context.Context, in In, b B, row int) error,
	several func(ctx context.Context, run []Row[In, B], done func(i int, err error)), size func() int, o FillOpts) Flow[B] {
	f := fill(in, n, nil, store, op, &runs[In, B]{several, size}, o)
	if several == nil || size == nil {
		f.node.mistake("its function for several items, or that for their number, is nil")
	}
	if o.Gate != nil || o.Limit != 0 {
		f.node.mistake("a Gate and a Limit are for operations of one item")
	}
	return f
}

// A Row is an item, with the row that it is to be written into.
type Row[In, B any] struct {
	Item  In
	Batch B
	Row   int
}

func fill[In, B any](in Flow[In], n int, last func(In) bool, store Store[B], op func(context.Context, In, B, int) error,
	several *runs[In, B], o FillOpts) Flow[B] {
	nd := &node{name: o.Name, kind: kindFill, joins: true, abandons: o.Limit > 0, workers: o.Workers,
		buffer: o.Buffer, ordered: o.Ordered, gate: o.Gate, policy: o.Failures, inFlight: o.InFlightPerWorker,
		onResize: o.OnResize, detail: fmt.Sprint("of ", n), ups: []*node{in.node}}
	if last != nil {
		nd.detail = fmt.Sprint("of up to ", n)
	}
	nd.settle()
	nd.boundBatch(n, "rows")

	if store == nil {
		nd.mistake("its store is nil")
	}
	if op == nil {
		nd.mistake("its function is nil")
	}
	if o.Limit < 0 {
		nd.mistake("Limit is %v", o.Limit)
	}

	write := func(ctx context.Context, in In, to rows.Ref[B]) error { return op(ctx, in, to.Buffer(), to.Row()) }
	f := Flow[B]{node: nd, open: func(open *opening, below *stage) *queue.Ring[B] {
		st := open.newStage(nd, below)
		out := newQueue[B](st, nd.buffer)
		out.Budget = nil // its items are batches, and the policy is about rows
		f := newFiller(st, in.into(open, st), out, n, store, last, o.DropLast)
		f.op = watchedFill(st, f.limit(write, o.Limit), f.in.Discard)
		work := f.work
		if several != nil && st.engine.hooks.Task == nil { // which is told of each item
			f.runs = several
			work = f.workOnRuns
		}
		open.runAll(st, work, f.fit)
		return out
	}}

	if store != nil {
		f.drop = store.Drop
	}
	return f
}

// watchedFill is watched for the operation of a Fill.
func watchedFill[In, B any](s *stage, op func(context.Context, In, rows.Ref[B]) error,
	lose func(In)) func(context.Context, In, rows.Ref[B]) error {
	if s.engine.hooks.Task == nil {
		return op
	}
	return func(ctx context.Context, in In, to rows.Ref[B]) error {
		write := func(ctx context.Context, in In) (B, error) { return to.Buffer(), op(ctx, in, to) }
		_, err := watched(s, write, lose, func(B) {})(ctx, in)
		return err
	}
}
