// Package blur computes Gaussian blurs in fixed-point arithmetic: their weights, which
// every implementation has in common, and the definition of the pixels.
package blur

import "math"

// Most is the greatest size of a kernel. With so many weights the sum of what rounding
// does to them still is below a level.
const Most = 127

// Bits counts those of the fractions of weights, which fit 16 bits with their sign, as
// products of pairs in one instruction of x86 need.
const Bits = 14

// Between counts the bits of the fractions of rows between the passes: two of their
// values together still fit 16 bits with their sign.
const Between = 6

// Weights begin with that of the middle of a kernel; the others are of the pixels at each
// distance from it. All together, those at both sides, they are 1<<Bits.
type Weights [Most/2 + 1]int16

// Of returns the weights of a kernel of an odd size up to Most, and the greatest distance
// at which there are any: a narrow Gauss curve has fewer than the size allows.
func Of(size int, sigma float32) (w Weights, reach int) {
	var curve [len(w)]float64
	sum := 1.0
	for i := 1; i <= size/2; i++ {
		x := float64(i) / float64(sigma)
		curve[i] = decay(float64(x*x) / 2)
		sum += 2 * curve[i]
	}
	// From the edge, carrying on the remainder of each rounding: so the middle gets no
	// more of it than others.
	taken, so := 0, 0.0
	for i := size / 2; i > 0; i-- {
		so += float64(curve[i] / sum * (1 << Bits))
		n := int(math.RoundToEven(so)) - taken
		if n > 0 {
			reach = max(reach, i)
		}
		w[i] = int16(n)
		taken += n
	}
	w[0] = int16(1<<Bits - 2*taken)
	return w, reach
}

// decay is e to the power of -x, the same on every machine, which that of package math is
// not. Conversions keep the compiler from fusing operations.
func decay(x float64) float64 {
	if x > 40 {
		return 0
	}
	const halvings = 10
	x /= 1 << halvings
	y := 1.0
	for n := 8; n > 0; n-- { // Taylor's series
		y = 1 - float64(float64(x/float64(n))*y)
	}
	for range halvings {
		y *= y
	}
	return y
}
