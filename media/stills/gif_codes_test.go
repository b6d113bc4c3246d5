package stills_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/pixeltest"
	"github.com/headrace/headrace/tensor"
)

// Encoders exist that begin with codes of 1 bit, or of more than a colour has.
func TestGIFCodes(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for bits := 1; bits <= 11; bits++ {
		for _, size := range []struct{ width, height int }{{1, 1}, {7, 5}, {140, 130}} {
			for _, few := range []int{2, 1 << min(bits, 8)} {
				indexes := make([]byte, size.width*size.height)
				for i := range indexes {
					indexes[i] = byte(draw.IntN(few))
				}
				for _, full := range []bool{false, true} {
					data := gif(size.width, size.height, codesOf(indexes, bits, full))
					name := fmt.Sprintf("%d bits, %v, %d colours, %v", bits, size, few, full)
					pixeltest.EqualsPillow(t, name, decoder(media.GIF), data, 0)
				}
			}
		}
	}
}

func TestGIFCodesThatAreWrong(t *testing.T) {
	for name, c := range map[string]struct {
		codes []byte
		kind  error
		says  string
	}{
		"of no bits":           {[]byte{0, 1, 0, 0}, media.ErrCorrupt, "codes of 0 bits"},
		"of 12 bits":           {[]byte{12, 1, 0, 0}, media.ErrCorrupt, "codes of 12 bits"},
		"a string of nothing":  {[]byte{2, 1, 0b_110_100, 0}, media.ErrCorrupt, "a code that means nothing"},
		"a string of later":    {[]byte{2, 2, 0b_00_000_100, 0b_1111, 0}, media.ErrCorrupt, "a code that means nothing"},
		"that end":             {[]byte{2, 2, 0b_00_000_100, 0b_101_0, 0}, media.ErrTruncated, "before its last pixel"},
		"an end of the file":   {[]byte{2, 9, 0b_00_000_100}, media.ErrTruncated, "before its last pixel"},
		"an end of the blocks": {[]byte{2, 1, 0b_00_000_100, 0}, media.ErrTruncated, "before its last pixel"},
	} {
		_, err := pixeltest.Try(t, decoder(media.GIF), gif(3, 3, c.codes), media.RGB, tensor.Uint8)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %v: %q", name, err, c.kind, c.says)
		}
	}
}

// gif is a file with one frame and 256 colours.
func gif(width, height int, codes []byte) []byte {
	screen := binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(nil, uint16(width)), uint16(height))
	b := append(append([]byte("GIF89a"), screen...), 0xF7, 0, 0)
	for i := range 256 {
		b = append(b, byte(i), byte(i*7), byte(255-i))
	}
	b = append(append(b, ',', 0, 0, 0, 0), screen...)
	return append(append(append(b, 0), codes...), ';')
}

// codesOf is indexes as LZW. A table that is full is kept until the end, or cleared.
func codesOf(indexes []byte, bits int, full bool) []byte {
	var stream []byte
	var buffer, held uint
	put := func(code, width int) {
		buffer |= uint(code) << held
		for held += uint(width); held >= 8; held -= 8 {
			stream = append(stream, byte(buffer))
			buffer >>= 8
		}
	}

	clear := 1 << bits
	var table map[string]int
	next, width := 0, 0
	forget := func() { table, next, width = map[string]int{}, clear+2, bits+1 }
	code := func(s string) int {
		if len(s) == 1 {
			return int(s[0])
		}
		return table[s]
	}

	forget()
	put(clear, width)
	s := ""
	for _, index := range indexes {
		longer := s + string([]byte{index})
		if _, ok := table[longer]; len(longer) == 1 || ok && bits > 1 {
			s = longer
			continue
		}
		put(code(s), width)
		s = string([]byte{index})
		if bits == 1 { // codes stay of 2 bits, which have no room for strings
			continue
		}
		if next < 1<<12 {
			table[longer] = next
			if next++; next > 1<<width && width < 12 {
				width++
			}
		} else if !full {
			put(clear, width)
			forget()
		}
	}
	put(code(s), width)
	if next > clear+2 && next == 1<<width && width < 12 { // the decoder has a string more by now
		width++
	}
	put(clear+1, width)
	put(0, 7)

	b := []byte{byte(bits)}
	for len(stream) > 0 {
		n := min(len(stream), 255)
		b = append(append(b, byte(n)), stream[:n]...)
		stream = stream[n:]
	}
	return append(b, 0)
}
