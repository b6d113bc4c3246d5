package batch

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/sample"
)

// Stacking makes batches in a chain of a merge or route, whose consumers do not take them
// out of slots: each is a record, with its arrays in memory of its own.
type Stacking struct {
	Env      *core.Env
	Rows     int
	DropLast bool
	In       []python.Field  // of the samples
	Out      []record.Column // of the batch, by field of these
	Collate  *python.Listing // that makes a batch instead; nil: arrays are stacked

	try func(context.Context, *record.Record) (struct{}, error) // with all that is done about failures
}

// Bear sets the handling of failures.
func (s *Stacking) Bear(h core.Handling) {
	s.try = s.tryOnce
	if h.Retries > 0 {
		s.try = pipe.Retry(s.try, pipe.Backoff{Times: h.Retries, First: h.Wait, Most: core.MostWait})
	}
}

// Gather returns the aggregator of an epoch, which puts samples together.
func (s *Stacking) Gather() pipe.Aggregator[*record.Record, *record.Record] {
	return &gathering{of: s}
}

// gathering has the samples of the next batch. They wait for others, so they give their
// place among those that wait for bytes to later ones, and do not count as begun.
type gathering struct {
	of   *Stacking
	held []pipe.Held[*record.Record]
}

// Add implements pipe.Aggregator.
func (g *gathering) Add(_ context.Context, v pipe.Held[*record.Record], e *pipe.Emitter[*record.Record, *record.Record]) error {
	it := v.Value
	it.Content.Park()
	it.Working.Park()
	it.Ticket.Leave()
	if g.held = append(g.held, v); len(g.held) == g.of.Rows {
		g.emit(e, (*record.Record).Stand)
	}
	return nil
}

// Flush implements pipe.Aggregator.
func (g *gathering) Flush(_ context.Context, e *pipe.Emitter[*record.Record, *record.Record]) error {
	if len(g.held) > 0 {
		g.emit(e, (*record.Record).StandLast)
	}
	return nil
}

// emit hands on a batch, whose members have their values still.
func (g *gathering) emit(e *pipe.Emitter[*record.Record, *record.Record], stand func(it, after *record.Record)) {
	members := make([]*record.Record, len(g.held))
	for i, h := range g.held {
		members[i] = h.Value
	}
	it := record.Batch(members)
	it.Rowless = g.of.Collate != nil
	stand(it, members[len(members)-1])
	held := g.held
	g.held = nil
	e.Emit(it, held...)
}

// Drop gives back the memory of a batch, and its members: their values may not be in it
// yet.
func (s *Stacking) Drop(it *record.Record) {
	for _, m := range it.Members {
		s.Env.Drop(m)
	}
	s.Env.Drop(it)
}

// Make gives a batch its values, and takes those of its members.
func (s *Stacking) Make(ctx context.Context, it *record.Record) (*record.Record, error) {
	_, err := s.try(ctx, it)
	for _, m := range it.Members {
		s.Env.Drop(m)
	}
	if err == nil {
		return it, nil
	}
	s.Env.Drop(it)
	return nil, err
}

func (s *Stacking) tryOnce(ctx context.Context, it *record.Record) (_ struct{}, err error) {
	defer core.Catch(&err)
	if s.Collate != nil {
		return struct{}{}, s.Collate.Make(ctx, it)
	}
	return struct{}{}, s.stack(ctx, it)
}

// stack copies the members' values into arrays and lists.
func (s *Stacking) stack(ctx context.Context, it *record.Record) (err error) {
	defer func() {
		if err != nil { // the next try asks for memory of its own
			s.Env.Drop(it)
		}
	}()
	size := 0
	for _, f := range s.In {
		size += aligned(len(it.Members) * rowBytes(f))
	}
	if it.Working, err = s.Env.Await(ctx, it, int64(size)); err != nil {
		return err
	}

	// The batch has uses of its own: its members are dropped once it is made.
	for _, m := range it.Members {
		it.Kept = append(it.Kept, m.Kept.Share()...)
	}
	v := s.Env.Blank(it)
	memory := (*v.Borrow(&s.Env.Images, size))[:size]
	for i, f := range s.In {
		to := s.Out[i]
		switch f.Column.Kind {
		case record.Texts, record.Bytes:
			err = s.list(it, f, to)
		default:
			n := rowBytes(f)
			data := memory[: len(it.Members)*n : len(it.Members)*n]
			memory = memory[aligned(len(data)):]
			for k, m := range it.Members {
				copyTo(data[k*n:][:n], m.Values, f.Column)
			}
			v.Arrays[to.At] = record.Array{Shape: f.Type.Rows(len(it.Members)).Shape, Data: data}
		}
		if err != nil {
			return err
		}
	}
	v.Sweep() // a batch without arrays needs no memory
	return nil
}

// rowBytes is the size of a field in one sample; 0: it is no array.
func rowBytes(f python.Field) int {
	if f.Type.Kind != sample.Tensor {
		return 0
	}
	n, _ := f.Type.Shape.Bytes(f.Type.DType) // a layout was made of it
	return int(n)
}

func copyTo(dst []byte, v *record.Values, at record.Column) {
	if at.Kind == record.Images {
		v.Images[at.At].CopyTo(dst)
		return
	}
	copy(dst, v.Data(at))
}

// list gives a batch the texts or objects of its rows.
func (s *Stacking) list(it *record.Record, f python.Field, to record.Column) error {
	rows := make([]string, len(it.Members))
	for i, m := range it.Members {
		if f.Column.Kind == record.Texts {
			rows[i] = m.Values.Texts[f.Column.At]
		} else {
			it.Kept = append(it.Kept, s.Env.Kept(m.Values.Bytes[f.Column.At])...)
			rows[i] = string(m.Values.Bytes[f.Column.At])
		}
	}
	packed, err := record.PackRows(rows)
	if err != nil {
		return fmt.Errorf("%w: in the field %q", err, f.Name)
	}
	if to.Kind == record.Texts {
		it.Values.Texts[to.At] = packed
	} else {
		it.Values.Bytes[to.At] = []byte(packed)
	}
	return nil
}
