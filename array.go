package headrace

import (
	"context"
	"fmt"

	"headrace/internal/npy"
	"headrace/sample"
	"headrace/tensor"
)

// arrayFile is a part of a recipe that finds the array in a file of NumPy's format. It stays where the file was read to.
type arrayFile struct {
	work  *work
	bytes place
	array place
	what  sample.Type // of which extents may be unknown
}

// run implements part.
func (p *arrayFile) run(_ context.Context, it *item, _ *tool) error {
	a, err := npy.Read(it.values.data[p.bytes.at])
	if err != nil {
		return err
	}
	if err := a.Check(p.what.DType); err != nil {
		return err
	}
	if !fitsShape(a.Shape, p.what.Shape) {
		return fmt.Errorf("headrace: the file holds an array %v: the recipe says %v", a.Shape, p.what.Shape)
	}
	it.values.forget(p.bytes)
	it.values.arrays[p.array.at] = array{a.Shape, a.Data}
	p.work.settle(it)
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
func (p *arrayFile) foresee(*item, *tool) int64 { return 0 }
