package hostile

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"

	"github.com/headrace/headrace/media/internal/pixeltest"
)

const pngMagic = "\x89PNG\r\n\x1a\n"

func ihdr(width, height uint32, depth, colorType, interlace byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, width)
	b = binary.BigEndian.AppendUint32(b, height)
	return pixeltest.Chunk("IHDR", append(b, depth, colorType, 0, 0, interlace))
}

func deflated(b []byte) []byte {
	var out bytes.Buffer
	w, _ := zlib.NewWriterLevel(&out, zlib.BestCompression)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()
}

func png(chunks ...[]byte) []byte {
	return append([]byte(pngMagic), bytes.Join(append(chunks, pixeltest.Chunk("IEND", nil)), nil)...)
}

// interlaced is a grey PNG in the seven passes of Adam7, which Pillow does not write.
func interlaced() []byte {
	p := pixeltest.RawPNG{Width: seedWidth, Height: seedHeight, Depth: 8, Interlaced: true}
	for _, v := range content(seedWidth*seedHeight, 0) {
		p.Samples = append(p.Samples, uint16(v))
	}
	return p.Bytes()
}

// recrc makes the check sums of a damaged PNG right again, as far as its chunks can be
// told apart.
func recrc(data []byte) []byte {
	b := bytes.Clone(data)
	for at := len(pngMagic); at+12 <= len(b); {
		n := int(binary.BigEndian.Uint32(b[at:]))
		if n < 0 || n > len(b)-at-12 {
			break
		}
		binary.BigEndian.PutUint32(b[at+8+n:], crc32.ChecksumIEEE(b[at+4:at+8+n]))
		at += 12 + n
	}
	return b
}

// bmp is one with a palette of 256 greys and pixels in any form.
func bmp(width, height int32, bits uint16, compression uint32, pixels []byte) []byte {
	const start = 14 + 40 + 4*256
	le := binary.LittleEndian
	b := le.AppendUint32([]byte("BM"), uint32(start+len(pixels)))
	b = le.AppendUint32(le.AppendUint32(b, 0), start)
	b = le.AppendUint32(le.AppendUint32(le.AppendUint32(b, 40), uint32(width)), uint32(height))
	b = le.AppendUint32(le.AppendUint16(le.AppendUint16(b, 1), bits), compression)
	b = append(b, make([]byte, 20)...)
	for i := range 256 {
		b = append(b, byte(i), byte(i), byte(i), 0)
	}
	return append(b, pixels...)
}

// runLengths is a BMP with runs, absolute pixels, a jump, and ends of lines.
func runLengths() []byte {
	var runs []byte
	for y := range byte(seedHeight) {
		runs = append(runs, 10, y, 0, 3, 50, 60, 70, 0, 0, 2, 4, 0, 6, 200, 0, 0)
	}
	return bmp(seedWidth, seedHeight, 8, 1, append(runs, 0, 1))
}
