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

// degrees is the angle of a point seen from (0, 0), between -180 and 180, the same on
// every machine.
func degrees(y, x float64) float64 {
	low, high := min(math.Abs(x), math.Abs(y)), max(math.Abs(x), math.Abs(y))
	if !(high > 0) {
		return 0
	}
	t := low / high
	const halvings = 3 // of the angle, until the series is short
	for range halvings {
		t /= 1 + math.Sqrt(1+float64(t*t))
	}
	square, sum := float64(t*t), 0.0
	for n := 15.0; n > 0; n -= 2 { // Taylor's series of the arctangent
		sum = 1/n - float64(square*sum)
	}
	angle := float64(float64(t*sum) * (1 << halvings * 180 / math.Pi))

	if math.Abs(y) > math.Abs(x) {
		angle = 90 - angle
	}
	if x < 0 {
		angle = 180 - angle
	}
	return math.Copysign(angle, y)
}
