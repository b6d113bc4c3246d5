package media

import (
	"fmt"

	"headrace/tensor"
)

// Color says which channels a pixel has, in the order of memory. Its zero value is RGB.
type Color uint8

// The colours.
const (
	RGB  Color = iota // red, green, blue
	RGBA              // and how opaque the pixel is: 0 is transparent; colours are not multiplied with it
	Gray              // lightness alone, ITU-R BT.601 luma
)

var colors = [...]struct {
	name     string
	channels int
}{RGB: {"rgb", 3}, RGBA: {"rgba", 4}, Gray: {"gray", 1}}

// ParseColor returns the colour called "rgb", "rgba" or "gray".
func ParseColor(name string) (Color, error) {
	for c := range colors {
		if colors[c].name == name {
			return Color(c), nil
		}
	}
	return 0, fmt.Errorf(`media: unknown color %q: takes "rgb", "rgba" or "gray"`, name)
}

// Channels is the number of values of a pixel; 0 where c is none of the colours.
func (c Color) Channels() int {
	if int(c) >= len(colors) {
		return 0
	}
	return colors[c].channels
}

func (c Color) String() string {
	if int(c) >= len(colors) {
		return fmt.Sprintf("color(%d)", uint8(c))
	}
	return colors[c].name
}

// Layout is the order of a picture's axes in memory. Its zero value is HWC.
type Layout uint8

// The layouts.
const (
	HWC Layout = iota // row, column, channel: a pixel's values lie side by side
	CHW               // channel, row, column: a plane for each channel
)

func (l Layout) String() string {
	if l == CHW {
		return "CHW"
	}
	return "HWC"
}

// Form is what is known of a picture without having it: its extents, [Unknown] where they differ from picture to picture, and how it lies in
// memory.
type Form struct {
	Height, Width int
	Color         Color
	DType         tensor.DType
	Layout        Layout
}

// Shape returns the form as extents of an array.
func (f Form) Shape() tensor.Shape {
	if f.Layout == CHW {
		return tensor.Shape{f.Color.Channels(), f.Height, f.Width}
	}
	return tensor.Shape{f.Height, f.Width, f.Color.Channels()}
}

// pixelBytes is the number of bytes of one pixel.
func (f Form) pixelBytes() int { return f.Color.Channels() * f.DType.Size() }

// RowBytes is the number of bytes of a row of pixels: in CHW, of a row of one plane.
func (f Form) RowBytes() int {
	n := f.Width * f.DType.Size()
	if f.Layout == HWC {
		n *= f.Color.Channels()
	}
	return n
}

func (f Form) String() string { return f.DType.String() + " " + f.Shape().String() }

// checkPixels refuses what is no picture of interleaved integers any more: operations on geometry and colour work on nothing else.
func (f Form) checkPixels(op string) error {
	if f.Layout != HWC || f.DType != tensor.Uint8 && f.DType != tensor.Uint16 {
		return fmt.Errorf("%w: %s of %v: put it before normalize and layout", ErrGeometry, op, f)
	}
	return nil
}

// sized is the form with another size, if it is that of a picture that can get one.
func (f Form) sized(op string, s Size) (Form, error) {
	err := f.checkPixels(op)
	f.Height, f.Width = s.Height, s.Width
	return f, err
}
