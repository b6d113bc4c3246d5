package column

import (
	"fmt"
	"math"
	"strconv"
	"sync"
	"unsafe"

	"github.com/headrace/headrace/tensor"
)

// atOnce is how many numbers are converted at once: they stay in the nearest cache.
const atOnce = 256

// buffer is memory for numbers on their way.
type buffer struct {
	floats [atOnce]float64
	ints   [atOnce]int64
}

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// through makes numbers of others, some at a time. Do changes them as float64; the first
// is number at, and it returns which one is bad, or -1. So does through, with why.
func through(to, from []byte, of, as tensor.DType, do func(v []float64, at int) (int, error)) (bad int, why error) {
	b := buffers.Get().(*buffer)
	defer buffers.Put(b)
	in, out := of.Size(), as.Size()
	for at, n := 0, len(from)/in; at < n; at += atOnce {
		v := b.floats[:min(atOnce, n-at)]
		load(v, from[at*in:], of)
		if bad, why := do(v, at); bad >= 0 {
			return at + bad, why
		}
		if bad := store(to[at*out:], v, as); bad >= 0 {
			return at + bad, misfit(v[bad], as)
		}
	}
	return -1, nil
}

// misfit says that a type does not have a number.
func misfit(v float64, d tensor.DType) error {
	if v != v {
		return fmt.Errorf("is NaN, which %v does not have: put fill_nan before this step", d)
	}
	return fmt.Errorf("becomes %s, which does not fit %v", written(v), d)
}

// written is a number as people write it.
func written(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// numbersOf returns memory as numbers. That of a sample need not be aligned, which the
// CPUs that there are builds for do not ask for.
func numbersOf[T any](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(T))))
}

// number is any type of numbers that Go has.
type number interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// load sets dst to the first numbers of data.
func load(dst []float64, data []byte, d tensor.DType) {
	switch d {
	// A bool is a byte that is 0 or 1.
	case tensor.Bool, tensor.Uint8:
		widen[uint8](dst, data)
	case tensor.Int8:
		widen[int8](dst, data)
	case tensor.Uint16:
		widen[uint16](dst, data)
	case tensor.Int16:
		widen[int16](dst, data)
	case tensor.Uint32:
		widen[uint32](dst, data)
	case tensor.Int32:
		widen[int32](dst, data)
	case tensor.Uint64:
		widen[uint64](dst, data)
	case tensor.Int64:
		widen[int64](dst, data)
	case tensor.Float32:
		widen[float32](dst, data)
	case tensor.Float64:
		copy(dst, numbersOf[float64](data))

	case tensor.Float16:
		for i, bits := range numbersOf[uint16](data)[:len(dst)] {
			dst[i] = float64(tensor.FromFloat16(bits))
		}
	case tensor.BFloat16:
		for i, bits := range numbersOf[uint16](data)[:len(dst)] {
			dst[i] = float64(math.Float32frombits(uint32(bits) << 16))
		}
	}
}

func widen[T number](dst []float64, data []byte) {
	for i, v := range numbersOf[T](data)[:len(dst)] {
		dst[i] = float64(v)
	}
}

// store sets the first numbers of to, rounded to the nearest, and whole ones towards
// zero. It returns which one the type does not have, or -1. A finite number that would
// become infinite is none.
func store(to []byte, v []float64, d tensor.DType) (bad int) {
	switch d {
	case tensor.Float64:
		copy(numbersOf[float64](to), v)
		return -1
	case tensor.Float32:
		return storeFloats(to, v)
	case tensor.Float16:
		return storeHalves(to, v, d, tensor.ToFloat16)
	case tensor.BFloat16:
		return storeHalves(to, v, d, tensor.ToBFloat16)
	case tensor.Bool:
		for i, x := range v {
			if to[i] = 0; x != 0 {
				to[i] = 1
			}
			if x != x {
				return i
			}
		}
		return -1

	case tensor.Uint8:
		return truncate[uint8](to, v, -1, 1<<8)
	case tensor.Int8:
		return truncate[int8](to, v, -1<<7-1, 1<<7)
	case tensor.Uint16:
		return truncate[uint16](to, v, -1, 1<<16)
	case tensor.Int16:
		return truncate[int16](to, v, -1<<15-1, 1<<15)
	case tensor.Uint32:
		return truncate[uint32](to, v, -1, 1<<32)
	case tensor.Int32:
		return truncate[int32](to, v, -1<<31-1, 1<<31)
	case tensor.Uint64:
		return truncate[uint64](to, v, -1, 1<<64)
	case tensor.Int64:
		return truncate[int64](to, v, math.Nextafter(-1<<63, -1<<64), 1<<63)
	}
	return 0
}

// truncate stores numbers that are between two others, as whole numbers.
func truncate[T number](to []byte, v []float64, above, below float64) (bad int) {
	dst := numbersOf[T](to)[:len(v)]
	for i, x := range v {
		if !(x > above && x < below) {
			return i
		}
		dst[i] = T(x)
	}
	return -1
}

func storeFloats(to []byte, v []float64) (bad int) {
	dst, odd := numbersOf[float32](to)[:len(v)], false
	for i, x := range v {
		f := float32(x)
		dst[i] = f
		odd = odd || f-f != 0
	}
	if !odd { // as a rule nothing is infinite, or NaN
		return -1
	}
	return overflowing(v, tensor.Float32)
}

func storeHalves(to []byte, v []float64, d tensor.DType, half func(float64) uint16) (bad int) {
	dst := numbersOf[uint16](to)[:len(v)]
	for i, x := range v {
		dst[i] = half(x)
	}
	return overflowing(v, d)
}

func overflowing(v []float64, d tensor.DType) int {
	for i, x := range v {
		if d.Overflows(x) {
			return i
		}
	}
	return -1
}

// loadInts sets dst to the first whole numbers of data. Those of uint64 that no int64
// holds are negative then.
func loadInts(dst []int64, data []byte, d tensor.DType) {
	switch d {
	case tensor.Bool, tensor.Uint8:
		widenInts[uint8](dst, data)
	case tensor.Int8:
		widenInts[int8](dst, data)
	case tensor.Uint16:
		widenInts[uint16](dst, data)
	case tensor.Int16:
		widenInts[int16](dst, data)
	case tensor.Uint32:
		widenInts[uint32](dst, data)
	case tensor.Int32:
		widenInts[int32](dst, data)
	case tensor.Uint64, tensor.Int64:
		copy(dst, numbersOf[int64](data))
	}
}

func widenInts[T number](dst []int64, data []byte) {
	for i, v := range numbersOf[T](data)[:len(dst)] {
		dst[i] = int64(v)
	}
}
