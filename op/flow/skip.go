package flow

import (
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Skip]("skip", recipe.Ordering, "Leave out the first samples.").Explained(`
What 'take(n)' uses, 'skip(n)' leaves out, before and after 'shuffle'. It does not resume a run: a state does, see
'Loader.load_state_dict'.`,
	".skip(1000)"))

// Skip are the arguments of the operation skip.
type Skip struct {
	N *int64 `json:"n,omitempty" required:"true" min:"0" example:"1000" doc:"how many are left out of an epoch, of all ranks together"`
}

// Check implements [recipe.Args].
func (s *Skip) Check(in sample.Schema) (sample.Schema, error) { return in, checkFrom("n", s.N, 0) }

// Traits implements [recipe.Traited].
func (*Skip) Traits() recipe.Traits { return recipe.Traits{Selects: true} }

// Order implements [source.Orderer].
func (s *Skip) Order(l *source.Listing, o fuse.Order) error {
	return slice(l, o, order.Range{Start: s.N, Step: 1})
}
