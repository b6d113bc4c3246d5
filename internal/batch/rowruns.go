package batch

import (
	"context"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/pipe"
)

// row is a sample with its row, as the engine says it.
type row = pipe.Row[*record.Record, *Batch]

// Together reports whether several samples may be written at once, by calls of a Python
// function that travel together.
func (e *Writer) Together() bool {
	calls := e.Function != nil && e.Function.Land == nil // a landing function waits for its row
	oneStep := e.Last == nil && e.Grouping == nil        // nothing follows the function
	secondTry := e.retries || e.Replaces                 // a failed sample is filled again, alone
	return calls && oneStep && !secondTry
}

// FillAll is Fill for several samples. It says of each when it is done.
func (e *Writer) FillAll(ctx context.Context, rows []row, done func(i int, err error)) {
	var calls []*extern.Call
	var of []int // the row of each call
	end := func(i int, err error) {
		if err != nil {
			err = core.Blame(rows[i].Item, err)
		}
		e.Env.Drop(rows[i].Item)
		done(i, err)
	}

	for i, r := range rows {
		if c, err := e.begin(ctx, r); err != nil {
			end(i, err)
		} else {
			calls, of = append(calls, c), append(of, i)
		}
	}
	e.Function.AskAll(ctx, calls, func(k int, err error) {
		i := of[k]
		if err == nil {
			err = e.end(ctx, calls[k], rows[i])
		}
		e.Function.Done(calls[k])
		end(i, err)
	})
}

func (e *Writer) begin(ctx context.Context, r row) (_ *extern.Call, err error) {
	defer core.Catch(&err)
	return e.Function.call(ctx, r.Item, r.Batch, r.Row)
}

func (e *Writer) end(ctx context.Context, c *extern.Call, r row) (err error) {
	defer core.Catch(&err)
	if err := e.Function.take(ctx, c, r.Batch, r.Row); err != nil {
		return err
	}
	return e.finish(rowRef{r.Item, r.Batch, r.Row})
}
