package recipe

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var unbatchOp = operation[Unbatch]("unbatch", Between, "Split batches: each row becomes a sample again, with its own key and position.").more(`
Every field needs one row per sample; a list has one value per row.`,
	".batch(64).map(model, workers=1).unbatch().map(encode)")

// Unbatch are the arguments of the operation unbatch, which has none.
type Unbatch struct{}

// checkFailures implements [failing].
func (*Unbatch) checkFailures(f *Failures) error {
	return f.checkOnce("what unbatch has made of a batch is on its way already")
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

// Batched tells whether what comes after these steps are batches.
func Batched(steps []Step) (yes bool) {
	for _, s := range steps {
		if TraitsOf(s.Args).Count == Rows {
			yes = false
		} else if op, ok := findArgs(s.Args); ok && op.Place == Batching {
			yes = true
		}
	}
	return yes
}

// batched is the schema of the batches that a step makes of samples, or rows, of this
// one.
func batched(args Args, rows sample.Schema, several bool) sample.Schema {
	n := tensor.Unknown
	if b := TraitsOf(args).Batches; b.Stacks() {
		switch {
		case b.Collate != nil:
			return rows
		case b.DropLast && b.Size > 0 && !several:
			n = b.Size
		}
	}
	out := make(sample.Schema, len(rows))
	for i, f := range rows {
		out[i] = sample.Field{Name: f.Name, Type: f.Type.Rows(n)}
	}
	return out
}

// Traits implements [traited].
func (*Unbatch) Traits() Traits { return Traits{Count: Rows} }
