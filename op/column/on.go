package column

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// On are the fields that a step works on.
type On struct {
	Fields []string `json:"fields,omitempty" required:"true" example:"[\"age\"]"`
}

// Docs implements [argument.Documented].
func (On) Docs() map[string]string {
	return map[string]string{"fields": "a field, or several"}
}

// Traits implements [recipe.Traited].
func (On) Traits() recipe.Traits { return recipe.Traits{Columns: true} }

// CheckFailures implements [recipe.Failing]. Numbers that were replaced in place cannot
// be computed again.
func (On) CheckFailures(f *recipe.Failures) error {
	if f.Retries != 0 || f.Wait != nil {
		return errors.New("tries again, but the same values give the same result: leave retries out")
	}
	return nil
}

// made says what becomes of each number, or text, of a field.
type made struct {
	dtype tensor.DType
	width int // how many numbers, along an axis of their own; 0: one, and no axis
	fill  fill
}

// each has every field replaced by the result of a function of it. The type that it is
// given is that of a sample, or of a row.
func (o On) each(in sample.Schema, batches bool, of func(t sample.Type) (made, error)) (all []Column, err error) {
	fields, err := o.find(in)
	if err != nil {
		return nil, err
	}

	var errs []error
	for i, f := range fields {
		row := f.Type
		if batches {
			row, _ = row.Row()
		}
		m, err := of(row)
		if err != nil {
			errs = append(errs, recipe.Wrong(fmt.Sprintf("fields[%d]", i), "is %q, which is %v: %w", f.Name, row, err))
			continue
		}

		// Axes before the field's own stay there, such as the rows of a batch.
		out := sample.TensorType(m.dtype, f.Type.Shape...)
		size := m.dtype.Size()
		if m.width > 0 {
			out.Shape = append(out.Shape, m.width)
			size *= m.width
		}
		if _, err := out.Shape.Bytes(out.DType); err != nil && out.Fixed() {
			errs = append(errs, recipe.Wrong(fmt.Sprintf("fields[%d]", i), "is %q, whose result is too large: %w", f.Name, err))
			continue
		}
		all = append(all, Column{From: []string{f.Name}, To: f.Name, In: []sample.Type{f.Type}, Type: out,
			InLine: max(1, f.Type.DType.Size()), OutLine: size, fill: m.fill})
	}
	return all, errors.Join(errs...)
}

// find returns the fields.
func (o On) find(in sample.Schema) (all []sample.Field, err error) {
	if o.Fields == nil {
		return nil, argument.Given("fields", false)
	}
	if len(o.Fields) == 0 {
		return nil, recipe.Wrong("fields", "is empty: give names of %s", words.List(in.Names()))
	}
	errs := []error{argument.CheckNames("fields", o.Fields)}
	for i, name := range o.Fields {
		if at := in.Find(name); at >= 0 {
			all = append(all, in[at])
		} else {
			errs = append(errs, recipe.Wrong(fmt.Sprintf("fields[%d]", i), "is an %w", words.Unknown("field", name, in.Names())))
		}
	}
	return all, errors.Join(errs...)
}

// numeric refuses fields without numbers, and images, which have steps of their own.
func numeric(t sample.Type) error {
	switch {
	case t.Kind == sample.Text:
		return errors.New("must be numbers; read it with a type, (name, \"float32\"), or make buckets of it by hash_buckets")
	case t.Kind != sample.Tensor:
		return errors.New("must be numbers")
	case recipe.IsImage(t):
		return errors.New("must be numbers of a table: normalize is for images")
	}
	return nil
}

// isFloat reports whether a type has fractions, and NaN.
func isFloat(d tensor.DType) bool {
	return d == tensor.Float16 || d == tensor.BFloat16 || d == tensor.Float32 || d == tensor.Float64
}

// asFloat is the type of results that have fractions: that of the numbers, or float32.
func asFloat(d tensor.DType) tensor.DType {
	if isFloat(d) {
		return d
	}
	return tensor.Float32
}
