package media

import "math"

// toFloat16 rounds x to the nearest number that float16 (IEEE 754 binary16) has, halves
// to even.
func toFloat16(x float32) uint16 {
	const (
		infinity  = 0x7f800000
		overflow  = (127 + 16) << 23 // 2¹⁶, beyond the largest
		subnormal = (127 - 14) << 23 // 2⁻¹⁴, the smallest that is not subnormal
		rebias    = (127 - 15) << 23 // between the exponents' biases
		magic     = (127 - 1) << 23  // 1/2: added to a small number, its last bit is worth 2⁻²⁴, as that of subnormals
		dropped   = 23 - 10          // bits of the fraction
		nan       = 0x7e00
	)
	bits := math.Float32bits(x)
	sign, bits := uint16(bits>>16)&0x8000, bits&^(1<<31)
	switch {
	case bits > infinity:
		return sign | nan
	case bits >= overflow:
		return sign | 0x7c00
	case bits < subnormal:
		sum := math.Float32frombits(bits) + math.Float32frombits(magic)
		return sign | uint16(math.Float32bits(sum)-magic)
	}
	return sign | uint16(halvesToEven(bits-rebias, dropped))
}

// toBFloat16 rounds x to the nearest number that bfloat16 has, which is the upper half
// of float32, halves to even.
func toBFloat16(x float32) uint16 {
	if x != x {
		return 0x7fc0
	}
	return uint16(halvesToEven(math.Float32bits(x), 16))
}

// halvesToEven drops the last n bits and rounds to the nearest.
func halvesToEven(bits uint32, n int) uint32 {
	return (bits + 1<<(n-1) - 1 + bits>>n&1) >> n
}
