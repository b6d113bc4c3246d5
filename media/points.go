package media

import (
	"math"

	"github.com/headrace/headrace/media/internal/orient"
)

// MovedPoint moves a point of the image as the plan's steps from one of them on do: maybe
// beyond the edges. The rules are those of torchvision's transforms of key
// points: points are places, but in flips, to which they are the numbers of pixels.
func (p *Plan) MovedPoint(x, y float64, from int) (toX, toY float64) {
	for i := range p.moves {
		m := &p.moves[i]
		if m.step < from {
			continue
		}
		x, y = m.point(x, y)
		switch { // the last pixel's number is one less than the place of the edge
		case m.flips == 2:
			x--
		case m.flips == 4:
			y--
		}
	}
	return x, y
}

// point moves a place. The result is not a number if no place of the image is left.
func (m *move) point(x, y float64) (toX, toY float64) {
	switch {
	case m.sane != nil || m.centres:
		return x, y
	case m.warp != nil:
		toX, toY, ok := m.warp.forth(x, y, m.to)
		if !ok {
			return math.NaN(), math.NaN()
		}
		return toX, toY
	case m.turn > 1:
		flipX, flipY, swap := orient.Parts(m.turn)
		if flipX {
			x = float64(m.from.Width) - x
		}
		if flipY {
			y = float64(m.from.Height) - y
		}
		if swap {
			x, y = y, x
		}
		return x, y
	case m.to == (Size{}):
		return x - float64(m.window.X), y - float64(m.window.Y)
	}
	is := m.part.Of(Rect{0, 0, m.from.Width, m.from.Height})
	return (x - is.X) * (float64(m.to.Width) / is.Width), (y - is.Y) * (float64(m.to.Height) / is.Height)
}
