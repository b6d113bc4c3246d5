package column

import (
	"errors"
	"fmt"
	"slices"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[Concat]("concat", recipe.Between,
	"Put fields side by side into one array: after 'batch', a matrix.").Explained(`
A number takes one place and an array as many as its last axis has, in the order of 'fields'. They are converted to 'dtype' as by 'cast'.`,
	`.concat(["age", "price", "embedding"], to="dense")`).Called("fields, to"))

// Concat are the arguments of the operation concat.
type Concat struct {
	Fields []string `json:"fields,omitempty" required:"true" example:"[\"age\", \"price\"]" doc:"the fields, which are removed"`
	To     string   `json:"to,omitempty" required:"true" example:"dense" doc:"the field for the array"`
	DType  string   `json:"dtype,omitempty" python:"a dtype" default:"float32"`
}

// Docs implements [argument.Documented].
func (*Concat) Docs() map[string]string {
	return map[string]string{
		"dtype choices": "bool,uint8,int8,uint16,int16,uint32,int32,uint64,int64,float16,bfloat16,float32,float64",
		"dtype":         "the dtype of the array",
	}
}

// Check implements [recipe.Args].
func (c *Concat) Check(in sample.Schema) (sample.Schema, error) { return check(c, in, false) }

// CheckRows implements [recipe.OnRows].
func (c *Concat) CheckRows(in sample.Schema) (sample.Schema, error) { return check(c, in, true) }

// Traits implements [recipe.Traited].
func (*Concat) Traits() recipe.Traits { return On{}.Traits() }

// CheckFailures implements [recipe.Failing].
func (*Concat) CheckFailures(f *recipe.Failures) error { return On{}.CheckFailures(f) }

// Link implements [core.Linker].
func (c *Concat) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	return link(w, name, c, t)
}

func (c *Concat) columns(in sample.Schema, batches bool) ([]Column, error) {
	if err := argument.CheckTags(c); err != nil {
		return nil, err
	}
	fields, err := On{c.Fields}.find(in)
	if err != nil {
		return nil, err
	}
	if in.Find(c.To) >= 0 && !slices.Contains(c.Fields, c.To) {
		return nil, recipe.Wrong("to", "is %q: there is a field of this name already", c.To)
	}
	d, _ := tensor.ParseDType(c.DType)
	all := Column{To: c.To}
	j := &joining{as: d}
	axes := 0

	// A field that has one axis less than others takes one place in each line.
	for _, f := range fields {
		axes = max(axes, len(f.Type.Shape))
	}
	rows := 0 // axes that are not joined
	if batches {
		rows = 1
	}
	axes = max(axes, rows+1)

	var errs []error
	for i, f := range fields {
		err := numeric(f.Type)
		width := 1
		switch k := len(f.Type.Shape); {
		case err != nil:
		case k == axes:
			if width = f.Type.Shape[k-1]; width < 1 {
				err = errors.New("must have a last axis of the same length in all samples, at least 1")
			}
		case k != axes-1:
			err = fmt.Errorf("has %d axes, and others have %d", k, axes)
		}
		if err == nil && !alongside(f.Type.Shape, fields[0].Type.Shape, axes-1) {
			err = fmt.Errorf("does not fit beside %q, which is %v: all axes but the last must be the same",
				fields[0].Name, fields[0].Type)
		}
		if err != nil {
			errs = append(errs, recipe.Wrong(fmt.Sprintf("fields[%d]", i), "is %q, which is %v: %w", f.Name, f.Type, err))
			continue
		}
		all.From, all.In = append(all.From, f.Name), append(all.In, f.Type)
		j.parts = append(j.parts, joined{casting(f.Type.DType, d), width, width * f.Type.DType.Size()})
		j.width += width
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	all.Type = sample.TensorType(d, append(append(tensor.Shape{}, fields[0].Type.Shape[:axes-1]...), j.width)...)
	all.InLine, all.OutLine, all.fill = j.parts[0].bytes, j.width*d.Size(), j.fill
	return []Column{all}, nil
}
