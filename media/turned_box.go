package media

import (
	"math"

	"github.com/headrace/headrace/media/internal/orient"
)

// TurnedBox returns the corners of a box of which one is the upper left, and which is
// turned about it by an angle in degrees, counter-clockwise.
func TurnedBox(x, y, width, height, angle float64) Quad {
	sin, cos := sinCos(angle)
	acrossX, acrossY := float64(width*cos), float64(width*sin)
	downX, downY := float64(height*sin), float64(height*cos)
	return Quad{{x, y}, {x + acrossX, y - acrossY}, {x + acrossX + downX, y - acrossY + downY}, {x + downX, y + downY}}
}

// Sides returns the width and the height of a turned box.
func (q *Quad) Sides() (width, height float64) {
	return apart(q[0], q[1]), apart(q[1], q[2])
}

// Angle returns the angle of a turned box, in degrees.
func (q *Quad) Angle() float64 { return degrees(q[0][1]-q[1][1], q[1][0]-q[0][0]) }

// Center returns the middle of a turned box.
func (q *Quad) Center() (x, y float64) {
	return (q[0][0] + q[2][0]) / 2, (q[0][1] + q[2][1]) / 2
}

// Around returns the upright box around a turned one.
func (q *Quad) Around() Bounds {
	b := Bounds{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, at := range q {
		b = Bounds{min(b.X0, at[0]), min(b.Y0, at[1]), max(b.X1, at[0]), max(b.Y1, at[1])}
	}
	return b
}

func apart(a, b [2]float64) float64 {
	x, y := b[0]-a[0], b[1]-a[1]
	return math.Sqrt(float64(x*x) + float64(y*y))
}

// MovedTurned moves a turned box of the image as the plan's steps from one of them on do.
// If nothing of it is left, the result has no extent. As in torchvision, it is a
// rectangle again after each step, and one that is cut is the least of its angle around
// the rest.
func (p *Plan) MovedTurned(q Quad, from int) Quad {
	for i := range p.moves {
		m := &p.moves[i]
		switch {
		case m.step < from:
		case m.sane != nil:
			q = m.sane.keptTurned(q, m.from)
		case m.centres:
			x, y := q.Center()
			if w := m.window; !w.contains(x, y) {
				q = Quad{}
			}
		default:
			q = m.turned(q)
		}
	}
	return q
}

// turned is MovedTurned for one move.
func (m *move) turned(q Quad) Quad {
	for i, at := range q {
		q[i][0], q[i][1] = m.point(at[0], at[1])
	}
	switch {
	case m.turn > 1:
		if flipX, flipY, swap := orient.Parts(m.turn); (flipX != flipY) != swap { // a mirror image
			q = Quad{q[1], q[0], q[3], q[2]}
		}
		return q
	case m.warp != nil:
		return q.rectangle().cut(float64(m.to.Width), float64(m.to.Height))
	case m.to == (Size{}):
		return q.cut(float64(m.window.Width), float64(m.window.Height))
	}
	q = q.rectangle()
	if m.part != (Part{}) {
		q = q.cut(float64(m.to.Width), float64(m.to.Height))
	}
	return q
}

// contains reports whether a point is within the rectangle, and not on its edge.
func (r Rect) contains(x, y float64) bool {
	return float64(r.X) < x && x < float64(r.X+r.Width) && float64(r.Y) < y && y < float64(r.Y+r.Height)
}

// rectangle makes one of a parallelogram: its diagonal stays, and the direction of its
// longer side.
func (q Quad) rectangle() Quad {
	w, h := apart(q[0], q[1]), apart(q[0], q[3])
	if w == 0 || h == 0 {
		return Quad{}
	}
	ax, ay := (q[1][0]-q[0][0])/w, (q[1][1]-q[0][1])/w
	dx, dy := (q[3][0]-q[0][0])/h, (q[3][1]-q[0][1])/h
	sin := math.Abs(float64(ax*dy) - float64(ay*dx))
	cos := math.Abs(float64(ax*dx) + float64(ay*dy))

	// The longer side reaches as far as the diagonal, and the shorter is upright to it.
	switch {
	case w > h:
		w, h = w+float64(h*cos), float64(h*sin)
	case w < h:
		w, h = float64(w*sin), h+float64(w*cos)
		ax, ay = dy, -dx
	default:
		w, h = w+float64(h*cos), h+float64(w*cos)
	}
	x, y := q.Center()
	ax, ay, dx, dy = float64(w/2*ax), float64(w/2*ay), float64(h/2*-ay), float64(h/2*ax)
	return Quad{{x - ax - dx, y - ay - dy}, {x + ax - dx, y + ay - dy}, {x + ax + dx, y + ay + dy}, {x - ax + dx, y - ay + dy}}
}

// cut returns the least box of the same angle around what of it is in an image of a size.
func (q Quad) cut(width, height float64) Quad {
	left := clipped(q[:], width, height)
	w, h := q.Sides()
	if len(left) == 0 || !(w > 0 && h > 0) {
		return Quad{}
	}
	if around := q.Around(); around == around.within(width, height) {
		return q
	}

	across := [2]float64{(q[1][0] - q[0][0]) / w, (q[1][1] - q[0][1]) / w}
	down := [2]float64{(q[2][0] - q[1][0]) / h, (q[2][1] - q[1][1]) / h}
	part := Bounds{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, at := range left {
		x, y := at[0]-q[0][0], at[1]-q[0][1]
		a := float64(x*across[0]) + float64(y*across[1])
		d := float64(x*down[0]) + float64(y*down[1])
		part = Bounds{min(part.X0, a), min(part.Y0, d), max(part.X1, a), max(part.Y1, d)}
	}
	corner := func(a, d float64) [2]float64 {
		return [2]float64{
			q[0][0] + float64(a*across[0]) + float64(d*down[0]),
			q[0][1] + float64(a*across[1]) + float64(d*down[1]),
		}
	}
	return Quad{corner(part.X0, part.Y0), corner(part.X1, part.Y0), corner(part.X1, part.Y1), corner(part.X0, part.Y1)}
}

// clipped returns the corners of what of a polygon is in an image of a size: it is cut at
// one edge after the other.
func clipped(polygon [][2]float64, width, height float64) [][2]float64 {
	for axis, most := range [...]float64{width, height} {
		for _, sign := range [...]float64{1, -1} {
			inside := func(at [2]float64) float64 { // how far
				if sign > 0 {
					return at[axis]
				}
				return most - at[axis]
			}
			var left [][2]float64
			for i, at := range polygon {
				before := polygon[(i+len(polygon)-1)%len(polygon)]
				a, b := inside(before), inside(at)
				if a >= 0 != (b >= 0) {
					share := a / (a - b)
					left = append(left, [2]float64{
						before[0] + float64(share*(at[0]-before[0])),
						before[1] + float64(share*(at[1]-before[1])),
					})
				}
				if b >= 0 {
					left = append(left, at)
				}
			}
			polygon = left
		}
	}
	return polygon
}

// keptTurned is kept for a turned box.
func (l *limits) keptTurned(q Quad, of Size) Quad {
	w, h := q.Sides()
	around := q.Around()
	large := min(w, h) >= l.size && float64(w*h) >= l.area
	if large && around == around.within(float64(of.Width), float64(of.Height)) {
		return q
	}
	return Quad{}
}
