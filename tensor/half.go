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
