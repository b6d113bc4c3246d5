package column

import (
	"fmt"
	"math"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[Log1p]("log1p", recipe.Between, "Take the logarithm of 1 + v, for counts and prices.").Explained(`
Computed as 'float64', and rounded to the dtype of the field; whole numbers become 'float32'. NaN stays NaN; a number of -1 or less is a bad
sample.`,
	`.clip("clicks", min=0).log1p("clicks")`))

// Log1p are the arguments of the operation log1p.
type Log1p struct{ On }

// Check implements [recipe.Args].
func (l *Log1p) Check(in sample.Schema) (sample.Schema, error) { return check(l, in, false) }

// CheckRows implements [recipe.OnRows].
func (l *Log1p) CheckRows(in sample.Schema) (sample.Schema, error) { return check(l, in, true) }

// Link implements [core.Linker].
func (l *Log1p) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	return link(w, name, l, t)
}

func (l *Log1p) columns(in sample.Schema, batches bool) ([]Column, error) {
	if err := argument.CheckTags(l); err != nil {
		return nil, err
	}
	return l.each(in, batches, func(t sample.Type) (made, error) {
		as := asFloat(t.DType)
		return made{dtype: as, fill: logarithms(t.DType, as)}, numeric(t)
	})
}

func logarithms(of, as tensor.DType) fill {
	do := func(v []float64, _ int) (int, error) {
		for i, x := range v {
			if x <= -1 {
				return i, fmt.Errorf("is %s: log1p needs numbers above -1; put clip before it", written(x))
			}
			v[i] = math.Log1p(x)
		}
		return -1, nil
	}
	return func(to []byte, from []Values) *Bad { return badAt(through(to, from[0].Data, of, as, do)) }
}
