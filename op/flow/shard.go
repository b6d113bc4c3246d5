package flow

import (
	"errors"

	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Shard]("shard", recipe.Ordering, "Use every n-th sample: one of n equal parts.").Explained(`
'shard(0, n)' to 'shard(n - 1, n)' are all samples together, and their sizes differ by at most one. For the ranks of a
training you do not need it: 'loader(rank=, world_size=)' divides each epoch.`,
	".shard(0, 4)").Called("index, count"))

// Shard are the arguments of the operation shard.
type Shard struct {
	Index *int64 `json:"index,omitempty" required:"true" min:"0" example:"0" doc:"which part, from 0"`
	Count *int64 `json:"count,omitempty" required:"true" min:"1" example:"4" doc:"how many parts there are"`
}

// Check implements [recipe.Args].
func (s *Shard) Check(in sample.Schema) (sample.Schema, error) {
	if err := errors.Join(checkFrom("index", s.Index, 0), checkFrom("count", s.Count, 1)); err != nil {
		return in, err
	}
	if *s.Index >= *s.Count {
		return in, recipe.Wrong("index", "is %d of %d parts: must be from 0 to %d", *s.Index, *s.Count, *s.Count-1)
	}
	return in, nil
}

// Traits implements [recipe.Traited].
func (*Shard) Traits() recipe.Traits { return recipe.Traits{Selects: true} }

// Order implements [source.Orderer].
func (s *Shard) Order(l *source.Listing, o fuse.Order) error {
	return slice(l, o, order.Range{Start: s.Index, Step: *s.Count})
}
