package flow

import (
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Lanes]("lanes", recipe.Between,
	"Say into how many lanes the order is divided, so that global batches depend on no number of ranks.").Explained(`
A lane is a fixed share of the order. Steps that hold or drop samples, such as 'filter', 'pack' or 'merge', do so in each lane apart, and
a global batch has equally many rows of each. It needs a batch with 'global_size', which the number must divide. Samples of one kind,
as of 'bucket_batch', come into batches of their lane, one after the other; there 'size' counts those of a lane. By default there are
as many lanes as divide it, up to 256. Choose the number for the largest number of ranks that will ever train with these batches.`,
	".lanes(64)").Called("count"))

// MostLanes is how many lanes there may be.
const MostLanes = 1 << 16

// Lanes are the arguments of the operation lanes.
type Lanes struct {
	Count int `json:"count,omitempty" required:"true" min:"1" example:"64" doc:"lanes"`
}

// CheckFailures implements [recipe.Failing].
func (*Lanes) CheckFailures(*recipe.Failures) error { return recipe.NoneFail("lanes") }

// Check implements [recipe.Args].
func (l *Lanes) Check(in sample.Schema) (sample.Schema, error) {
	if l.Count < 0 || l.Count > MostLanes {
		return in, recipe.Wrong("count", "is %d: must be from 1 to %d", l.Count, MostLanes)
	}
	return in, checkSome("count", l.Count)
}

// Traits implements [recipe.Traited].
func (l *Lanes) Traits() recipe.Traits { return recipe.Traits{Lanes: l.Count} }
