package ops

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/internal/npy"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// ReadArray is a part of a recipe that finds the array in a file of NumPy's format. It
// stays where the file was read to.
type ReadArray struct {
	Env  *Env
	From record.Column
	To   record.Column
	Type sample.Type // of which extents may be unknown
}

// linkArray makes the part of a step.
func linkArray(w *Env, args *recipe.DecodeNPY, t *Scope) *ReadArray {
	next := &ReadArray{Env: w, Type: args.Type()}
	next.From, next.To = t.decoded(args.Field, args.To, next.Type)
	return next
}

// Run implements part.
func (p *ReadArray) Run(_ context.Context, it *record.Record, _ *Tool) error {
	a, err := npy.Read(it.Values.Bytes[p.From.At])
	if err != nil {
		return err
	}
	if err := a.Check(p.Type.DType); err != nil {
		return err
	}
	if !fitsShape(a.Shape, p.Type.Shape) {
		return fmt.Errorf("headrace: the file holds an array %v: the recipe says %v", a.Shape, p.Type.Shape)
	}
	it.Values.Forget(p.From)
	it.Values.Arrays[p.To.At] = record.Array{Shape: a.Shape, Data: a.Data}
	p.Env.Settle(it)
	return nil
}

func fitsShape(s, want tensor.Shape) bool {
	if len(s) != len(want) {
		return false
	}
	for i := range s {
		if want[i] != tensor.Unknown && want[i] != s[i] {
			return false
		}
	}
	return true
}

// Foresee implements part. The array takes no bytes besides those of the file.
func (p *ReadArray) Foresee(*record.Record, *Tool) int64 { return 0 }
