package testjpeg

import "math"

// quantised is the cosine transform of 8 × 8 samples, divided by step and rounded, in
// zigzag order.
func quantised(px *[64]float64, step int) [64]int {
	var rows [64]float64
	for y := range 8 {
		for u := range 8 {
			for x := range 8 {
				rows[y*8+u] += px[y*8+x] * cosines[u][x]
			}
		}
	}
	var out [64]int
	for k, at := range zigzag {
		var sum float64
		for y := range 8 {
			sum += rows[y*8+at%8] * cosines[at/8][y]
		}
		limit := 1023.
		if k == 0 {
			limit = 2047
		}
		out[k] = int(math.Round(min(max(sum/float64(step), -limit), limit)))
	}
	return out
}

var cosines = func() (c [8][8]float64) {
	for u := range 8 {
		for x := range 8 {
			c[u][x] = math.Cos(float64(2*x+1)*float64(u)*math.Pi/16) / 2
			if u == 0 {
				c[u][x] /= math.Sqrt2
			}
		}
	}
	return c
}()

// zigzag walks the diagonals of a block.
var zigzag = func() (order [64]int) {
	x, y := 0, 0
	for k := range order {
		order[k] = y*8 + x
		switch up := (x+y)%2 == 0; {
		case up && x == 7:
			y++
		case up && y == 0:
			x++
		case up:
			x, y = x+1, y-1
		case y == 7:
			x++
		case x == 0:
			y++
		default:
			x, y = x-1, y+1
		}
	}
	return order
}()
