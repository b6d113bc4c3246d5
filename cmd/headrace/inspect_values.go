package main

import (
	"encoding/binary"
	"math"

	"headrace/tensor"
)

// spread is what a glance at an array tells: a picture that is all black, or numbers that nobody has normalized.
type spread struct {
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`

	NotFinite int64 `json:"not_finite,omitempty"` // infinities and what is no number, of which the others know nothing
}

// spreadOf walks over a contiguous array.
func spreadOf(t tensor.Tensor) spread {
	s := spread{Min: math.Inf(1), Max: math.Inf(-1)}
	at, size, n := elementReader(t.DType), t.DType.Size(), 0.0
	for data := t.Data; len(data) >= size; data = data[size:] {
		x := at(data)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			s.NotFinite++
			continue
		}
		s.Min, s.Max = min(s.Min, x), max(s.Max, x)
		s.Mean += x
		n++
	}
	if n == 0 {
		return spread{NotFinite: s.NotFinite}
	}
	s.Mean /= n
	return s
}

// elementReader returns what reads one element.
func elementReader(d tensor.DType) func([]byte) float64 {
	order := binary.NativeEndian
	switch d {
	case tensor.Int8:
		return func(b []byte) float64 { return float64(int8(b[0])) }
	case tensor.Uint16:
		return func(b []byte) float64 { return float64(order.Uint16(b)) }
	case tensor.Int16:
		return func(b []byte) float64 { return float64(int16(order.Uint16(b))) }
	case tensor.Uint32:
		return func(b []byte) float64 { return float64(order.Uint32(b)) }
	case tensor.Int32:
		return func(b []byte) float64 { return float64(int32(order.Uint32(b))) }
	case tensor.Uint64:
		return func(b []byte) float64 { return float64(order.Uint64(b)) }
	case tensor.Int64:
		return func(b []byte) float64 { return float64(int64(order.Uint64(b))) }
	case tensor.Float16:
		return func(b []byte) float64 { return halfFloat(order.Uint16(b)) }
	case tensor.BFloat16:
		return func(b []byte) float64 { return float64(math.Float32frombits(uint32(order.Uint16(b)) << 16)) }
	case tensor.Float32:
		return func(b []byte) float64 { return float64(math.Float32frombits(order.Uint32(b))) }
	case tensor.Float64:
		return func(b []byte) float64 { return math.Float64frombits(order.Uint64(b)) }
	default: // a byte, true or false among them
		return func(b []byte) float64 { return float64(b[0]) }
	}
}

// halfFloat reads an IEEE 754 number of 16 bits.
func halfFloat(bits uint16) float64 {
	sign, exponent, fraction := 1.0, int(bits>>10&31), float64(bits&1023)
	if bits>>15 == 1 {
		sign = -1
	}
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		return sign * math.Inf(1)
	default:
		return sign * math.Ldexp(1024+fraction, exponent-25)
	}
}
