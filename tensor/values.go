package tensor

import (
	"fmt"
	"reflect"
	"unsafe"
)

// Element is a Go type whose values are in memory like those of a dtype. Float16 and
// BFloat16 have none.
type Element interface {
	bool | uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64 | int64 | float32 | float64
}

// Values returns the elements of a contiguous tensor, over the same memory: as long as
// that may be used, so may they.
func Values[T Element](t Tensor) ([]T, error) {
	want, _ := ParseDType(reflect.TypeFor[T]().Name()) // the names are Go's
	if t.DType != want {
		return nil, fmt.Errorf("tensor: the elements are %v, not %v", t.DType, want)
	}
	if err := t.Check(); err != nil {
		return nil, err
	}
	if !t.Contiguous() {
		return nil, fmt.Errorf("tensor: the elements of %v with strides %v are not contiguous", t.Shape, t.Strides)
	}
	n, _ := t.Shape.Elements() // checked
	start := unsafe.Pointer(unsafe.SliceData(t.Data))
	if n > 0 && uintptr(start)%uintptr(want.Size()) != 0 {
		return nil, fmt.Errorf("tensor: the elements are not at multiples of %d bytes", want.Size())
	}
	return unsafe.Slice((*T)(start), n), nil
}
