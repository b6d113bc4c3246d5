package media

import (
	"fmt"

	"github.com/headrace/headrace/tensor"
)

// Mode is a promise about pixels. Its zero value is Exact.
type Mode uint8

// The modes.
const (
	// Exact: the pixels of Pillow and torchvision on the same decode, to one level.
	Exact Mode = iota
	// Fast: what is shrunk to half its size or less may be decoded at a smaller size, and
	// resized before its colours are converted. How far pixels differ is published in
	// docs/performance.md.
	Fast
)

func (m Mode) String() string {
	if m == Fast {
		return "fast"
	}
	return "exact"
}

// Options say how an image is decoded. The zero value decodes to RGB of 8 bits,
// exactly, as the image is stored.
type Options struct {
	Orient bool // turn the image as its EXIF orientation says
	Mode   Mode
	// Color of the result. RGB and Gray drop an alpha channel, whatever it says, unless
	// there is a Background; RGBA is opaque where the image has no alpha channel. Mask
	// takes the numbers of a palette, or of a gray image, as they are stored, and refuses
	// images of colours.
	Color Color
	// Background, if not nil, is the colour that shows through where the image is
	// transparent. Color must not be RGBA.
	Background *[3]uint8
	// DType is Uint8 (or Invalid, which means the same) or Uint16. Of 16 bits, the
	// upper 8 are kept for Uint8; 8 bits v become 257·v for Uint16. Numbers of a mask
	// stay what they are, and one of 16 bits takes Uint16.
	DType tensor.DType
	// Library leaves the image to the library that a decoder of Headrace's own stands for
	// and has the pixels of: JPEG to libjpeg-turbo.
	Library bool
	// Square makes pixels square that are stored otherwise: the image is resized along
	// the stored rows, before the first step.
	Square bool
	// MaxPixels is the largest image that is decoded, in pixels; 0: as large as
	// [MaxPixels] allows. MakePlan refuses larger ones.
	MaxPixels int
}

// Form is that of the decoded image, whose size is not known.
func (o Options) Form() Form {
	f := Form{Height: Unknown, Width: Unknown, Color: o.Color, DType: o.DType}
	if f.DType == tensor.Invalid {
		f.DType = tensor.Uint8
	}
	return f
}

// Check returns what is wrong with the options.
func (o Options) Check() error {
	switch {
	case o.Mode > Fast:
		return fmt.Errorf("%w: mode %d", ErrUnsupported, o.Mode)
	case o.Color.Channels() == 0:
		return fmt.Errorf("%w: %v", ErrUnsupported, o.Color)
	case o.Background != nil && o.Color == Mask:
		return fmt.Errorf("%w: a background for a mask, which is not transparent", ErrUnsupported)
	case o.Background != nil && o.Color == RGBA:
		return fmt.Errorf("%w: a background for rgba, which keeps what is transparent", ErrUnsupported)
	case o.MaxPixels < 0 || o.MaxPixels > MaxPixels:
		return fmt.Errorf("%w: max_pixels %d: must be from 1 to %d", ErrUnsupported, o.MaxPixels, MaxPixels)
	case o.DType != tensor.Invalid && o.DType != tensor.Uint8 && o.DType != tensor.Uint16:
		return fmt.Errorf("%w: decoding to %v: must be uint8 or uint16", ErrUnsupported, o.DType)
	}
	return nil
}
