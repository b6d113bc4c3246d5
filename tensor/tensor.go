package tensor

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Tensor is a view of Data as an array. Element [0, 0, …] is at Data[0].
type Tensor struct {
	DType   DType
	Shape   Shape
	Strides []int // bytes from one element to the next along each axis, from 0 on; nil: contiguous, last axis fastest
	Data    []byte
}

// Check returns why t is no array: an invalid dtype, an extent or stride that is not
// usable, or Data that ends before its last element.
func (t Tensor) Check() error {
	size, err := t.Shape.Bytes(t.DType)
	if err != nil {
		return err
	}
	if t.Strides != nil {
		if size, err = t.reach(size == 0); err != nil {
			return err
		}
	}
	if size > int64(len(t.Data)) {
		return fmt.Errorf("tensor: %v of %v needs %d bytes and has %d", t.Shape, t.DType, size, len(t.Data))
	}
	return nil
}

// reach is the number of bytes from the first element to the end of the last.
func (t Tensor) reach(empty bool) (int64, error) {
	if len(t.Strides) != len(t.Shape) {
		return 0, fmt.Errorf("tensor: %d strides for shape %v", len(t.Strides), t.Shape)
	}
	end := uint64(t.DType.Size())
	for axis, stride := range t.Strides {
		// A negative stride would need Data to start in the middle of the array, which
		// a slice cannot express.
		if stride < 0 {
			return 0, fmt.Errorf("tensor: shape %v: axis %d has stride %d", t.Shape, axis, stride)
		}
		hi, lo := bits.Mul64(uint64(max(0, t.Shape[axis]-1)), uint64(stride))
		if hi != 0 || lo > math.MaxInt64 || end+lo > math.MaxInt64 {
			return 0, fmt.Errorf("tensor: shape %v with strides %v spans more than 2⁶³-1 bytes", t.Shape, t.Strides)
		}
		end += lo
	}
	if empty {
		return 0, nil
	}
	return int64(end), nil
}

// Contiguous reports whether the elements follow each other without gaps, last axis
// fastest.
func (t Tensor) Contiguous() bool {
	if t.Strides == nil {
		return true
	}
	if slices.Contains(t.Shape, 0) {
		return true
	}
	next := t.DType.Size()
	for axis := len(t.Shape) - 1; axis >= 0; axis-- {
		if t.Shape[axis] != 1 && t.Strides[axis] != next {
			return false
		}
		next *= t.Shape[axis]
	}
	return true
}

// Row returns the i-th array along the first axis: a view, made without an allocation.
// It panics, as an index does, where there is no such row; t must be one that Check
// accepts.
func (t Tensor) Row(i int) Tensor {
	if len(t.Shape) == 0 || uint(i) >= uint(t.Shape[0]) {
		panic(fmt.Sprintf("tensor: row %d of shape %v", i, t.Shape))
	}
	row := Tensor{DType: t.DType, Shape: t.Shape[1:]}
	if t.Strides != nil {
		row.Strides = t.Strides[1:]
		// Where another axis is empty there may be no byte at the row's start.
		row.Data = t.Data[min(i*t.Strides[0], len(t.Data)):]
		return row
	}
	size := t.DType.Size()
	for _, n := range row.Shape {
		size *= n
	}
	row.Data = t.Data[i*size : (i+1)*size : (i+1)*size]
	return row
}
