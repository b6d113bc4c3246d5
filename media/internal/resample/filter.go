package resample

import "math"

// Filter is the kernel of a resize, numbered as those of package media.
type Filter uint8

// The filters.
const (
	Bilinear Filter = iota
	Box
	Hamming
	Bicubic
	Lanczos
	Nearest // the pixel that the centre is in
)

// supports are the distances from the centre beyond which filters are 0.
var supports = [...]float64{Bilinear: 1, Box: 0.5, Hamming: 1, Bicubic: 2, Lanczos: 3, Nearest: 0.5}

// sample appends the filter's values at n pixels from lo on, for an output pixel whose
// centre is there. Scale is that of distances.
//
// Every product that is added to is converted to float64, here and below, although it
// is one: that forbids the compiler to round both operations at once, as some
// CPUs can.
func (f Filter) sample(values []float64, lo, n int, centre, scale float64) []float64 {
	if f == Bilinear { // which nearly everybody takes
		for k := range n {
			v := 1 - math.Abs(float64((float64(k+lo)-centre+0.5)*scale))
			if v < 0 {
				v = 0
			}
			values = append(values, v)
		}
		return values
	}

	for k := range n {
		x := float64((float64(k+lo) - centre + 0.5) * scale)
		var v float64
		switch f {
		case Box:
			v = box(x)
		case Hamming:
			v = hamming(math.Abs(x))
		case Bicubic:
			v = bicubic(math.Abs(x))
		case Lanczos:
			v = lanczos(math.Abs(x))
		}
		values = append(values, v)
	}
	return values
}

func box(x float64) float64 {
	if x > -0.5 && x <= 0.5 {
		return 1
	}
	return 0
}

func bicubic(x float64) float64 {
	switch {
	case x < 1:
		return float64(float64((float64(1.5*x)-2.5)*x)*x) + 1
	case x < 2:
		return (float64((float64((x-5)*x)+8)*x) - 4) * -0.5
	}
	return 0
}

// hamming is a sinc of one lobe under a Hamming window, whose numbers are those of
// single precision, as Pillow writes them.
func hamming(x float64) float64 {
	const base, swing = float64(float32(0.54)), float64(float32(0.46))
	switch {
	case x == 0:
		return 1
	case x >= 1:
		return 0
	}
	x = float64(x * math.Pi)
	half := sine(x / 2)
	cosine := 1 - float64(2*float64(half*half))
	return sine(x) / x * (base + float64(swing*cosine))
}

// lanczos is a sinc under the middle lobe of a three times wider one: sin πx ·
// sin(πx/3) · 3 / (πx)². The first sine comes from the second, by sin 3y = 3 sin y - 4
// sin³ y.
func lanczos(x float64) float64 {
	switch {
	case x == 0:
		return 1
	case x >= 3:
		return 0
	}
	x = float64(x * math.Pi)
	s := sine(x / 3)
	triple := float64(s * (3 - float64(4*float64(s*s))))
	return 3 * triple * s / (x * x)
}

// sine is sin x for x from 0 to π, to the last bit or two, and the same on every
// machine, which math.Sin is not: where it is written in assembly, or where
// multiplications and additions are fused, its last bits are others. Weights then
// differ where they are that near to the middle between two integers.
func sine(x float64) float64 {
	const lowPi = 1.2246467991473532e-16 // π = math.Pi + lowPi
	if x > math.Pi/2 {
		x = (math.Pi - x) + lowPi // the first subtraction is exact
	}
	square := float64(x * x)
	sum := 0.0
	for i := len(taylor) - 1; i >= 0; i-- {
		sum = float64(sum*square) + taylor[i]
	}
	return x + float64(float64(x*square)*sum)
}

// taylor are the coefficients of x³, x⁵, … of the sine: enough of them that the next is
// below the last bit up to π/2.
var taylor = [...]float64{
	-1. / 6, 1. / 120, -1. / 5040, 1. / 362880, -1. / 39916800, 1. / 6227020800, -1. / 1307674368000, 1. / 355687428096000,
	-1. / 121645100408832000, 1. / 51090942171709440000,
}
