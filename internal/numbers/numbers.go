package numbers

import (
	"encoding/binary"
	"math"

	"github.com/headrace/headrace/tensor"
)

// Reader returns a function that gives element i of contiguous data; nil where the type
// is none. A bool is 0 or 1.
func Reader(d tensor.DType) func(data []byte, i int) float64 { return readers[d] }

var readers = map[tensor.DType]func(data []byte, i int) float64{
	tensor.Bool:     func(b []byte, i int) float64 { return float64(b[i]) },
	tensor.Uint8:    func(b []byte, i int) float64 { return float64(b[i]) },
	tensor.Int8:     func(b []byte, i int) float64 { return float64(int8(b[i])) },
	tensor.Uint16:   func(b []byte, i int) float64 { return float64(binary.LittleEndian.Uint16(b[2*i:])) },
	tensor.Int16:    func(b []byte, i int) float64 { return float64(int16(binary.LittleEndian.Uint16(b[2*i:]))) },
	tensor.Uint32:   func(b []byte, i int) float64 { return float64(binary.LittleEndian.Uint32(b[4*i:])) },
	tensor.Int32:    func(b []byte, i int) float64 { return float64(int32(binary.LittleEndian.Uint32(b[4*i:]))) },
	tensor.Uint64:   func(b []byte, i int) float64 { return float64(binary.LittleEndian.Uint64(b[8*i:])) },
	tensor.Int64:    func(b []byte, i int) float64 { return float64(int64(binary.LittleEndian.Uint64(b[8*i:]))) },
	tensor.Float16:  func(b []byte, i int) float64 { return float64(tensor.FromFloat16(binary.LittleEndian.Uint16(b[2*i:]))) },
	tensor.BFloat16: func(b []byte, i int) float64 { return float32bits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16) },
	tensor.Float32:  func(b []byte, i int) float64 { return float32bits(binary.LittleEndian.Uint32(b[4*i:])) },
	tensor.Float64:  func(b []byte, i int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:])) },
}

func float32bits(bits uint32) float64 { return float64(math.Float32frombits(bits)) }

// Whole is the first element of data; false where its type has numbers of other kinds, or
// where it is greater than any int64.
func Whole(d tensor.DType, data []byte) (n int64, ok bool) {
	le := binary.LittleEndian
	switch d {
	case tensor.Uint8:
		return int64(data[0]), true
	case tensor.Int8:
		return int64(int8(data[0])), true
	case tensor.Uint16:
		return int64(le.Uint16(data)), true
	case tensor.Int16:
		return int64(int16(le.Uint16(data))), true
	case tensor.Uint32:
		return int64(le.Uint32(data)), true
	case tensor.Int32:
		return int64(int32(le.Uint32(data))), true
	case tensor.Int64:
		return int64(le.Uint64(data)), true
	case tensor.Uint64:
		n = int64(le.Uint64(data))
		return n, n >= 0
	}
	return 0, false
}

// Spread is what a glance at an array tells: an image that is all black, or values
// that nobody has normalized.
type Spread struct {
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`

	NotFinite int64 `json:"not_finite,omitempty"` // infinities and what is no number, of which the others know nothing
}

// SpreadOf walks over the first n elements of contiguous data. Where none of them is
// finite, all but their count is 0.
func SpreadOf(d tensor.DType, data []byte, n int) Spread {
	s := Spread{Min: math.Inf(1), Max: math.Inf(-1)}
	read, finite := Reader(d), 0.0
	for i := range n {
		v := read(data, i)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			s.NotFinite++
			continue
		}
		s.Min, s.Max = min(s.Min, v), max(s.Max, v)
		finite++
		s.Mean += (v - s.Mean) / finite // no sum that grows beyond what a number holds
	}
	if finite == 0 {
		return Spread{NotFinite: s.NotFinite}
	}
	return s
}

// Append appends v as an element of a type, rounded to the nearest, of two the even
// one. A whole number has to be one that the type has.
func Append(dst []byte, d tensor.DType, v float64) []byte {
	le := binary.LittleEndian
	switch d {
	case tensor.Bool, tensor.Uint8:
		return append(dst, uint8(v))
	case tensor.Int8:
		return append(dst, uint8(int8(v)))
	case tensor.Uint16:
		return le.AppendUint16(dst, uint16(v))
	case tensor.Int16:
		return le.AppendUint16(dst, uint16(int16(v)))
	case tensor.Uint32:
		return le.AppendUint32(dst, uint32(v))
	case tensor.Int32:
		return le.AppendUint32(dst, uint32(int32(v)))
	case tensor.Uint64:
		return le.AppendUint64(dst, uint64(v))
	case tensor.Int64:
		return le.AppendUint64(dst, uint64(int64(v)))
	case tensor.Float16:
		return le.AppendUint16(dst, toFloat16(v))
	case tensor.BFloat16:
		b := math.Float32bits(float32(v))
		return le.AppendUint16(dst, uint16((b+0x7fff+b>>16&1)>>16))
	case tensor.Float32:
		return le.AppendUint32(dst, math.Float32bits(float32(v)))
	case tensor.Float64:
		return le.AppendUint64(dst, math.Float64bits(v))
	}
	return dst
}

// toFloat16 counts how many times the distance between the numbers of half precision
// about v fits into it. The bits of such a number are its exponent, and this count.
func toFloat16(v float64) uint16 {
	sign := uint16(math.Float64bits(v)>>48) & 0x8000
	if v == 0 {
		return sign
	}
	_, exponent := math.Frexp(v)
	exponent = max(exponent, -13) // below that the distance stays the same
	return sign | uint16(exponent+13)<<10 + uint16(math.RoundToEven(math.Abs(math.Ldexp(v, 11-exponent))))
}
