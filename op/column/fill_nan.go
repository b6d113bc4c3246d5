package column

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[FillNaN]("fill_nan", recipe.Between, "Replace NaN, which is what a null in a column of floats is.").Explained(`
In other columns, 'hr.read' says what a null is: 'fields={"age": ("age", "int64", -1)}'.`,
	`.fill_nan("age", 38.2)`).Called("fields, value"))

// FillNaN are the arguments of the operation fill_nan.
type FillNaN struct {
	On
	Value *float64 `json:"value,omitempty" required:"true" example:"0" doc:"the number instead of NaN, such as the median"`
}

// Check implements [recipe.Args].
func (f *FillNaN) Check(in sample.Schema) (sample.Schema, error) { return check(f, in, false) }

// CheckRows implements [recipe.OnRows].
func (f *FillNaN) CheckRows(in sample.Schema) (sample.Schema, error) { return check(f, in, true) }

// Link implements [core.Linker].
func (f *FillNaN) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	return link(w, name, f, t)
}

func (f *FillNaN) columns(in sample.Schema, batches bool) ([]Column, error) {
	if err := argument.CheckTags(f); err != nil {
		return nil, err
	}
	if *f.Value-*f.Value != 0 {
		return nil, recipe.Wrong("value", "is %v: must be a number", *f.Value)
	}
	return f.each(in, batches, func(t sample.Type) (made, error) {
		switch err := numeric(t); {
		case err != nil:
			return made{}, err
		case !isFloat(t.DType):
			return made{}, errors.New("has no NaN; say what a null is in hr.read: (name, dtype, value)")
		case t.DType.Overflows(*f.Value):
			return made{}, fmt.Errorf("cannot have %s", written(*f.Value))
		}
		return made{dtype: t.DType, fill: filling(t.DType, *f.Value)}, nil
	})
}

func filling(d tensor.DType, value float64) fill {
	switch d {
	case tensor.Float32:
		return fillNumbers(float32(value))
	case tensor.Float64:
		return fillNumbers(value)
	}
	do := func(v []float64, _ int) (int, error) {
		for i, x := range v {
			if x != x {
				v[i] = value
			}
		}
		return -1, nil
	}
	return func(to []byte, from []Values) *Bad { return badAt(through(to, from[0].Data, d, d, do)) }
}

func fillNumbers[T float32 | float64](value T) fill {
	return func(to []byte, from []Values) *Bad {
		src := numbersOf[T](from[0].Data)
		dst := numbersOf[T](to)[:len(src)]
		for i, x := range src {
			if x != x {
				x = value
			}
			dst[i] = x
		}
		return nil
	}
}
