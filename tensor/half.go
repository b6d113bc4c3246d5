package tensor

import "math"

// FromFloat16 is the number that the bits of a float16 mean. Float32 has all of them.
func FromFloat16(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch exponent {
	case 0:
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)*(1.0/(1<<24))))
	case 31:
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// ToFloat16 returns the bits of the float16 nearest to a number; of two that are equally
// near, the even one.
func ToFloat16(v float64) uint16 { return uint16(half(v, 5, 10)) }

// ToBFloat16 returns the bits of the bfloat16 nearest to a number, as ToFloat16 does.
func ToBFloat16(v float64) uint16 { return uint16(half(v, 8, 7)) }

// half rounds a number to so many bits of exponent and fraction, in one step: by way of
// float32 it would be rounded twice.
func half(v float64, exponent, fraction int) uint64 {
	bits := math.Float64bits(v)
	sign := bits >> 63 << (exponent + fraction)
	top := uint64(1)<<exponent - 1
	switch {
	case v != v:
		return sign | top<<fraction | 1<<(fraction-1)
	case math.IsInf(v, 0):
		return sign | top<<fraction
	}

	bias := 1<<(exponent-1) - 1
	e := int(bits>>52&2047) - 1023
	mantissa := bits&(1<<52-1) | 1<<52
	drop := 52 - fraction
	if e < 1-bias { // it is subnormal there
		drop += 1 - bias - e
		e = -bias
		if drop > 54 {
			return sign
		}
	} else {
		mantissa &^= 1 << 52
	}
	all := uint64(e+bias)<<fraction + mantissa>>drop
	if rest, middle := mantissa&(1<<drop-1), uint64(1)<<(drop-1); rest > middle || rest == middle && all&1 != 0 {
		all++ // which may carry into the exponent, as it should
	}
	return sign | min(all, top<<fraction)
}

// Overflows reports whether a finite number becomes infinite as a floating-point type.
func (d DType) Overflows(v float64) bool {
	if v-v != 0 { // infinite already, or NaN
		return false
	}
	switch d {
	case Float32:
		return math.IsInf(float64(float32(v)), 0)
	case Float16:
		return ToFloat16(v)&0x7fff == 0x7c00
	case BFloat16:
		return ToBFloat16(v)&0x7fff == 0x7f80
	}
	return false
}
