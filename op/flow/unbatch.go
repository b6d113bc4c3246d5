package flow

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Unbatch]("unbatch", recipe.Between,
	"Split batches: each row becomes a sample again, with its own key and position.").Explained(`
Every field needs one row per sample; a list has one value per row.`,
	".batch(64).map(model, workers=1).unbatch().map(encode)"))

// Unbatch are the arguments of the operation unbatch, which has none.
type Unbatch struct{}

// CheckFailures implements [recipe.Failing].
func (*Unbatch) CheckFailures(f *recipe.Failures) error {
	return f.CheckOnce("what unbatch has made of a batch is on its way already")
}

// Check implements [recipe.Args].
func (*Unbatch) Check(in sample.Schema) (out sample.Schema, err error) {
	var errs []error
	for _, f := range in {
		row, ok := f.Type.Row()
		if !ok {
			errs = append(errs, fmt.Errorf("cannot take batches apart: the field %q is %v and has no rows; "+
				"leave it out by a map before", f.Name, f.Type))
		}
		out = append(out, sample.Field{Name: f.Name, Type: row})
	}
	return out, errors.Join(errs...)
}

// Traits implements [recipe.Traited].
func (*Unbatch) Traits() recipe.Traits { return recipe.Traits{Count: recipe.Rows} }
