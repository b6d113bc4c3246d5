package media

import (
	"fmt"
	"math/bits"
)

// ResizeToBucket gives an image that of several sizes whose proportions are nearest to
// its own, by the logarithm of width to height; of equally near ones the first. The
// image is scaled so that it just covers the size, and the middle is cut out.
type ResizeToBucket struct {
	Sizes  []Size `json:"sizes"`
	Filter Filter `json:"filter,omitzero"`
}

// Check returns what is wrong with the parameters.
func (o ResizeToBucket) Check() error {
	if len(o.Sizes) == 0 {
		return fmt.Errorf("%w: resize_to_bucket without sizes", ErrGeometry)
	}
	for _, s := range o.Sizes {
		if err := checkSide("resize_to_bucket", s.Height, s.Width); err != nil {
			return err
		}
	}
	return o.Filter.check("resize_to_bucket")
}

// Result tells the form after the operation.
func (o ResizeToBucket) Result(in Form) (Form, error) {
	s := o.Sizes[0]
	if len(o.Sizes) > 1 {
		s = o.nearest(Size{in.Height, in.Width})
	}
	return in.sized("resize_to_bucket", s)
}

func (o ResizeToBucket) name() string { return "resize_to_bucket" }

func (o ResizeToBucket) place(p *Plan, _ uint64, _ Rand) error {
	to := o.nearest(Size{p.Height, p.Width})
	cover := to
	if p.Width*to.Height >= p.Height*to.Width { // the image is the wider one
		cover.Width = max(scaleDown(to.Height, p.Width, p.Height), to.Width)
	} else {
		cover.Height = max(scaleDown(to.Width, p.Height, p.Width), to.Height)
	}
	if cover.Width > MaxPixels/cover.Height {
		return fmt.Errorf("%w: resize_to_bucket of %d×%d pixels would make %d×%d on the way to %d×%d",
			ErrTooLarge, p.Width, p.Height, cover.Width, cover.Height, to.Width, to.Height)
	}
	p.resize(cover.Width, cover.Height, o.Filter)
	p.window(Rect{centre(cover.Width, to.Width), centre(cover.Height, to.Height), to.Width, to.Height}, [4]uint16{})
	return nil
}

// nearest picks the size for an image.
func (o ResizeToBucket) nearest(in Size) Size {
	if in.Height <= 0 || in.Width <= 0 {
		return Size{Unknown, Unknown}
	}
	best := 0
	far, of := stretch(in, o.Sizes[0])
	for i, s := range o.Sizes[1:] {
		if f, d := stretch(in, s); less(f, d, far, of) {
			best, far, of = i+1, f, d
		}
	}
	return o.Sizes[best]
}

// stretch is how much more one side must be scaled than the other, as a fraction from 1
// on. In whole numbers, so that it is the same on every machine.
func stretch(a, b Size) (n, d uint64) {
	n, d = uint64(a.Width)*uint64(b.Height), uint64(a.Height)*uint64(b.Width)
	return max(n, d), min(n, d)
}

// less reports whether a/b < c/d.
func less(a, b, c, d uint64) bool {
	leftHigh, leftLow := bits.Mul64(a, d)
	rightHigh, rightLow := bits.Mul64(c, b)
	return leftHigh < rightHigh || leftHigh == rightHigh && leftLow < rightLow
}
