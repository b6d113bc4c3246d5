package stills_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/pixeltest"
	"github.com/headrace/headrace/tensor"
)

// shared is a gray TIFF of 8 bits whose strips of one row are all the same bytes.
func shared(width, height, compression int, strip []byte) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32([]byte("II*\x00"), uint32(8+len(strip)+8*height))
	b = append(b, strip...)
	for range height {
		b = le.AppendUint32(b, 8)
	}
	for range height {
		b = le.AppendUint32(b, uint32(len(strip)))
	}
	tags := [][3]int{
		{256, 1, width}, {257, 1, height}, {258, 1, 8}, {259, 1, compression}, {262, 1, 1}, {273, height, 8 + len(strip)}, {277, 1, 1}, {278, 1, 1},
		{279, height, 8 + len(strip) + 4*height},
	}
	b = le.AppendUint16(b, uint16(len(tags)))
	for _, t := range tags {
		b = le.AppendUint16(le.AppendUint16(b, uint16(t[0])), 4)
		b = le.AppendUint32(le.AppendUint32(b, uint32(t[1])), uint32(t[2]))
	}
	return le.AppendUint32(b, 0)
}

func deflated(row []byte) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write(row); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// codes are LZW codes of 9 bits.
func codes(list ...int) (b []byte) {
	bits, n := 0, 0
	for _, c := range list {
		bits, n = bits<<9|c, n+9
		for n >= 8 {
			n -= 8
			b = append(b, byte(bits>>n))
			bits &= 1<<n - 1
		}
	}
	return append(b, byte(bits<<(8-n)))
}

func repeated(code, n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = code
	}
	return list
}

// Blank strips may be stored once. What a strip holds beyond its rows is nobody's.
func TestTIFFOfSharedStrips(t *testing.T) {
	d := decoder(media.TIFF)
	row := bytes.Repeat([]byte{7, 9}, 32)
	for name, data := range map[string][]byte{
		"raw":                shared(64, 50, 1, row),
		"deflate":            shared(64, 50, 8, deflated(row)),
		"PackBits":           shared(64, 50, 32773, append([]byte{63}, row...)),
		"longer than needed": shared(64, 50, 8, deflated(bytes.Repeat(row, 2))),
	} {
		p := pixeltest.Packed(pixeltest.Decode(t, d, data, media.Gray, tensor.Uint8))
		if !bytes.Equal(p, bytes.Repeat(row, 50)) {
			t.Errorf("%s: other pixels", name)
		}
	}
}

// Strips that share many bytes which make few pixels would cost as many passes over the
// file as there are strips.
func TestTIFFStripsThatOverlap(t *testing.T) {
	d := decoder(media.TIFF)
	empty := deflated(make([]byte, 8))
	stored := append(append(empty[:2:2], bytes.Repeat([]byte{0, 0, 0, 0xFF, 0xFF}, 20_000)...), empty[2:]...)
	for name, data := range map[string][]byte{
		"empty blocks of deflate": shared(8, 2000, 8, stored),
		"LZW that begins again":   shared(8, 2000, 5, codes(append(repeated(256, 90_000), 1, 1, 1, 1, 1, 1, 1, 1, 257)...)),
		"PackBits of nothing":     shared(8, 2000, 32773, append(bytes.Repeat([]byte{128}, 100_000), 7, 1, 2, 3, 4, 5, 6, 7, 8)),
	} {
		_, err := pixeltest.Try(t, d, data, media.Gray, tensor.Uint8)
		if !errors.Is(err, media.ErrCorrupt) || !strings.Contains(fmt.Sprint(err), "strips or tiles that overlap") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
