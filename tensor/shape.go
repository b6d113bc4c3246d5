package tensor

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// Unknown is in a Shape for an extent that differs from sample to sample.
const Unknown = -1

// Shape is the extent of an array along each axis, slowest first. The empty shape is
// that of a single element.
type Shape []int

// Check refuses extents that are neither a number from 0 on nor Unknown.
func (s Shape) Check() error {
	for axis, n := range s {
		if n < Unknown {
			return fmt.Errorf("tensor: shape %v: axis %d has extent %d", s, axis, n)
		}
	}
	return nil
}

// Fixed reports whether every extent is known.
func (s Shape) Fixed() bool {
	return !slices.ContainsFunc(s, func(n int) bool { return n < 0 })
}

// Elements is the number of elements of an array of this shape. A shape that is not
// fixed has none to count, and one whose count does not fit an int64 is refused, also
// when an extent of zero is beside it: the strides of such an array do not fit
// either.
func (s Shape) Elements() (int64, error) {
	if err := s.Check(); err != nil {
		return 0, err
	}
	if !s.Fixed() {
		return 0, fmt.Errorf("tensor: shape %v has unknown extents", s)
	}
	product, empty := uint64(1), false
	for _, n := range s {
		if n == 0 {
			empty = true
			continue
		}
		hi, lo := bits.Mul64(product, uint64(n))
		if hi != 0 || lo > math.MaxInt64 {
			return 0, fmt.Errorf("tensor: shape %v has more than 2⁶³-1 elements", s)
		}
		product = lo
	}
	if empty {
		return 0, nil
	}
	return int64(product), nil
}

// Bytes is the number of bytes of a contiguous array of this shape.
func (s Shape) Bytes(d DType) (int64, error) {
	if !d.Valid() {
		return 0, fmt.Errorf("tensor: shape %v of %v has no size", s, d)
	}
	n, err := s.Elements()
	if err != nil {
		return 0, err
	}
	if n > math.MaxInt64/int64(d.Size()) {
		return 0, fmt.Errorf("tensor: shape %v of %v has more than 2⁶³-1 bytes", s, d)
	}
	return n * int64(d.Size()), nil
}

// Equal reports whether both shapes have the same extents; Unknown equals only Unknown.
func (s Shape) Equal(t Shape) bool { return slices.Equal(s, t) }

// String is like "[224, 224, 3]", with "?" for unknown extents.
func (s Shape) String() string {
	b := []byte{'['}
	for axis, n := range s {
		if axis > 0 {
			b = append(b, ", "...)
		}
		if n == Unknown {
			b = append(b, '?')
		} else {
			b = strconv.AppendInt(b, int64(n), 10)
		}
	}
	return string(append(b, ']'))
}
