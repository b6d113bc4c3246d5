package yuv

import (
	"encoding/binary"
	"fmt"

	"github.com/headrace/headrace/media/internal/orient"
)

// Planes is how the planes of a frame follow each other in memory, in rows of one length:
// first those of luma, then chroma.
type Planes struct {
	Width, Height    int  // of the frame
	ChromaX, ChromaY int  // as of a Picture: 1 and 1 are 4:2:0, 1 and 0 are 4:2:2
	Interleaved      bool // Cb and Cr are side by side, as in NV12; otherwise all of Cb comes first, as in I420
	Wide             bool // a sample has two bytes, the lower first
}

// Shape is that of the array with all planes. Its columns are as many as those of chroma
// stand for: where the frame has fewer, rows of luma end with the last sample again.
func (l Planes) Shape() (rows, columns int) {
	width, height := l.Chroma()
	return l.Height + 2*height>>l.ChromaX, width << l.ChromaX
}

// Bytes is the size of the array.
func (l Planes) Bytes() int {
	rows, columns := l.Shape()
	if l.Wide {
		columns *= 2
	}
	return rows * columns
}

// Chroma is the size of the planes of chroma.
func (l Planes) Chroma() (width, height int) {
	return (l.Width + 1<<l.ChromaX - 1) >> l.ChromaX, (l.Height + 1<<l.ChromaY - 1) >> l.ChromaY
}

// Has reports whether a frame has these planes, whatever its size, or luma alone, for
// which chroma of grey is written.
func (l Planes) Has(p *Picture) bool {
	return p.Kind == Gray || p.Kind == YUV && p.ChromaX == l.ChromaX && p.ChromaY == l.ChromaY
}

// Write copies the planes of a frame that has them and this size. Samples stay as
// they are, unless they have more bits than a byte and must become bytes: then they are
// rounded.
func (l Planes) Write(to []byte, p *Picture) error {
	if err := p.Check(); err != nil {
		return err
	}
	if !l.Has(p) || p.Width != l.Width || p.Height != l.Height || len(to) < l.Bytes() {
		return fmt.Errorf("%w: planes of %d×%d pixels into %d bytes for planes of %d×%d", ErrUnsupported,
			p.Width, p.Height, len(to), l.Width, l.Height)
	}
	bytes := 1
	if l.Wide {
		bytes = 2
	}
	_, columns := l.Shape()
	for y := range l.Height {
		row := to[y*columns*bytes:][:columns*bytes]
		l.row(row, bytes, p, 0, y)
		for x := l.Width; x < columns; x++ {
			copy(row[x*bytes:], row[(x-1)*bytes:x*bytes])
		}
	}

	chroma := to[l.Height*columns*bytes:]
	width, height := l.Chroma()
	for i := range 2 {
		at, step, stride := i*width*height, 1, width
		if l.Interleaved {
			at, step, stride = i, 2, 2*width
		}
		for y := range height {
			row := chroma[(at+y*stride)*bytes:]
			row = row[:((width-1)*step+1)*bytes]
			if p.Kind == Gray {
				l.grey(row, step*bytes, width, p.Bits)
			} else {
				l.row(row, step*bytes, p, 1+i, y)
			}
		}
	}
	return nil
}

// row writes a row of a part, a sample each step bytes.
func (l Planes) row(to []byte, step int, p *Picture, i, y int) {
	part := &p.Parts[i]
	width, _ := p.PartSize(i)
	from := part.Data[part.First+y*part.Stride:]
	switch {
	case l.Wide:
		for x := range width {
			binary.LittleEndian.PutUint16(to[x*step:], uint16(p.sample(i, x, y, 16)))
		}
	case p.SampleBytes(i) == 2:
		for x := range width {
			to[x*step] = byte(p.sample(i, x, y, 8))
		}
	case part.Step == 1 && step == 1:
		copy(to, from[:width])
	default:
		for x := range width {
			to[x*step] = from[x*part.Step]
		}
	}
}

// grey writes chroma that has no colour.
func (l Planes) grey(to []byte, step, width, bits int) {
	for x := range width {
		if l.Wide {
			binary.LittleEndian.PutUint16(to[x*step:], 1<<(bits-1))
		} else {
			to[x*step] = 128
		}
	}
}

// Apart is a copy of a frame that has each part in a plane of its own, turned as one of
// EXIF's orientations says: chroma with its samples. Samples become bytes, unless wide.
func (p *Picture) Apart(orientation int, wide bool) *Picture {
	to := *p
	to.Width, to.Height = orient.Size(orientation, p.Width, p.Height)
	if _, _, swap := orient.Parts(orientation); swap {
		to.ChromaX, to.ChromaY = p.ChromaY, p.ChromaX
	}
	bytes := 2
	if !wide || p.Bits == 8 {
		bytes, to.Bits = 1, 8
	}
	for i := range to.Parts {
		if p.Parts[i].Data == nil { // of gray
			continue
		}
		inWidth, inHeight := p.PartSize(i)
		width, height := to.PartSize(i)
		part := Part{Data: make([]byte, width*height*bytes), Stride: width * bytes, Step: bytes}
		for y := range height {
			row := part.Data[y*part.Stride:][:part.Stride]
			for x := range width {
				sx, sy := orient.At(orientation, inWidth, inHeight, x, y)
				v := p.sample(i, sx, sy, 8*bytes)
				if row[x*bytes] = byte(v); bytes == 2 {
					row[x*bytes+1] = byte(v >> 8)
				}
			}
		}
		to.Parts[i] = part
	}
	return &to
}
