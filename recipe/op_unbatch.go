package recipe

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace/sample"
)

var unbatchOp = NewOp[Unbatch]("unbatch", Between, "Split batches: each row becomes a sample again, with its own key and position.").Explained(`
Every field needs one row per sample; a list has one value per row.`,
	".batch(64).map(model, workers=1).unbatch().map(encode)")

// Unbatch are the arguments of the operation unbatch, which has none.
type Unbatch struct{}

// CheckFailures implements [Failing].
func (*Unbatch) CheckFailures(f *Failures) error {
	return f.CheckOnce("what unbatch has made of a batch is on its way already")
}

// Check implements [Args].
func (*Unbatch) Check(in sample.Schema) (out sample.Schema, err error) {
	var errs []error
	for _, f := range in {
		row, ok := f.Type.Row()
		if !ok {
			errs = append(errs, fmt.Errorf("cannot take batches apart: the field %q is %v and has no rows; leave it out by a map before", f.Name, f.Type))
		}
		out = append(out, sample.Field{Name: f.Name, Type: row})
	}
	return out, errors.Join(errs...)
}

// Traits implements [Traited].
func (*Unbatch) Traits() Traits { return Traits{Count: Rows} }
