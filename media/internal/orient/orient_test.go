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
