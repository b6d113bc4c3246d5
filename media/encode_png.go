package media

import (
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/headrace/headrace/tensor"
)

// pngEncoder writes PNG from rows as they are in memory. image/png would drop an alpha
// channel that is opaque everywhere, and takes each pixel of 16 bits through an
// interface.
type pngEncoder struct{}

func (pngEncoder) Name() string { return "go" }

func (pngEncoder) AppendEncoded(dst []byte, p Pixels, o EncodeOptions) ([]byte, error) {
	colorType := [...]byte{Gray: 0, RGB: 2, RGBA: 6}[p.Color]
	header := binary.BigEndian.AppendUint32(nil, uint32(p.Width))
	header = binary.BigEndian.AppendUint32(header, uint32(p.Height))
	header = append(header, byte(p.DType.Size()*8), colorType, 0, 0, 0)
	w := &pngWriter{out: append(dst, "\x89PNG\r\n\x1a\n"...)}
	w.begin("IHDR")
	w.out = append(w.out, header...)
	w.end()
	w.begin("IDAT")
	if err := compressRows(w, p, o.Effort); err != nil {
		return nil, fmt.Errorf("media: encoding PNG: %w", err)
	}
	w.end()
	w.begin("IEND")
	w.end()
	return w.out, nil
}

func compressRows(w io.Writer, p Pixels, effort int) error {
	compressed, err := zlib.NewWriterLevel(w, effort)
	if err != nil {
		return err
	}
	if err := writeRows(compressed, p); err != nil {
		return err
	}
	return compressed.Close()
}

// writeRows writes each row with the filter that leaves the smallest numbers, which is
// the usual guess at what compresses best.
func writeRows(w io.Writer, p Pixels) error {
	n := p.Width * p.PixelBytes()
	above, row := make([]byte, n), make([]byte, n)
	var filtered [5][]byte
	for i := range filtered {
		filtered[i] = make([]byte, 1+n)
		filtered[i][0] = byte(i)
	}
	for y := range p.Height {
		copy(row, p.Row(y))
		if p.DType == tensor.Uint16 {
			swapToBigEndian(row)
		}
		if _, err := w.Write(bestFilter(&filtered, row, above, p.PixelBytes())); err != nil {
			return err
		}
		above, row = row, above
	}
	return nil
}

func swapToBigEndian(row []byte) {
	for i := 0; i < len(row); i += 2 {
		binary.BigEndian.PutUint16(row[i:], binary.NativeEndian.Uint16(row[i:]))
	}
}

// bestFilter applies PNG's five filters to a row whose pixels have so many bytes, and
// returns the result that is nearest to zero.
func bestFilter(filtered *[5][]byte, row, above []byte, pixel int) []byte {
	best, least := 0, 1<<62
	for f := range filtered {
		to, sum := filtered[f][1:], 0
		for i, v := range row {
			var left, corner byte
			if i >= pixel {
				left, corner = row[i-pixel], above[i-pixel]
			}
			switch f {
			case 1:
				v -= left
			case 2:
				v -= above[i]
			case 3:
				v -= byte((int(left) + int(above[i])) / 2)
			case 4:
				v -= paeth(left, above[i], corner)
			}
			to[i] = v
			sum += magnitude(v)
		}

		if sum < least {
			best, least = f, sum
		}
	}
	return filtered[best]
}

func magnitude(v byte) int { return max(int(int8(v)), -int(int8(v))) }

// paeth is the neighbour that is nearest to left + above - corner.
func paeth(left, above, corner byte) byte {
	guess := int(left) + int(above) - int(corner)
	a, b, c := distance(guess, left), distance(guess, above), distance(guess, corner)
	switch {
	case a <= b && a <= c:
		return left
	case b <= c:
		return above
	}
	return corner
}

func distance(a int, b byte) int { return max(a-int(b), int(b)-a) }

// pngWriter appends chunks, one at a time. What is written to it is the content of the
// chunk that has begun; the pixels of an image that may be encoded fit into one.
type pngWriter struct {
	out   []byte
	begun int // where the kind of the chunk is
}

func (w *pngWriter) begin(kind string) {
	w.out = append(w.out, 0, 0, 0, 0)
	w.begun = len(w.out)
	w.out = append(w.out, kind...)
}

func (w *pngWriter) Write(b []byte) (int, error) {
	w.out = append(w.out, b...)
	return len(b), nil
}

func (w *pngWriter) end() {
	chunk := w.out[w.begun:]
	binary.BigEndian.PutUint32(w.out[w.begun-4:], uint32(len(chunk)-4))
	w.out = binary.BigEndian.AppendUint32(w.out, crc32.ChecksumIEEE(chunk))
}
