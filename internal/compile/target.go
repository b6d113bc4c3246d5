package compile

import (
	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
)

// Target holds the settings and resources of the loader that a plan is compiled for.
type Target struct {
	Env      *core.Env
	Sources  []*source.Listing // of the plan, in its order
	Begins   []*source.Listing // those of them that are in no mix, and mixes that are in none
	Sections []Section         // what makes batches, in the order of the recipe: the plan itself is the last
	Lanes    *Lanes            // of the order that the rank has; nil: it has one line of stages
	Lane     *budget.Lane      // of samples whose batch is on its way
	Policies core.Policies
	Gate     *pipe.Gate // of what computes

	Workers  int // of stages that compute
	Readers  int // of stages that wait
	Prefetch int
	Counts   bool // no more samples are on their way through Python than Prefetch says
	InOrder  bool // batches take samples in input order
	Library  bool // decodes images, where a decoder of Headrace's own could

	Part func(samples int64) order.Split // which of a number of samples are this rank's
}

// Section holds the layout and slots of the batches of a plan.
type Section struct {
	Layout *batch.Layout
	Slots  *batch.Slots
	Rows   int  // of a full batch, or samples
	Groups bool // samples come into batches by what they are
}
