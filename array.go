package headrace

import (
	"context"
	"fmt"

	"headrace/internal/npy"
	"headrace/internal/record"
	"headrace/sample"
	"headrace/tensor"
)

// arrayFile is a part of a recipe that finds the array in a file of NumPy's format. It stays where the file was read to.
type arrayFile struct {
	work  *work
	bytes record.Column
	array record.Column
	what  sample.Type // of which extents may be unknown
}

// run implements part.
func (p *arrayFile) run(_ context.Context, it *record.Record, _ *tool) error {
	a, err := npy.Read(it.Values.Bytes[p.bytes.At])
	if err != nil {
		return err
	}
	if err := a.Check(p.what.DType); err != nil {
		return err
	}
	if !fitsShape(a.Shape, p.what.Shape) {
		return fmt.Errorf("headrace: the file holds an array %v: the recipe says %v", a.Shape, p.what.Shape)
	}
	it.Values.Forget(p.bytes)
	it.Values.Arrays[p.array.At] = record.Array{Shape: a.Shape, Data: a.Data}
	p.work.Settle(it)
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

// foresee implements part. The array takes no bytes besides those of the file.
func (p *arrayFile) foresee(*record.Record, *tool) int64 { return 0 }
