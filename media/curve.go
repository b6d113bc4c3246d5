package media

// mirrored finds a row or column beyond an edge within an image of n: 0 is the first, and
// is not repeated.
func mirrored(i, n int) int {
	if n == 1 {
		return 0
	}
	period := 2 * (n - 1)
	if i %= period; i < 0 {
		i += period
	}
	return min(i, period-i)
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
