package media

import "github.com/headrace/headrace/media/internal/orient"

// Bounds are a part of an image by its edges, in pixels from the upper left corner.
type Bounds struct{ X0, Y0, X1, Y1 float64 }

// from counts from another corner.
func (b Bounds) from(x, y float64) Bounds { return Bounds{b.X0 - x, b.Y0 - y, b.X1 - x, b.Y1 - y} }

// within returns the part in an image of a size.
func (b Bounds) within(width, height float64) Bounds {
	return Bounds{clamp(b.X0, width), clamp(b.Y0, height), clamp(b.X1, width), clamp(b.Y1, height)}
}

func clamp(v, most float64) float64 { return min(max(v, 0), most) }

// turned returns the box after an image of a size is turned.
func (b Bounds) turned(turn int, width, height float64) Bounds {
	flipX, flipY, swap := orient.Parts(turn)
	if flipX {
		b.X0, b.X1 = width-b.X1, width-b.X0
	}
	if flipY {
		b.Y0, b.Y1 = height-b.Y1, height-b.Y0
	}
	if swap {
		b = Bounds{b.Y0, b.X0, b.Y1, b.X1}
	}
	return b
}

func (b Bounds) holdsCentre(other Bounds) bool {
	x, y := .5*(other.X0+other.X1), .5*(other.Y0+other.Y1)
	return b.X0 < x && x < b.X1 && b.Y0 < y && y < b.Y1
}

func (b Bounds) area() float64 { return float64((b.X1 - b.X0) * (b.Y1 - b.Y0)) }

// overlap returns the area that two boxes share over the area that they cover.
func (b Bounds) overlap(other Bounds) float64 {
	w, h := min(b.X1, other.X1)-max(b.X0, other.X0), min(b.Y1, other.Y1)-max(b.Y0, other.Y0)
	if w <= 0 || h <= 0 {
		return 0
	}
	common := float64(w * h)
	return common / (b.area() + other.area() - common)
}

// limits decide which boxes stay.
type limits struct{ size, area float64 }

// kept returns the box, or one without extent if it is not to stay.
func (l *limits) kept(b Bounds, of Size) Bounds {
	w, h := b.X1-b.X0, b.Y1-b.Y0
	large := min(w, h) >= l.size && float64(w*h) >= l.area
	if large && b == b.within(float64(of.Width), float64(of.Height)) {
		return b
	}
	return Bounds{}
}
