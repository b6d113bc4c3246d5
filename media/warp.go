package media

import (
	"math"

	"github.com/headrace/headrace/media/internal/orient"
)

// Map goes from a point to another: x to (m0·x + m1·y + m2) / (m6·x + m7·y + m8), y to
// (m3·x + m4·y + m5) / the same. Points are in pixels from the upper left corner of an
// image, so that the centre of its first pixel is (½, ½).
type Map [9]float64

// Affine reports whether the map keeps lines parallel: there is nothing to divide by.
func (m *Map) Affine() bool { return m[6] == 0 && m[7] == 0 && m[8] == 1 }

// At takes a point to its place. The conversions keep the compiler from fusing
// operations, so that it is the same on every machine; the order of the sums is
// Pillow's.
func (m *Map) At(x, y float64) (toX, toY float64) {
	toX = float64(float64(m[0]*x)+float64(m[1]*y)) + m[2]
	toY = float64(float64(m[3]*x)+float64(m[4]*y)) + m[5]
	if m.Affine() {
		return toX, toY
	}
	by := float64(float64(m[6]*x)+float64(m[7]*y)) + m[8]
	return toX / by, toY / by
}

// inverse undoes the map. It reports false where several points go to one.
func (m *Map) inverse() (Map, bool) {
	minor := func(a, b, c, d int) float64 { return float64(m[a]*m[d]) - float64(m[b]*m[c]) }
	inverse := Map{
		minor(4, 5, 7, 8), minor(2, 1, 8, 7), minor(1, 2, 4, 5),
		minor(5, 3, 8, 6), minor(0, 2, 6, 8), minor(2, 0, 5, 3),
		minor(3, 4, 6, 7), minor(1, 0, 7, 6), minor(0, 1, 3, 4),
	}
	whole := float64(float64(m[0]*inverse[0])+float64(m[1]*inverse[3])) + float64(m[2]*inverse[6])
	if whole == 0 || math.IsNaN(whole) || math.IsInf(whole, 0) {
		return Map{}, false
	}
	by := whole
	if m.Affine() {
		inverse[6], inverse[7] = 0, 0
	} else {
		by = inverse[8]
	}
	for i := range inverse {
		inverse[i] /= by
	}
	if m.Affine() {
		inverse[8] = 1
	}
	return inverse, by != 0
}

// Warp has the source of each pixel of a stage's result.
type Warp struct {
	// Map goes from the centres of pixels of the result to points of the image before.
	Map    Map
	Filter Filter // Nearest, Bilinear or Bicubic
	// Of is the size of the image before. Beyond its edges there is the stage's Fill;
	// within them, pixels at the edge count for their neighbours outside.
	Of Size
	// X and Y are the place in that image at which the stage's input begins: it may be no
	// more of it than the result needs.
	X, Y int
	// Waves moves points once more. Its zero value does not.
	Waves Waves
}

// warp has the image resampled along a map, whose result has a size of its own.
func (p *Plan) warp(w Warp, to Size, fill [4]uint16) {
	w.Of = Size{p.Height, p.Width}
	if p.Color == Mask {
		w.Filter = Nearest
	}
	p.moves = append(p.moves, move{step: p.drawing, from: w.Of, to: to, warp: &w, turn: 1})
	p.addStage()
	s := p.last()
	s.Warp, s.Fill = &w, fill
	p.Width, p.Height = to.Width, to.Height
	s.Width, s.Height = to.Width, to.Height
	s.Window = Rect{0, 0, to.Width, to.Height}
}

// narrow leaves out of each stage all pixels that the warp after it does not look at.
func (p *Plan) narrow() {
	for i := len(p.Stages) - 1; i > 0; i-- {
		s, before := &p.Stages[i], &p.Stages[i-1]
		if s.Warp == nil || before.looksAround() {
			continue
		}
		need := s.Warp.needs(s.Visible())
		if need == (Rect{0, 0, s.Warp.Of.Width, s.Warp.Of.Height}) {
			continue
		}
		w := *s.Warp // moves have the same one
		w.X, w.Y = need.X, need.Y
		s.Warp, s.Crop = &w, Rect{0, 0, need.Width, need.Height}
		if before.Turn > 1 {
			need = need.stored(before.Turn, before.Window.Width, before.Window.Height)
		}
		before.Window = Rect{before.Window.X + need.X, before.Window.Y + need.Y, need.Width, need.Height}
	}
}

// needs returns the part of the image before that a part of the result may come from:
// never nothing, since every stage has a result.
func (w *Warp) needs(part Rect) Rect {
	whole := Rect{0, 0, w.Of.Width, w.Of.Height}
	x0, y0 := float64(part.X)+.5, float64(part.Y)+.5
	x1, y1 := float64(part.X+part.Width)-.5, float64(part.Y+part.Height)-.5
	least, most := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	for _, at := range [...][2]float64{{x0, y0}, {x1, y0}, {x0, y1}, {x1, y1}} {
		if float64(float64(w.Map[6]*at[0])+float64(w.Map[7]*at[1]))+w.Map[8] <= 0 {
			return whole // the horizon is between
		}
		x, y := w.Map.At(at[0], at[1])
		for k, v := range [...]float64{x, y} {
			least[k], most[k] = min(least[k], v), max(most[k], v)
		}
	}
	// As far as bicubic looks, and rounding of coordinates; and the highest wave.
	around := 3 + float64(max(w.Waves.X, w.Waves.Y)*(1<<15))
	start := func(v float64, n int) int { return int(min(max(v-around, 0), float64(n-1))) }
	end := func(v float64, n int) int { return int(min(max(v+around, 1), float64(n))) }
	left, top := start(least[0], w.Of.Width), start(least[1], w.Of.Height)
	right, bottom := max(end(most[0], w.Of.Width), left+1), max(end(most[1], w.Of.Height), top+1)
	if math.IsNaN(least[0] + least[1] + most[0] + most[1]) {
		return whole
	}
	return Rect{left, top, right - left, bottom - top}
}

// Grid says which points of a warp's result, as it is before its stage turns it, the
// pixels of a target are: that at the upper left has its centre at X + ½, Y + ½, and each
// step along a row or down a column goes on by a pixel in one direction.
type Grid struct {
	X, Y, RightX, RightY, DownX, DownY int
}

// Grid returns that of the stage's Target.
func (s *Stage) Grid() (g Grid) {
	at := s.Target()
	point := func(x, y int) (int, int) {
		x, y = orient.At(max(s.Turn, 1), s.Window.Width, s.Window.Height, at.X+x, at.Y+y)
		return x + s.Window.X, y + s.Window.Y
	}
	g.X, g.Y = point(0, 0)
	g.RightX, g.RightY = point(1, 0)
	g.DownX, g.DownY = point(0, 1)
	g.RightX, g.RightY, g.DownX, g.DownY = g.RightX-g.X, g.RightY-g.Y, g.DownX-g.X, g.DownY-g.Y
	return g
}

// Fixed is the map in numbers with 16 bits of fractions, as Pillow has it for the nearest
// pixel of images that are turned or sheared, and not too large for that.
type Fixed struct{ X, Y, XByX, XByY, YByX, YByY int64 }

// Fixed returns it, and false where points are computed in floating point. to is the size
// of the whole result.
func (w *Warp) Fixed(to Size) (f Fixed, is bool) {
	m := &w.Map
	upright := m[1] == 0 && m[3] == 0
	if w.Filter != Nearest || !m.Affine() || upright || w.Waves.On() {
		return f, false
	}
	right, bottom := float64(to.Width), float64(to.Height)
	for _, at := range [...][2]float64{{0, 0}, {right, 0}, {0, bottom}, {right, bottom}} {
		if x, y := m.At(at[0], at[1]); !(math.Abs(x) < 1<<15 && math.Abs(y) < 1<<15) {
			return f, false
		}
	}
	fixed := func(v float64) int64 { return int64(math.Floor(float64(v*(1<<16)) + .5)) }
	half := func(a, b, c float64) float64 { return float64(float64(c+float64(a*.5)) + float64(b*.5)) }
	return Fixed{fixed(half(m[0], m[1], m[2])), fixed(half(m[3], m[4], m[5])),
		fixed(m[0]), fixed(m[1]), fixed(m[3]), fixed(m[4])}, true
}
