package flow

import (
	"fmt"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Take]("take", recipe.Ordering, "Use only the first samples.").Explained(`
Before 'shuffle' these are the same in each epoch: the first by name, or of your list. After 'shuffle' they are the
first of each epoch's order, so other samples in each epoch. If there are fewer, all come.`,
	".take(1000)"))

// Take are the arguments of the operation take.
type Take struct {
	N *int64 `json:"n,omitempty" required:"true" min:"1" example:"1000" doc:"how many samples come in an epoch, of all ranks together"`
}

// Check implements [recipe.Args].
func (t *Take) Check(in sample.Schema) (sample.Schema, error) {
	return in, checkFrom("n", t.N, 1)
}

// checkFrom asks for a number that must be given, of at least so many.
func checkFrom(name string, n *int64, least int64) error {
	if n != nil && *n < least {
		return recipe.Wrong(name, "is %d: must be at least %d", *n, least)
	}
	return argument.Given(name, n != nil)
}

// Traits implements [recipe.Traited].
func (*Take) Traits() recipe.Traits { return recipe.Traits{Selects: true} }

// Order implements [source.Orderer].
func (t *Take) Order(l *source.Listing, o fuse.Order) error {
	return slice(l, o, order.Range{Stop: t.N, Step: 1})
}

// slice has a range of samples come, and refuses one that leaves none.
func slice(l *source.Listing, o fuse.Order, r order.Range) error {
	before := l.Drawn()
	l.Slice(o.Name, r)
	if l.Drawn() == 0 && before > 0 {
		return fmt.Errorf("%w: %s leaves no sample of %q, which has %d there: an epoch needs at least one",
			core.ErrConfig, recipe.Step{Op: opOf(o.Args), Name: o.Name, Args: o.Args}.Text(), l.Name, before)
	}
	return nil
}

func opOf(args recipe.Args) string {
	op, _ := recipe.FindArgs(args)
	return op.Name
}
