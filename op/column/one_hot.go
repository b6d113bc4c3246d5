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

var _ = Ops.Add(recipe.NewOp[OneHot]("one_hot", recipe.Between,
	"Turn a number of a class into an array with 1 in its place, float32.").Explained(`
A number that is no class is a bad sample. Codes of a dictionary have as many classes as 'loader.schema' has names.`,
	`.one_hot("weekday", 7)`, `.one_hot("label", 1000, smoothing=0.1)`).Called("fields, classes"))

// OneHot are the arguments of the operation one_hot.
type OneHot struct {
	On
	Classes *int `json:"classes,omitempty" required:"true" min:"1" max:"1000000" example:"7" doc:"the number of classes, which are 0, 1, …"`

	Smoothing *float64 `json:"smoothing,omitempty" min:"0" max:"1" default:"0" doc:"the share of 1 that all classes get alike"`
}

// Check implements [recipe.Args].
func (o *OneHot) Check(in sample.Schema) (sample.Schema, error) { return check(o, in, false) }

// CheckRows implements [recipe.OnRows].
func (o *OneHot) CheckRows(in sample.Schema) (sample.Schema, error) { return check(o, in, true) }

// Link implements [core.Linker].
func (o *OneHot) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	return link(w, name, o, t)
}

func (o *OneHot) columns(in sample.Schema, batches bool) ([]Column, error) {
	if err := argument.CheckTags(o); err != nil {
		return nil, err
	}
	return o.each(in, batches, func(t sample.Type) (made, error) {
		if err := whole(t); err != nil {
			return made{}, err
		}
		return made{tensor.Float32, *o.Classes, oneHot(t.DType, *o.Classes, *o.Smoothing)}, nil
	})
}

// whole refuses fields without whole numbers.
func whole(t sample.Type) error {
	if err := numeric(t); err != nil {
		return err
	}
	if isFloat(t.DType) {
		return errors.New("must be whole numbers: put cast or bucketize before this step")
	}
	return nil
}

func oneHot(d tensor.DType, classes int, smoothing float64) fill {
	off, rest := float32(smoothing/float64(classes)), float32(1-smoothing)
	return func(to []byte, from []Values) *Bad {
		dst, data := numbersOf[float32](to), from[0].Data
		if smoothing == 0 {
			clear(to)
		} else {
			for i := range dst {
				dst[i] = off
			}
		}
		b := buffers.Get().(*buffer)
		defer buffers.Put(b)
		for at, n := 0, len(data)/d.Size(); at < n; at += atOnce {
			v := b.ints[:min(atOnce, n-at)]
			loadInts(v, data[at*d.Size():], d)
			for i, class := range v {
				if uint64(class) >= uint64(classes) {
					text := fmt.Sprint(class)
					if d == tensor.Uint64 {
						text = fmt.Sprint(uint64(class))
					}
					return &Bad{Line: at + i, Err: fmt.Errorf("is %s: one_hot has the classes 0 to %d", text, classes-1)}
				}
				dst[(at+i)*classes+int(class)] = rest + off
			}
		}
		return nil
	}
}
