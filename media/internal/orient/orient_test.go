package orient

import "testing"

// Every orientation is a one-to-one map of pixels, and parts go where their pixels go.
func TestAt(t *testing.T) {
	const width, height = 5, 3
	for o := 1; o <= 8; o++ {
		w, h := width, height
		if o > 4 {
			w, h = h, w
		}
		seen := make(map[[2]int]bool)
		for y := range h {
			for x := range w {
				sx, sy := At(o, width, height, x, y)
				if sx < 0 || sx >= width || sy < 0 || sy >= height || seen[[2]int{sx, sy}] {
					t.Errorf("orientation %d: (%d,%d) is at (%d,%d)", o, x, y, sx, sy)
				}
				seen[[2]int{sx, sy}] = true
			}
		}
		sx, sy, sw, sh := Stored(o, width, height, 1, 0, 2, 3)
		for y := range 3 {
			for x := 1; x < 3; x++ {
				if px, py := At(o, width, height, x, y); px < sx || px >= sx+sw || py < sy || py >= sy+sh || sw*sh != 6 {
					t.Errorf("orientation %d: (%d,%d) is at (%d,%d), outside of %d,%d %d×%d", o, x, y, px, py, sx, sy, sw, sh)
				}
			}
		}
	}
}

// Two turns are one, and a turn can be undone: pixel for pixel.
func TestThenAndInverse(t *testing.T) {
	const width, height = 5, 3
	for a := 1; a <= 8; a++ {
		w, h := Size(a, width, height)
		for b := 1; b <= 8; b++ {
			both := Then(a, b)
			uw, uh := Size(b, w, h)
			if cw, ch := Size(both, width, height); cw != uw || ch != uh {
				t.Errorf("%d, then %d: %d×%d, want %d×%d", a, b, cw, ch, uw, uh)
			}
			for y := range uh {
				for x := range uw {
					mx, my := At(b, w, h, x, y)
					wx, wy := At(a, width, height, mx, my)
					if gx, gy := At(both, width, height, x, y); gx != wx || gy != wy {
						t.Errorf("%d, then %d: (%d,%d) is at (%d,%d), want (%d,%d)", a, b, x, y, gx, gy, wx, wy)
					}
				}
			}
		}
		if got := Then(a, Inverse(a)); got != 1 {
			t.Errorf("%d undone is %d", a, got)
		}
		x, y, uw, uh := Upright(a, width, height, 1, 0, 3, 2)
		if sx, sy, sw, sh := Stored(a, width, height, x, y, uw, uh); [4]int{sx, sy, sw, sh} != [4]int{1, 0, 3, 2} {
			t.Errorf("%d: part (%d,%d,%d,%d) there and back", a, sx, sy, sw, sh)
		}
		flipX, flipY, swap := Parts(a)
		for py := range h {
			for px := range w {
				sx, sy := px, py
				if swap {
					sx, sy = sy, sx
				}
				if flipX {
					sx = width - 1 - sx
				}
				if flipY {
					sy = height - 1 - sy
				}
				if wx, wy := At(a, width, height, px, py); sx != wx || sy != wy {
					t.Errorf("%d: parts disagree at (%d,%d)", a, px, py)
				}
			}
		}
	}
}
