package media

import "github.com/headrace/headrace/media/internal/orient"

// Rect is a rectangle of pixels; its right and lower edges are outside it.
type Rect struct{ X, Y, Width, Height int }

// Part is a part of a rectangle, with edges between pixels. Where a length is 0, it is
// the whole length.
type Part struct{ X, Y, Width, Height float64 }

// Of returns the part of a rectangle, in the same coordinates as that.
func (p Part) Of(r Rect) Part {
	whole := Part{float64(r.X), float64(r.Y), float64(r.Width), float64(r.Height)}
	if p.Width != 0 {
		whole.X, whole.Width = whole.X+p.X, p.Width
	}
	if p.Height != 0 {
		whole.Y, whole.Height = whole.Y+p.Y, p.Height
	}
	return whole
}

// In reports whether the rectangle is within an image of this size.
func (r Rect) In(width, height int) bool {
	return r.X >= 0 && r.Y >= 0 && r.X+r.Width <= width && r.Y+r.Height <= height
}

// stored is the part of an image of this size that comes to be r when the image is
// turned.
func (r Rect) stored(turn, width, height int) Rect {
	x, y, w, h := orient.Stored(turn, width, height, r.X, r.Y, r.Width, r.Height)
	return Rect{x, y, w, h}
}

// upright is what the part r of an image of this size comes to be when the image is
// turned.
func (r Rect) upright(turn, width, height int) Rect {
	x, y, w, h := orient.Upright(turn, width, height, r.X, r.Y, r.Width, r.Height)
	return Rect{x, y, w, h}
}
