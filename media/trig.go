package media

import "math"

// sinCos returns the sine and cosine of an angle in degrees, the same on every machine,
// which those of package math are not: conversions keep the compiler from fusing
// operations. Quarter turns are exact.
func sinCos(degrees float64) (sin, cos float64) {
	degrees = math.Mod(degrees, 360)
	quarter := math.RoundToEven(degrees / 90)
	x := float64((degrees - float64(quarter*90)) * (math.Pi / 180)) // at most π/4
	sin, cos = series(x, x), series(1, x)
	switch (int(quarter)%4 + 4) % 4 {
	case 1:
		return cos, -sin
	case 2:
		return -sin, -cos
	case 3:
		return -cos, sin
	}
	return sin, cos
}

// series is Taylor's of the cosine of x, of which the first term is 1, or of the sine, of
// which it is x. The smallest terms are added first.
func series(first, x float64) float64 {
	power := 1.0
	if first == 1 {
		power = 0
	}
	square := float64(x * x)
	sum := 0.0
	for n := power + 20; n > power; n -= 2 {
		// 1 - square/((n-1)·n)·(the rest)
		sum = float64(square/float64(n*(n-1))) * (1 - sum)
	}
	return float64(first * (1 - sum))
}
