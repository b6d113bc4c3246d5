package media

import (
	"fmt"

	"github.com/headrace/headrace/tensor"
)

// Unknown means a size that depends on the image.
const Unknown = -1

// Size is the size of an image in pixels; either number may be Unknown.
type Size struct{ Height, Width int }

// Color says which channels a pixel has, in the order of memory. Its zero value is RGB.
type Color uint8

// The colours.
const (
	RGB  Color = iota // red, green, blue
	RGBA              // and how opaque the pixel is: 0 is transparent; colours are not multiplied with it
	Gray              // lightness alone, ITU-R BT.601 luma
	Mask              // a number, such as that of a class: no colour, and never mixed with its neighbours
)

var colors = [...]struct {
	name     string
	channels int
}{RGB: {"rgb", 3}, RGBA: {"rgba", 4}, Gray: {"gray", 1}, Mask: {"mask", 1}}

// ParseColor returns the colour called "rgb", "rgba", "gray" or "mask".
func ParseColor(name string) (Color, error) {
	for c := range colors {
		if colors[c].name == name {
			return Color(c), nil
		}
	}
	return 0, fmt.Errorf(`media: unknown color %q: must be "rgb", "rgba", "gray" or "mask"`, name)
}

// Channels is the number of values of a pixel; 0 where c is not a colour.
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

// Layout is the order of an image's axes in memory. Its zero value is HWC.
type Layout uint8

// The layouts.
const (
	HWC  Layout = iota // row, column, channel: a pixel's values are side by side
	CHW                // channel, row, column: a plane for each channel
	CTHW               // of clips: all frames of one channel, then those of the next; a frame by itself is CHW
)

func (l Layout) String() string {
	switch l {
	case CHW:
		return "CHW"
	case CTHW:
		return "CTHW"
	}
	return "HWC"
}

// Frame is the layout of one frame of a clip.
func (l Layout) Frame() Layout { return min(l, CHW) }

// Form is what is known of an image without having it: its extents, [Unknown] where
// they differ from image to image, and how it is in memory.
//
// It is that of a clip where Frames is not 0: of so many images of one size, which
// operations treat alike. Where Clips is not 0, it is that of so many clips of one video.
type Form struct {
	Height, Width int
	Color         Color
	DType         tensor.DType
	Layout        Layout
	Frames, Clips int
}

// Shape returns the form as extents of an array: those of an image, after those of
// clips and frames.
func (f Form) Shape() (s tensor.Shape) {
	if f.Clips != 0 {
		s = append(s, f.Clips)
	}
	if f.Layout == CTHW {
		s = append(s, f.Color.Channels())
	}
	if f.Frames != 0 {
		s = append(s, f.Frames)
	}
	switch {
	case f.Color == Mask:
	case f.Layout == HWC:
		return append(s, f.Height, f.Width, f.Color.Channels())
	case f.Layout == CHW:
		s = append(s, f.Color.Channels())
	}
	return append(s, f.Height, f.Width)
}

// Axes has a letter for each extent of the shape: N clips, T frames, H rows, W columns, C
// channels, which masks do not have.
func (f Form) Axes() string {
	axes := f.Layout.String()
	if f.Color == Mask {
		axes = "HW"
	}
	if f.Frames != 0 && f.Layout != CTHW {
		axes = "T" + axes
	}
	if f.Clips != 0 {
		axes = "N" + axes
	}
	return axes
}

// Moves reports whether it is the form of clips, and not of an image.
func (f Form) Moves() bool { return f.Frames != 0 }

// Pictures is how many images there are: 1, or the frames of all clips.
func (f Form) Pictures() int { return max(1, f.Frames) * max(1, f.Clips) }

// Picture is the form of one of them.
func (f Form) Picture() Form {
	f.Frames, f.Clips, f.Layout = 0, 0, f.Layout.Frame()
	return f
}

// Bytes is the number of bytes of all images, one row after the other.
func (f Form) Bytes() int64 {
	n := int64(f.RowBytes()) * int64(f.Height) * int64(f.Pictures())
	if f.Layout != HWC {
		n *= int64(f.Color.Channels())
	}
	return n
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

// checkPixels refuses what is no image of interleaved integers any more: operations
// on geometry and colour work on nothing else.
func (f Form) checkPixels(op string) error {
	if f.Layout != HWC || f.DType != tensor.Uint8 && f.DType != tensor.Uint16 {
		return fmt.Errorf("%w: %s of %v: put it before normalize and layout", ErrGeometry, op, f)
	}
	return nil
}

// checkColors is checkPixels for operations on colours, which the numbers of a mask are
// not.
func (f Form) checkColors(op string) error {
	if f.Color == Mask {
		return fmt.Errorf("%w: %s of a mask, whose numbers are not colours", ErrUnsupported, op)
	}
	return f.checkPixels(op)
}

// checkByteColors is checkColors for operations that know no colours but those of 8 bits.
func (f Form) checkByteColors(op string) error {
	if err := f.checkColors(op); err != nil {
		return err
	}
	if f.DType != tensor.Uint8 {
		return fmt.Errorf("%w: %s of %v: must be uint8", ErrUnsupported, op, f.DType)
	}
	return nil
}

// sized is the form with another size, if it is that of an image that can get one.
func (f Form) sized(op string, s Size) (Form, error) {
	err := f.checkPixels(op)
	f.Height, f.Width = s.Height, s.Width
	return f, err
}
