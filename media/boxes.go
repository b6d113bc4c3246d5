package media

import "math"

// move is what one of a plan's steps did to where pixels are: it turned, cut a window out
// or scaled a part.
type move struct {
	step   int
	from   Size // of the image before
	turn   int  // 1: it did not turn
	window Rect // the zero Rect: it did not cut
	part   Part
	to     Size // the zero Size: it did not scale
	warp   *Warp
	sane   *limits
	// centres says that boxes whose centres are not in the window are not to stay: it
	// cuts nothing.
	centres bool
	flips   int // the turn, if it is a flip
}

// Moved is where a box of the image is after the plan's steps from one of them on. What
// is beyond the edges of a window or of a part is cut off, so that nothing may be left of
// it. The rules are those of torchvision's transforms of boxes.
func (p *Plan) Moved(b Bounds, from int) Bounds {
	for i := range p.moves {
		m := &p.moves[i]
		switch {
		case m.step < from:
		case m.sane != nil:
			b = m.sane.kept(b, m.from)
		case m.centres:
			w := m.window
			if !(Bounds{float64(w.X), float64(w.Y), float64(w.X + w.Width), float64(w.Y + w.Height)}).holdsCentre(b) {
				b = Bounds{}
			}
		case m.warp != nil:
			b = m.warp.moved(b, m.to)
		case m.turn > 1:
			b = b.turned(m.turn, float64(m.from.Width), float64(m.from.Height))
		case m.to == (Size{}):
			b = b.from(float64(m.window.X), float64(m.window.Y)).within(float64(m.window.Width), float64(m.window.Height))
		default:
			is := m.part.Of(Rect{0, 0, m.from.Width, m.from.Height})
			if b = b.from(is.X, is.Y); m.part != (Part{}) {
				b = b.within(is.Width, is.Height)
			}
			x, y := float64(m.to.Width)/is.Width, float64(m.to.Height)/is.Height
			b = Bounds{b.X0 * x, b.Y0 * y, b.X1 * x, b.Y1 * y}
		}
	}
	return b
}

// moved returns the upright box around the four corners of a box, in a result of a size.
func (w *Warp) moved(b Bounds, to Size) Bounds {
	around := Bounds{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, at := range [...][2]float64{{b.X0, b.Y0}, {b.X1, b.Y0}, {b.X1, b.Y1}, {b.X0, b.Y1}} {
		x, y, ok := w.forth(at[0], at[1], to)
		if !ok {
			return Bounds{} // nothing of the image is left
		}
		around = Bounds{min(around.X0, x), min(around.Y0, y), max(around.X1, x), max(around.Y1, y)}
	}
	return around.within(float64(to.Width), float64(to.Height))
}

// forth takes a point of the image before to its place in a result of a size. It
// reports false if the map has no inverse. Waves have none: those at the point are taken
// back, as torchvision does.
func (w *Warp) forth(x, y float64, to Size) (toX, toY float64, ok bool) {
	back, ok := w.Map.inverse()
	if !ok {
		return 0, 0, false
	}
	toX, toY = back.At(x, y)
	if w.Waves.On() {
		moved := w.Waves.at(to, int(clamp(toX, float64(to.Width-1))), int(clamp(toY, float64(to.Height-1))))
		toX -= float64(float64(moved[0]) * w.Waves.X)
		toY -= float64(float64(moved[1]) * w.Waves.Y)
	}
	return toX, toY, true
}
