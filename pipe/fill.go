package pipe

import (
	"context"
	"fmt"
)

// A Store is where a Fill's batches live: it reserves room for a batch of n rows, moves rows, and seals a batch when its rows
// are written. Reserve may wait, until ctx ends; the others should not. One goroutine at a time is in Reserve, and one in Move
// or Seal; Drop may be called by anyone at any time. Operations write other rows meanwhile.
//
// A batch that was reserved is sealed or dropped, exactly once; one whose Seal returns an error is dropped. A sealed batch that
// nobody takes is dropped too, unless Discard says otherwise. An error stops the run.
type Store[B any] interface {
	Reserve(ctx context.Context) (B, error)
	Move(dst B, to int, src B, from int) // copies a row that is written
	Seal(b B, rows int) error            // rows 0 … rows-1 are written, and b is handed on
	Drop(b B)
}

// FillOpts are the settings of a Fill.
type FillOpts struct {
	Name     string  // of the stage; required, and unique in its flow
	Workers  int     // operations at once; 0: 1
	Buffer   int     // batches kept ready beyond those being filled; 0: DefaultBuffer
	Ordered  bool    // batch k holds the survivors k·n … k·n+n-1 of the input; otherwise no batch waits for a slow row of another
	DropLast bool    // leave out the last batch of an epoch when it is not full
	Gate     *Gate   // a limit on operations at once that is shared with other stages and runs; nil: none
	Failures *Policy // nil: the run's
}

// Fill is Map and Batch in one, without a copy: op writes an item into its row of a batch that store has reserved. Every batch
// has n rows but an epoch's last, and no batch crosses an epoch. An op that returns an error, or Skip, leaves a hole;
// holes are closed by other items, so the rows of a batch are known only when it is sealed.
//
// At most Workers operations run at once. Two batches are being filled at a time, or more where n is smaller than Workers.
func Fill[In, B any](in Flow[In], n int, store Store[B], op func(ctx context.Context, in In, b B, row int) error, o FillOpts) Flow[B] {
	nd := &node{name: o.Name, kind: kindFill, workers: o.Workers, buffer: o.Buffer, ordered: o.Ordered, gate: o.Gate, policy: o.Failures, detail: fmt.Sprint("of ", n), ups: []*node{in.node}}
	nd.settle()
	if n < 1 {
		nd.mistake("batches of %d rows", n)
	}
	if store == nil {
		nd.mistake("its store is nil")
	}
	if op == nil {
		nd.mistake("its function is nil")
	}
	f := Flow[B]{node: nd, open: func(open *opening, below *stage) *ring[B] {
		st := open.newStage(nd, below)
		out := newRing[B](st, nd.buffer)
		out.judge = nil // its items are batches, and the policy is about rows
		f := newFiller(st, in.into(open, st), out, n, store, op, o.DropLast)
		f.op = watchedFill(st, op, f.in.discard)
		for range st.node.workers {
			open.run(st, f.work)
		}
		return out
	}}
	if store != nil {
		f.drop = store.Drop
	}
	return f
}
