package data

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/internal/npy"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/sample"
)

// ReadArray is a part of a recipe that finds the array in a file of NumPy's format. It
// stays where the file was read to.
type ReadArray struct {
	Env  *core.Env
	From record.Column
	To   record.Column
	Type sample.Type // of which extents may be unknown
}

// Link implements [core.Linker].
func (d *DecodeNPY) Link(w *core.Env, _ string, t *core.Scope) (core.Part, error) {
	next := &ReadArray{Env: w, Type: d.Type()}
	next.From, next.To = t.Decoded(d.Field, d.To, next.Type)
	return next, nil
}

// Run implements part.
func (p *ReadArray) Run(_ context.Context, it *record.Record, _ *core.Tool) error {
	a, err := npy.Read(it.Values.Bytes[p.From.At])
	if err != nil {
		return err
	}
	if err := a.Check(p.Type.DType); err != nil {
		return err
	}
	if !core.FitsShape(a.Shape, p.Type.Shape) {
		return fmt.Errorf("headrace: the file holds an array %v: the recipe says %v", a.Shape, p.Type.Shape)
	}
	it.Values.Forget(p.From)
	it.Values.Arrays[p.To.At] = record.Array{Shape: a.Shape, Data: a.Data}
	p.Env.Settle(it)
	return nil
}

// Foresee implements part. The array takes no bytes besides those of the file.
func (p *ReadArray) Foresee(*record.Record, *core.Tool) int64 { return 0 }
