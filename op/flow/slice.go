package flow

import (
	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Slice]("slice", recipe.Ordering, "Use a range of the samples, as Python's slices do.").Explained(`
'pipeline[a:b:c]' is the same as 'pipeline.slice(a, b, c)'. Before 'shuffle' it is a range of the samples in the order
of their names, or of your list; after 'shuffle', of each epoch's order.`,
	".slice(-1000)", ".slice(0, 5000, 10)").Called("start, stop, step"))

// Slice are the arguments of the operation slice.
type Slice struct {
	Start *int64 `json:"start,omitempty" example:"1000" doc:"the first sample, from 0; below 0 it counts from the end"`
	Stop  *int64 `json:"stop,omitempty" example:"2000" doc:"the one after the last; below 0 it counts from the end; by default the end"`
	Step  *int64 `json:"step,omitempty" default:"1" min:"1" doc:"use every step-th of them"`
}

// Check implements [recipe.Args].
func (s *Slice) Check(in sample.Schema) (sample.Schema, error) {
	if step := argument.OrElse(s.Step, 1); step < 1 {
		return in, recipe.Wrong("step", "is %d: must be at least 1; samples can be left out here, and not turned around", step)
	}
	return in, nil
}

// Traits implements [recipe.Traited].
func (*Slice) Traits() recipe.Traits { return recipe.Traits{Selects: true} }

// Order implements [source.Orderer].
func (s *Slice) Order(l *source.Listing, o fuse.Order) error {
	return slice(l, o, order.Range{Start: s.Start, Stop: s.Stop, Step: argument.OrElse(s.Step, 1)})
}
