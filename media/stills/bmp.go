package stills

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/samples"
)

// A bitmap is a BMP whose header is read.
type bitmap struct {
	width, height int
	topDown       bool
	bits          int // of a pixel
	compression   uint32
	masks         [4]uint32 // where red, green, blue and alpha are in a pixel of 16 or 32 bits
	palette       palette
	pixels        []byte
}

const (
	bmpPlain, bmpRLE8, bmpRLE4, bmpMasks = 0, 1, 2, 3
)

func decodeBMP(dst media.Pixels, src []byte, info *media.Info) error {
	b := bitmap{width: info.Width, height: info.Height}
	if err := b.header(src); err != nil {
		return err
	}
	if b.compression == bmpRLE8 || b.compression == bmpRLE4 {
		return b.runs(dst)
	}
	return b.rows(dst)
}

func (b *bitmap) header(src []byte) error {
	header := src[14 : 14+binary.LittleEndian.Uint32(src[14:])] // that it is there, the probe has seen
	behind := src[14+len(header):]
	colors, entry := uint32(0), 4
	if len(header) == 12 {
		b.bits, entry = int(binary.LittleEndian.Uint16(header[10:])), 3
	} else {
		b.topDown = header[11]&0x80 != 0
		b.bits = int(binary.LittleEndian.Uint16(header[14:]))
		b.compression = binary.LittleEndian.Uint32(header[16:])
		colors = binary.LittleEndian.Uint32(header[32:])
	}

	switch run := b.compression; {
	case run == bmpRLE8 && b.bits != 8, run == bmpRLE4 && b.bits != 4, run == bmpMasks && b.bits != 16 && b.bits != 32:
		return fmt.Errorf("%w: bmp with %d bits and compression %d", media.ErrCorrupt, b.bits, run)
	}
	tables, err := b.readMasks(header, behind)
	if err != nil {
		return err
	}
	if b.bits <= 8 {
		tables = b.readPalette(behind, colors, entry)
	}
	return b.findPixels(src, 14+len(header), tables)
}

// readPalette reads the colours, as many as the file has of them, and returns their
// length in bytes. Those that are missing are black.
func (b *bitmap) readPalette(data []byte, colors uint32, entry int) int {
	if colors == 0 {
		colors = 1 << b.bits
	}
	b.palette.black()
	for i := range b.palette.rgba[:min(int(colors), 256, len(data)/entry)] {
		c := data[i*entry:]
		copy(b.palette.rgba[i][:3], []byte{c[2], c[1], c[0]})
	}
	return entry * int(min(colors, maxColors))
}

// maxColors bounds how far from the header the pixels can be; some writers state more
// colours than a pixel can name.
const maxColors = 1 << 16

// findPixels believes the offset that the file states, with two exceptions. Some writers
// put none, and some count the header but not the colours or masks that follow it, which
// would be read as pixels. An offset into the colours is meant: it says that there are
// fewer.
func (b *bitmap) findPixels(src []byte, header, tables int) error {
	at := uint64(binary.LittleEndian.Uint32(src[10:]))
	switch {
	case at == 0 || at == uint64(header):
		at = uint64(header + tables)
	case at < uint64(header):
		return fmt.Errorf("%w: bmp whose pixels begin at byte %d, within its header of %d", media.ErrCorrupt, at, header)
	}
	if at > uint64(len(src)) {
		return fmt.Errorf("%w: bmp ends before its pixels, which begin at byte %d", media.ErrTruncated, at)
	}
	b.pixels = src[at:]
	return nil
}

// readMasks finds where the colours are in a pixel. It returns how many bytes after the
// header say so.
func (b *bitmap) readMasks(header, behind []byte) (int, error) {
	switch b.bits {
	case 16:
		b.masks = [4]uint32{0x7C00, 0x3E0, 0x1F, 0}
	case 32:
		b.masks = [4]uint32{0xFF0000, 0xFF00, 0xFF, 0}
	}

	if b.compression != bmpMasks {
		return 0, nil
	}

	at, n, follow := behind, 3, 12
	if len(header) >= 52 {
		at, follow = header[40:], 0
	}
	if len(header) >= 56 {
		n = 4
	}
	if len(at) < 4*n {
		return 0, fmt.Errorf("%w: bmp ends within its masks", media.ErrTruncated)
	}

	for i := range n {
		m := binary.LittleEndian.Uint32(at[4*i:])
		if contiguous := m >> bits.TrailingZeros32(m); m == 0 && i < 3 || contiguous&(contiguous+1) != 0 {
			return 0, fmt.Errorf("%w: bmp with mask %#x", media.ErrUnsupported, m)
		}
		b.masks[i] = m
	}
	return follow, nil
}

// rows decodes what is not compressed.
func (b *bitmap) rows(dst media.Pixels) error {
	stride := (b.width*b.bits + 31) / 32 * 4
	if len(b.pixels) < stride*(b.height-1)+(b.width*b.bits+7)/8 {
		return fmt.Errorf("%w: bmp with %d bytes of pixels, not %d", media.ErrTruncated, len(b.pixels), stride*b.height)
	}

	line := make([]byte, 4*b.width)
	for n := range b.height {
		y := b.height - 1 - n
		if b.topDown {
			y = n
		}

		row := b.pixels[n*stride:]
		if b.bits <= 8 {
			perByte := 8 / b.bits
			for x := range b.width {
				shift := 8 - b.bits - x%perByte*b.bits
				line[x] = row[x/perByte] >> shift & byte(1<<b.bits-1)
			}
			b.palette.row(dst, y, line[:b.width])
			continue
		}

		from := samples.Kind{Channels: 4}
		if b.bits == 24 {
			from.Channels = 3
			reversed(line[:3*b.width], row)
		} else {
			b.unpack(line, row)
		}
		samples.Convert(dst.Row(y), samples.KindOf(dst), line, from, b.width)
	}
	return nil
}

// reversed makes RGB of blue, green and red.
func reversed(line, row []byte) {
	for ; len(line) >= 3; line, row = line[3:], row[3:] {
		line[0], line[1], line[2] = row[2], row[1], row[0]
	}
}

// unpack makes RGBA of a row of 16 or 32 bits.
func (b *bitmap) unpack(line, row []byte) {
	for ; len(line) >= 4; line, row = line[4:], row[b.bits/8:] {
		var v uint32
		if b.bits == 16 {
			v = uint32(binary.LittleEndian.Uint16(row))
		} else {
			v = binary.LittleEndian.Uint32(row)
		}
		for i, m := range b.masks {
			line[i] = 255
			if m != 0 {
				down := bits.TrailingZeros32(m)
				line[i] = byte(uint64(v&m>>down) * 255 / uint64(m>>down))
			}
		}
	}
}

// runs decodes what is run-length encoded. Pixels that are jumped over have the first
// colour. Runs go from row to row and never back, so that there is one row at a time.
func (b *bitmap) runs(dst media.Pixels) error {
	r := runs{bitmap: b, dst: dst, line: make([]byte, b.width)}
	if err := r.run(); err != nil {
		return err
	}
	r.down(b.height - r.y)
	return nil
}

// runs is where run-length decoding has come to.
type runs struct {
	*bitmap
	dst  media.Pixels
	line []byte
	x, y int
}

// down goes so many rows on.
func (r *runs) down(n int) {
	for range min(n, r.height-r.y) {
		y := r.height - 1 - r.y
		if r.topDown {
			y = r.y
		}
		r.palette.row(r.dst, y, r.line)
		clear(r.line)
		r.y++
	}
}

func (r *runs) put(v byte) {
	if r.x < r.width && r.y < r.height {
		r.line[r.x] = v
	}
	r.x++
}

func (r *runs) run() error {
	for data := r.pixels; ; {
		if len(data) < 2 {
			if r.y >= r.height || r.y == r.height-1 && r.x >= r.width {
				return nil // all is there but the mark of the end
			}
			return fmt.Errorf("%w: bmp ends in row %d of %d", media.ErrTruncated, r.y, r.height)
		}

		count, v := int(data[0]), data[1]
		data = data[2:]
		switch {
		case count > 0:
			for i := range count {
				r.put(r.nibble(v, i))
			}
		case v == 0: // end of the row
			r.x = 0
			r.down(1)
		case v == 1: // end of the image
			return nil
		case v == 2: // jump
			if len(data) < 2 {
				return fmt.Errorf("%w: bmp ends within a jump", media.ErrTruncated)
			}
			r.x += int(data[0])
			r.down(int(data[1]))
			data = data[2:]
		default: // so many pixels as they are, filled up to an even number of bytes
			n := (int(v)*r.bits + 7) / 8
			if len(data) < n {
				return fmt.Errorf("%w: bmp ends in row %d of %d", media.ErrTruncated, r.y, r.height)
			}
			for i := range int(v) {
				r.put(r.nibble(data[i*r.bits/8], i))
			}
			data = data[min(n+n&1, len(data)):]
		}
	}
}

// nibble is the i-th pixel of a run: of 4 bits, the upper and the lower half by turns.
func (b *bitmap) nibble(v byte, i int) byte {
	switch {
	case b.bits == 8:
		return v
	case i%2 == 0:
		return v >> 4
	}
	return v & 15
}
