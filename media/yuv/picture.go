package yuv

import (
	"errors"
	"fmt"
)

// Kind is what an image's parts are.
type Kind uint8

// The kinds. The zero value is none of them.
const (
	Gray Kind = 1 + iota // luma alone
	YUV                  // luma, Cb, Cr
	RGB                  // red, green, blue
)

// Matrix is how luma and chroma come from colours, by its number in ITU-T H.273.
type Matrix uint8

// The matrices. BT.470 BG, number 5, is that of BT.601.
const (
	BT709    Matrix = 1
	FCC      Matrix = 4
	BT470    Matrix = 5
	BT601    Matrix = 6
	SMPTE240 Matrix = 7
	BT2020   Matrix = 9
)

// Siting is where samples of chroma are that are fewer than those of luma.
type Siting uint8

// The sitings.
const (
	Left    Siting = iota // on the left pixels, between the rows: MPEG-2 and later
	Centre                // in the middle of their pixels: MPEG-1, JPEG
	TopLeft               // on the upper left pixel
)

// Part is where samples of one component are: in the row that comes first at
// Data[First:], each Step bytes after the one before, and rows Stride bytes after each
// other, or before, if it is negative. A sample is a byte or, where Shift and the
// image's Bits are more than 8 together, two, the lower first, above Shift bits that do
// not count.
type Part struct {
	Data                       []byte
	First, Stride, Step, Shift int
}

// Picture is a decoded frame. Chroma has a sample for each 1<<ChromaX columns and
// 1<<ChromaY rows, rounded up.
type Picture struct {
	Kind             Kind
	Width, Height    int
	Bits             int // of a sample
	ChromaX, ChromaY int
	Siting           Siting
	Matrix           Matrix
	Full             bool    // the range: black is 0, not 16 of 255
	Parts            [3]Part // Y, Cb, Cr or R, G, B; of gray the first
	Alpha            Part    // a sample for each pixel, of as many bits, whose range is full; without Data, all is opaque
}

// Target is where pixels go: a byte for each channel or, if Wide, a word of 16 bits, the
// lower byte first. A row begins Stride bytes after the one before.
type Target struct {
	Data     []byte
	Stride   int
	Wide     bool
	Channels int // 3, which 0 means: RGB; 4: RGB and alpha; 1: luma, expanded to the full range
}

// row is the number of bytes of a row.
func (t Target) row(width int) int {
	n := width * 3
	if t.Channels != 0 {
		n = width * t.Channels
	}
	if t.Wide {
		n *= 2
	}
	return n
}

// ErrUnsupported says that images of this kind cannot be converted.
var ErrUnsupported = errors.New("media/yuv: unsupported kind of image")

// PartSize returns the columns and rows of a part.
func (p *Picture) PartSize(i int) (width, height int) {
	if p.Kind != YUV || i == 0 {
		return p.Width, p.Height
	}
	return (p.Width + 1<<p.ChromaX - 1) >> p.ChromaX, (p.Height + 1<<p.ChromaY - 1) >> p.ChromaY
}

// SampleBytes returns the size of a part's samples, 1 or 2.
func (p *Picture) SampleBytes(i int) int { return p.bytesOf(&p.Parts[i]) }

func (p *Picture) bytesOf(part *Part) int {
	if p.Bits+part.Shift > 8 {
		return 2
	}
	return 1
}

// Check returns an error if the image cannot be converted, or refers to memory outside
// its parts.
func (p *Picture) Check() error {
	parts := 3
	switch p.Kind {
	case Gray:
		parts = 1
	case YUV:
		if _, _, ok := p.Matrix.weights(); !ok {
			return fmt.Errorf("%w: matrix %d of ITU-T H.273", ErrUnsupported, p.Matrix)
		}
		if p.ChromaX > 2 || p.ChromaY > 2 || p.ChromaX < 0 || p.ChromaY < 0 {
			return fmt.Errorf("%w: chroma subsampled by 2^%d and 2^%d", ErrUnsupported, p.ChromaX, p.ChromaY)
		}
	case RGB:
	default:
		return ErrUnsupported
	}
	if p.Bits < 8 || p.Bits > 16 {
		return fmt.Errorf("%w: %d bits", ErrUnsupported, p.Bits)
	}
	if p.Width <= 0 || p.Height <= 0 || p.Width > maxSide || p.Height > maxSide {
		return fmt.Errorf("media/yuv: an image of %d×%d pixels", p.Width, p.Height)
	}
	for i := range parts {
		if !p.fits(i) {
			return fmt.Errorf("media/yuv: component %d of an image of %d×%d pixels has too little data", i, p.Width, p.Height)
		}
	}
	if p.Alpha.Data != nil && !p.within(&p.Alpha, p.Width, p.Height) {
		return fmt.Errorf("media/yuv: alpha of an image of %d×%d pixels has too little data", p.Width, p.Height)
	}
	return nil
}

const maxSide = 1 << 20 // so that no product overflows

// fits tells whether all samples of a part are in its data.
func (p *Picture) fits(i int) bool {
	width, height := p.PartSize(i)
	return p.within(&p.Parts[i], width, height)
}

func (p *Picture) within(part *Part, width, height int) bool {
	bytes := p.bytesOf(part)
	switch {
	case part.Step < bytes, part.Step > 64,
		part.Shift < 0, p.Bits+part.Shift > 16,
		part.Stride > 1<<40, part.Stride < -1<<40: // so that no product overflows
		return false
	}
	low, high := part.First, part.First+(height-1)*part.Stride
	return min(low, high) >= 0 && max(low, high)+(width-1)*part.Step+bytes <= len(part.Data)
}

// check returns an error if an image does not fit.
func (t Target) check(p *Picture) error {
	row := t.row(p.Width)
	if t.Stride < row || len(t.Data) < (p.Height-1)*t.Stride+row {
		return fmt.Errorf("media/yuv: a target of %d bytes, %d a row, for %d×%d pixels", len(t.Data), t.Stride, p.Width, p.Height)
	}
	return nil
}
