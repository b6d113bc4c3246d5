package media

import "fmt"

// Resize scales an image so that its short side has Size pixels, and the long side in
// proportion, rounded down. If the long side would then be longer than MaxSize (where
// that is not 0), it is MaxSize, and the short side shrinks in proportion.
type Resize struct {
	Size    int    `json:"size"`
	MaxSize int    `json:"max_size,omitempty"`
	Filter  Filter `json:"filter,omitzero"`
}

// Check returns what is wrong with the parameters.
func (o Resize) Check() error {
	if o.Size < 1 || o.Size > maxSide {
		return fmt.Errorf("%w: resize to a short side of %d pixels", ErrGeometry, o.Size)
	}
	if o.MaxSize != 0 && (o.MaxSize <= o.Size || o.MaxSize > maxSide) {
		return fmt.Errorf("%w: resize: max_size %d must be greater than size %d", ErrGeometry, o.MaxSize, o.Size)
	}
	return o.Filter.check("resize")
}

// Result tells the form after the operation.
func (o Resize) Result(in Form) (Form, error) {
	return in.sized("resize", o.size(Size{in.Height, in.Width}))
}

func (o Resize) size(in Size) Size {
	if in.Height <= 0 || in.Width <= 0 {
		return Size{Unknown, Unknown}
	}
	short, long := o.Size, scaleDown(o.Size, max(in.Height, in.Width), min(in.Height, in.Width))
	if o.MaxSize != 0 && long > o.MaxSize {
		short, long = scaleDown(o.MaxSize, short, long), o.MaxSize
	}
	if in.Width <= in.Height {
		return Size{Height: long, Width: short}
	}
	return Size{Height: short, Width: long}
}

func (o Resize) name() string { return "resize" }

func (o Resize) place(p *Plan, _ uint64, _ Rand) error {
	to := o.size(Size{p.Height, p.Width})
	if to.Width < 1 || to.Height < 1 {
		return fmt.Errorf("%w: resize of %d×%d pixels would leave %d×%d", ErrGeometry, p.Width, p.Height, to.Width, to.Height)
	}
	if to.Width > MaxPixels/to.Height {
		return fmt.Errorf("%w: resize of %d×%d pixels would make %d×%d", ErrTooLarge, p.Width, p.Height, to.Width, to.Height)
	}
	p.resize(to.Width, to.Height, o.Filter)
	return nil
}

// ResizeExact scales an image to this size, whatever becomes of its proportions.
type ResizeExact struct {
	Height int    `json:"height"`
	Width  int    `json:"width"`
	Filter Filter `json:"filter,omitzero"`
}

// Check returns what is wrong with the parameters.
func (o ResizeExact) Check() error { return checkFit(o.Height, o.Width, o.Filter, Center) }

// Result tells the form after the operation.
func (o ResizeExact) Result(in Form) (Form, error) {
	return in.sized("resize", Size{o.Height, o.Width})
}

func (o ResizeExact) name() string { return "resize" }

func (o ResizeExact) place(p *Plan, _ uint64, _ Rand) error {
	p.resize(o.Width, o.Height, o.Filter)
	return nil
}

// maxSide is the longest side that an operation may ask for: what a JPEG can have.
const maxSide = 65535

func checkSide(op string, height, width int) error {
	switch {
	case height < 1, width < 1, height > maxSide, width > maxSide, width > MaxPixels/height:
		return fmt.Errorf("%w: %s to a height of %d and a width of %d pixels", ErrGeometry, op, height, width)
	}
	return nil
}

// scaleDown is int(a * b / c) as Python computes it: one rounding to double in the
// division, then the fraction is cut off.
func scaleDown(a, b, c int) int { return int(float64(a*b) / float64(c)) }
