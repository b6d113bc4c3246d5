package batch

import (
	"context"
	"iter"
	"slices"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/tensor"
)

// Cutter makes samples of parts of a sample's sequences, which are equally long. Their
// other values are those of the sample.
type Cutter struct {
	Env       *core.Env
	Sequences []Sequence
	Others    []record.Column
	Limit     int // of a part that Expand makes
}

// Head returns another sample, of the first n elements: for the end of a row, while the
// rest is still held. Losses are told of the rest.
func (c *Cutter) Head(it *record.Record, n int) *record.Record {
	head := c.part(it, 0, n)
	head.Made, head.ID, head.Draws, head.Members, head.Rowless = it.Made, it.ID, it.Draws, it.Members, it.Rowless
	head.Replaced, head.Span = nil, it.Span
	return head
}

// Expand yields a sample, or its parts if it is longer than a row, each an output of its
// own.
func (c *Cutter) Expand(ctx context.Context, it *record.Record) iter.Seq2[*record.Record, error] {
	return func(yield func(*record.Record, error) bool) {
		n := c.length(it)
		if n <= c.Limit {
			yield(it, nil)
			return
		}
		defer c.Env.Drop(it)
		for i := range (n + c.Limit - 1) / c.Limit {
			child := c.nth(it, i, n)
			if err := c.Env.Admit(ctx, child); err != nil {
				yield(nil, core.Blame(it, err))
				return
			}
			if !yield(child, nil) {
				return
			}
		}
	}
}

// Again takes a sample on its way by itself: it goes on as one of its parts, the last
// if it has fewer than the one that it replaces.
func (c *Cutter) Again(ctx context.Context, it *record.Record) (*record.Record, error) {
	n := c.length(it)
	if n <= c.Limit {
		return it, nil
	}
	defer c.Env.Drop(it)
	which := 0
	if depth := len(it.Made); depth < len(it.Wanted) {
		which = int(it.Wanted[depth])
	}
	last := (n - 1) / c.Limit
	if which > last && it.Replaced == nil {
		return nil, pipe.Skip
	}
	child := c.nth(it, min(which, last), n)
	return child, c.Env.Admit(ctx, child)
}

func (c *Cutter) nth(it *record.Record, i, n int) *record.Record {
	child := c.part(it, i*c.Limit, min((i+1)*c.Limit, n))
	child.Wanted, child.Draws = it.Wanted, slices.Clone(it.Draws)
	child.SetOutput(it.Made, int64(i))
	return child
}

// length returns the length of the sequences; 0: they have several, which others report.
func (c *Cutter) length(it *record.Record) int {
	n := it.Values.Arrays[c.Sequences[0].Place.At].Shape[0]
	for _, s := range c.Sequences[1:] {
		if it.Values.Arrays[s.Place.At].Shape[0] != n {
			return 0
		}
	}
	return n
}

func (c *Cutter) part(it *record.Record, from, to int) *record.Record {
	child := it.Again()
	v := c.Env.Blank(child)
	for _, s := range c.Sequences {
		a := it.Values.Arrays[s.Place.At]
		size := len(a.Data) / a.Shape[0]
		v.Arrays[s.Place.At] = record.Array{
			Shape: append(tensor.Shape{to - from}, a.Shape[1:]...), Data: c.Env.Copied(v, a.Data[from*size:to*size]),
		}
	}
	for _, at := range c.Others {
		c.Env.Copy(v, at, it.Values, at)
	}
	return child
}
