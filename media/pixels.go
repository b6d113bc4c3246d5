package media

import (
	"fmt"

	"github.com/headrace/headrace/tensor"
)

// Pixels are an image in memory: rows of interleaved channels, each of 8 bits, or of
// 16 in the machine's byte order.
type Pixels struct {
	Data          []byte
	Stride        int // bytes from row to row
	Width, Height int
	Color         Color
	DType         tensor.DType // Uint8 or Uint16
}

// Form is that of the pixels.
func (p Pixels) Form() Form {
	return Form{Height: p.Height, Width: p.Width, Color: p.Color, DType: p.DType}
}

// PixelBytes is the number of bytes of one pixel.
func (p Pixels) PixelBytes() int { return p.Color.Channels() * p.DType.Size() }

// Row returns the bytes of row y, without what is between rows.
func (p Pixels) Row(y int) []byte {
	n := p.Width * p.PixelBytes()
	return p.Data[y*p.Stride:][:n:n]
}

// part is a rectangle of the image, in the same memory.
func (p Pixels) part(r Rect) Pixels {
	if r.Width > 0 && r.Height > 0 {
		p.Data = p.Data[r.Y*p.Stride+r.X*p.PixelBytes():]
	}
	p.Width, p.Height = r.Width, r.Height
	return p
}

// Check returns why p is no image: an impossible size or form, or Data that ends
// before the last row.
func (p Pixels) Check() error {
	whole := p.DType == tensor.Uint8 || p.DType == tensor.Uint16
	if p.Width <= 0 || p.Height <= 0 || p.Color.Channels() == 0 || !whole {
		return fmt.Errorf("%w: pixels of %v", ErrGeometry, p.Form())
	}
	return fits(p.Data, p.Stride, p.Width*p.PixelBytes(), p.Height)
}

// fits checks that so many rows of so many bytes are in data.
func fits(data []byte, stride, row, rows int) error {
	if stride < row || len(data) < row || (len(data)-row)/stride < rows-1 {
		return fmt.Errorf("%w: %d rows of %d bytes do not fit into %d bytes with rows %d bytes apart",
			ErrGeometry, rows, row, len(data), stride)
	}
	return nil
}
