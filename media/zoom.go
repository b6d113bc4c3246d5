package media

import (
	"fmt"
	"math"
)

// RandomZoomOut puts an image, with probability P, at a random place of a larger canvas,
// whose sides are longer by a factor that is drawn evenly between two bounds.
type RandomZoomOut struct {
	SideRange [2]float64 `json:"side_range"` // from 1 on
	P         float64    `json:"p"`
	Fill      [4]uint16  `json:"fill,omitzero"`
}

// Check refuses parameters beyond their bounds.
func (o RandomZoomOut) Check() error {
	if !(o.SideRange[0] >= 1 && o.SideRange[0] <= o.SideRange[1] && o.SideRange[1] <= maxSide) {
		return fmt.Errorf("%w: random_zoom_out: side_range %v must be two rising numbers from 1 on", ErrGeometry, o.SideRange)
	}
	return checkChance("random_zoom_out", o.P)
}

// Result tells the form after the operation.
func (o RandomZoomOut) Result(in Form) (Form, error) {
	if o.P > 0 && o.SideRange[1] > 1 {
		in.Height, in.Width = Unknown, Unknown
	}
	if err := checkFill("random_zoom_out", in, o.Fill); err != nil {
		return in, err
	}
	return in, in.checkPixels("random_zoom_out")
}

func (o RandomZoomOut) name() string { return "random_zoom_out" }

// place uses draw 0 to decide whether, 1 for the factor, and 2 and 3 for the place.
func (o RandomZoomOut) place(p *Plan, id uint64, r Rand) error {
	to := Rect{0, 0, p.Width, p.Height}
	if r.Float64(id, 0) < o.P {
		by := evenly(o.SideRange, id, r, 1)
		width, height := float64(float64(p.Width)*by), float64(float64(p.Height)*by)
		if !(width*height <= MaxPixels) {
			return fmt.Errorf("%w: random_zoom_out of %d×%d pixels by %v", ErrTooLarge, p.Width, p.Height, by)
		}
		to.Width, to.Height = int(width), int(height)
		to.X = -int(float64(to.Width-p.Width) * r.Float64(id, 2))
		to.Y = -int(float64(to.Height-p.Height) * r.Float64(id, 3))
	}
	if p.tells() {
		p.tellRect(to)
	}
	p.window(to, o.Fill)
	return nil
}

// ScaleJitter scales an image so that it fits into a size, times a factor that is drawn
// evenly between two bounds.
type ScaleJitter struct {
	Height int        `json:"height"`
	Width  int        `json:"width"`
	Scale  [2]float64 `json:"scale"` // above 0
	Filter Filter     `json:"filter,omitzero"`
}

// Check refuses parameters beyond their bounds.
func (o ScaleJitter) Check() error {
	if err := checkSide("scale_jitter", o.Height, o.Width); err != nil {
		return err
	}
	if !(o.Scale[0] > 0 && o.Scale[0] <= o.Scale[1] && o.Scale[1] <= maxSide) {
		return fmt.Errorf("%w: scale_jitter: scale %v must be two rising numbers above 0", ErrGeometry, o.Scale)
	}
	return o.Filter.check("scale_jitter")
}

// Result tells the form after the operation.
func (o ScaleJitter) Result(in Form) (Form, error) {
	in.Height, in.Width = Unknown, Unknown
	return in, in.checkPixels("scale_jitter")
}

func (o ScaleJitter) name() string { return "scale_jitter" }

// place uses draw 0.
func (o ScaleJitter) place(p *Plan, id uint64, r Rand) error {
	by := float64(min(float64(o.Height)/float64(p.Height), float64(o.Width)/float64(p.Width)) * evenly(o.Scale, id, r, 0))
	return p.scale("scale_jitter", by, o.Filter)
}

// scale makes both sides longer by a factor, and cuts off fractions; but none becomes
// less than a pixel.
func (p *Plan) scale(op string, by float64, f Filter) error {
	width, height := math.Floor(float64(float64(p.Width)*by)), math.Floor(float64(float64(p.Height)*by))
	width, height = max(width, 1), max(height, 1)
	if !(width*height <= MaxPixels) {
		return fmt.Errorf("%w: %s of %d×%d pixels by %v", ErrTooLarge, op, p.Width, p.Height, by)
	}
	if p.tells() {
		p.tell(map[string]any{"width": int(width), "height": int(height)})
	}
	p.resize(int(width), int(height), f)
	return nil
}

// RandomShortSize scales an image so that its short side has one of some sizes, drawn
// evenly; or less, if the long side would be longer than MaxSize, where that is not 0.
type RandomShortSize struct {
	Sizes   []int  `json:"sizes"`
	MaxSize int    `json:"max_size,omitempty"`
	Filter  Filter `json:"filter,omitzero"`
}

// Check refuses parameters beyond their bounds.
func (o RandomShortSize) Check() error {
	if len(o.Sizes) == 0 {
		return fmt.Errorf("%w: random_short_size without sizes", ErrGeometry)
	}
	for _, n := range o.Sizes {
		if n < 1 || n > maxSide {
			return fmt.Errorf("%w: random_short_size of %d pixels", ErrGeometry, n)
		}
	}
	if o.MaxSize < 0 || o.MaxSize > maxSide {
		return fmt.Errorf("%w: random_short_size with a max_size of %d pixels", ErrGeometry, o.MaxSize)
	}
	return o.Filter.check("random_short_size")
}

// Result tells the form after the operation.
func (o RandomShortSize) Result(in Form) (Form, error) {
	in.Height, in.Width = Unknown, Unknown
	return in, in.checkPixels("random_short_size")
}

func (o RandomShortSize) name() string { return "random_short_size" }

// place uses draw 0.
func (o RandomShortSize) place(p *Plan, id uint64, r Rand) error {
	short := o.Sizes[below(r.Float64(id, 0), len(o.Sizes))]
	by := float64(short) / float64(min(p.Width, p.Height))
	if o.MaxSize > 0 {
		by = min(by, float64(o.MaxSize)/float64(max(p.Width, p.Height)))
	}
	return p.scale("random_short_size", by, o.Filter)
}
