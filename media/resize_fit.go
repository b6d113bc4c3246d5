package media

import (
	"fmt"
	"math"
)

// ResizePad scales an image in proportion so that it just fits into a frame of one
// size, and fills the rest of the frame: a letterbox. It is Pillow's ImageOps.pad.
type ResizePad struct {
	Height int    `json:"height"`
	Width  int    `json:"width"`
	Filter Filter `json:"filter,omitzero"`
	Anchor Anchor `json:"anchor,omitzero"`
	// Fill is the colour by channel, as that of [Pad].
	Fill [4]uint16 `json:"fill,omitzero"`
}

// Check returns what is wrong with the parameters.
func (o ResizePad) Check() error { return checkFit(o.Height, o.Width, o.Filter, o.Anchor) }

// Result tells the form after the operation.
func (o ResizePad) Result(in Form) (Form, error) {
	if err := checkFill("resize", in, o.Fill); err != nil {
		return in, err
	}
	return in.sized("resize", Size{o.Height, o.Width})
}

func (o ResizePad) name() string { return "resize" }

func (o ResizePad) place(p *Plan, _ uint64, _ Rand) error {
	width, height := o.Width, o.Height
	switch is, to := float64(p.Width)/float64(p.Height), float64(o.Width)/float64(o.Height); {
	case is > to: // what would be thinner than a pixel is one
		height = max(1, int(math.RoundToEven(float64(p.Height)/float64(p.Width)*float64(o.Width))))
	case is < to:
		width = max(1, int(math.RoundToEven(float64(p.Width)/float64(p.Height)*float64(o.Height))))
	}
	p.resize(width, height, o.Filter)
	left, top := o.Anchor.margins(o.Width-width, o.Height-height)
	p.window(Rect{-left, -top, o.Width, o.Height}, o.Fill)
	return nil
}

// ResizeCrop cuts the largest part of the wanted proportions out of an image, and
// scales it to the size. The part may begin and end within pixels, and what is beside
// it is mixed in as far as the filter reaches: it is Pillow's ImageOps.fit.
type ResizeCrop struct {
	Height int    `json:"height"`
	Width  int    `json:"width"`
	Filter Filter `json:"filter,omitzero"`
	Anchor Anchor `json:"anchor,omitzero"`
}

// Check returns what is wrong with the parameters.
func (o ResizeCrop) Check() error { return checkFit(o.Height, o.Width, o.Filter, o.Anchor) }

// Result tells the form after the operation.
func (o ResizeCrop) Result(in Form) (Form, error) {
	return in.sized("resize", Size{o.Height, o.Width})
}

func (o ResizeCrop) name() string { return "resize" }

func (o ResizeCrop) place(p *Plan, _ uint64, _ Rand) error {
	var part Part
	x, y := o.Anchor.shares()
	ratio := float64(o.Width) / float64(o.Height)
	switch is := float64(p.Width) / float64(p.Height); {
	case is > ratio:
		part.X, part.Width = within(p.Width, float64(ratio*float64(p.Height)), x)
	case is < ratio:
		part.Y, part.Height = within(p.Height, float64(p.Width)/ratio, y)
	}
	p.resizePart(part, o.Width, o.Height, o.Filter)
	return nil
}

// within is a part of a side, of which so much is before it. Pillow has the edges in
// single precision.
func within(side int, length, share float64) (from, size float64) {
	left := float64((float64(side) - length) * share)
	first, end := float32(left), float32(left+length)
	if first == 0 && end == float32(side) {
		return 0, 0
	}
	// What is too thin for single precision is in the image all the same.
	first = min(first, math.Nextafter32(float32(side), 0))
	end = max(end, math.Nextafter32(first, math.MaxFloat32))
	return float64(first), float64(end - first)
}

func checkFit(height, width int, f Filter, a Anchor) error {
	if err := checkSide("resize", height, width); err != nil {
		return err
	}
	if err := f.check("resize"); err != nil {
		return err
	}
	return a.check("resize")
}

// PadTo puts a border of one colour round an image, so that it has a size. A larger
// image is an error.
type PadTo struct {
	Height int    `json:"height"`
	Width  int    `json:"width"`
	Anchor Anchor `json:"anchor,omitzero"`
	// Fill is the colour by channel, as that of [Pad].
	Fill [4]uint16 `json:"fill,omitzero"`
}

// Check returns what is wrong with the parameters.
func (o PadTo) Check() error {
	if err := checkSide("pad", o.Height, o.Width); err != nil {
		return err
	}
	return o.Anchor.check("pad")
}

// Result tells the form after the operation.
func (o PadTo) Result(in Form) (Form, error) {
	if err := checkFill("pad", in, o.Fill); err != nil {
		return in, err
	}
	return in.sized("pad", Size{o.Height, o.Width})
}

func (o PadTo) name() string { return "pad" }

func (o PadTo) place(p *Plan, _ uint64, _ Rand) error {
	if p.Width > o.Width || p.Height > o.Height {
		return fmt.Errorf("%w: pad of %d×%d pixels to %d×%d", ErrGeometry, p.Width, p.Height, o.Width, o.Height)
	}
	left, top := o.Anchor.margins(o.Width-p.Width, o.Height-p.Height)
	p.window(Rect{-left, -top, o.Width, o.Height}, o.Fill)
	return nil
}
