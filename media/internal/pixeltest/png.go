package pixeltest

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

// PNG tests a decoder of PNG.
func PNG(t *testing.T, d media.PixelDecoder) {
	t.Run("by Pillow", func(t *testing.T) { pngByPillow(t, d) })
	t.Run("every kind", func(t *testing.T) { pngKinds(t, d) })
	t.Run("oddities", func(t *testing.T) { pngOddities(t, d) })
	t.Run("errors", func(t *testing.T) { pngErrors(t, d) })
}

func pngByPillow(t *testing.T, d media.PixelDecoder) {
	byPillow(t, d, "PNG", 0, []made{
		{Noise("1", 61, 45, 1), nil}, {Noise("L", 61, 45, 1), nil}, {Noise("LA", 61, 45, 1), nil}, {Noise("RGB", 61, 45, 1), nil},
		{Noise("RGBA", 61, 45, 1), nil}, {Smooth("RGB", 300, 200, 1), nil}, {Smooth("RGBA", 301, 199, 1), Options{"compress_level": 9}},
		{Noise("RGB", 1, 1, 1), nil}, {Noise("RGBA", 1, 7, 1), nil}, {Noise("L", 9, 1, 1), Options{"compress_level": 0}},
		{Noise("P", 61, 45, 1), Options{"palette": Palette()}},
		{Noise("P", 61, 45, 1), Options{"palette": Palette(), "transparency": 7}},
		{Noise("P", 61, 45, 1), Options{"palette": Palette(), "transparency": oracle.Bytes("\x00\x10\x20\xFF\x80")}},
		{Noise("RGB", 61, 45, 3), nil}, // animated
	})
}

// pngKinds has every depth of every colour, straight and interlaced, with and without a
// transparent colour, and every filter.
func pngKinds(t *testing.T, d media.PixelDecoder) {
	for color, depths := range [...][]int{0: {1, 2, 4, 8, 16}, 2: {8, 16}, 3: {1, 2, 4, 8}, 4: {8, 16}, 6: {8, 16}} {
		for _, depth := range depths {
			for _, size := range [][2]int{{1, 1}, {2, 3}, {5, 9}, {33, 17}, {64, 40}} {
				for flags := range 4 {
					p := RawPNG{Width: size[0], Height: size[1], Depth: depth, Color: color, Interlaced: flags&1 != 0}
					p.fill(flags&2 != 0)
					p.check(t, d)
				}
			}
		}
	}
}

// RawPNG is written as it says.
type RawPNG struct {
	Width, Height, Depth, Color int
	Interlaced                  bool
	Samples                     []uint16 // as stored, channels interleaved
	Palette                     []byte
	Transparent                 []byte // content of tRNS
}

// channels is the number of samples of a pixel.
func (p *RawPNG) channels() int { return [...]int{1, 0, 3, 1, 2, 0, 4}[p.Color] }

func (p *RawPNG) fill(transparent bool) {
	channels := p.channels()
	r := rand.New(rand.NewPCG(uint64(p.Depth), uint64(p.Color)))
	p.Samples = make([]uint16, p.Width*p.Height*channels)
	for i := range p.Samples {
		p.Samples[i] = uint16(r.Uint32()) & (1<<p.Depth - 1)
		if p.Color == 2 && i%5 > 0 {
			p.Samples[i] = p.Samples[0] // so that the transparent colour occurs
		}
	}
	if p.Color == 3 {
		for range 3 << p.Depth {
			p.Palette = append(p.Palette, byte(r.Uint32()))
		}
	}
	switch {
	case !transparent:
	case p.Color == 0 || p.Color == 2:
		for _, v := range p.Samples[:p.channels()] {
			p.Transparent = binary.BigEndian.AppendUint16(p.Transparent, v)
		}
	case p.Color == 3:
		p.Transparent = []byte{0x55, 0}
	}
}

// want is the image as RGBA of 16 bits, by the rules of the format: what has fewer is
// scaled to the full range.
func (p *RawPNG) want() []uint16 {
	var out []uint16
	full := 65535 / (1<<p.Depth - 1)

	for i := 0; i < len(p.Samples); i += p.channels() {
		s := p.Samples[i : i+p.channels()]
		v := func(i int) uint16 { return uint16(int(s[i]) * full) }
		switch p.Color {
		case 3:
			n := int(s[0])
			a := uint16(65535)
			if n < len(p.Transparent) {
				a = uint16(p.Transparent[n]) * 257
			}
			out = append(out, uint16(p.Palette[3*n])*257, uint16(p.Palette[3*n+1])*257, uint16(p.Palette[3*n+2])*257, a)
		case 4:
			out = append(out, v(0), v(0), v(0), v(1))
		case 6:
			out = append(out, v(0), v(1), v(2), v(3))
		default:
			a := uint16(65535)
			if p.Transparent != nil {
				a = 0
				for c := range p.channels() {
					if binary.BigEndian.Uint16(p.Transparent[2*c:]) != s[c] {
						a = 65535
					}
				}
			}
			if p.Color == 0 {
				out = append(out, v(0), v(0), v(0), a)
			} else {
				out = append(out, v(0), v(1), v(2), a)
			}
		}
	}
	return out
}

// check compares in every colour and depth.
func (p *RawPNG) check(t *testing.T, d media.PixelDecoder) {
	t.Helper()
	data := p.Bytes()
	want := p.want()
	name := fmt.Sprintf("%d×%d, colour type %d, %d bits, interlaced %v, transparent % x", p.Width,
		p.Height, p.Color, p.Depth, p.Interlaced, p.Transparent)
	for _, color := range []media.Color{media.RGB, media.RGBA, media.Gray} {
		for _, dtype := range []tensor.DType{tensor.Uint8, tensor.Uint16} {
			got, err := Try(t, d, data, color, dtype)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			if !bytes.Equal(Packed(got), convert(want, color, dtype, p.Depth == 16)) {
				t.Errorf("%s: %v of %v differs", name, color, dtype)
				return
			}
		}
	}
	// Pillow agrees, on what it has no rule of its own for.
	if p.Depth == 16 && p.Color == 0 || p.Transparent != nil {
		return
	}
	pillow := oracle.ReadImage(t, data, "RGBA", false)
	if !bytes.Equal(pillow.Pix, convert(want, media.RGBA, tensor.Uint8, p.Depth == 16)) {
		t.Errorf("%s: Pillow does not agree", name)
	}
}

// convert is the definition of package samples, written down once more: the upper byte,
// luma at the smaller depth, times 257.
func convert(rgba []uint16, color media.Color, dtype tensor.DType, wide bool) []byte {
	var out []byte
	put := func(v uint32, of16 bool) {
		switch {
		case dtype == tensor.Uint8:
			out = append(out, byte(v))
		case of16:
			out = binary.NativeEndian.AppendUint16(out, uint16(v))
		default:
			out = binary.NativeEndian.AppendUint16(out, uint16(v*257))
		}
	}

	keep := wide && dtype == tensor.Uint16
	for i := 0; i < len(rgba); i += 4 {
		var c [4]uint32
		for j := range c {
			if c[j] = uint32(rgba[i+j]); !keep {
				c[j] >>= 8
			}
		}

		switch color {
		case media.Gray:
			put((c[0]*19595+c[1]*38470+c[2]*7471+0x8000)>>16, keep)
		case media.RGB:
			put(c[0], keep)
			put(c[1], keep)
			put(c[2], keep)
		default:
			for _, v := range c {
				put(v, keep)
			}
		}
	}
	return out
}

// Bytes is the file.
func (p *RawPNG) Bytes() []byte {
	b := []byte("\x89PNG\r\n\x1a\n")

	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(p.Width)), uint32(p.Height))
	interlace := byte(0)
	if p.Interlaced {
		interlace = 1
	}
	b = append(b, Chunk("IHDR", append(header, byte(p.Depth), byte(p.Color), 0, 0, interlace))...)

	if p.Palette != nil {
		b = append(b, Chunk("PLTE", p.Palette)...)
	}
	if p.Transparent != nil {
		b = append(b, Chunk("tRNS", p.Transparent)...)
	}

	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	if p.Interlaced {
		for _, s := range [][4]int{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}} {
			w.Write(p.pass(s[0], s[1], s[2], s[3]))
		}
	} else {
		w.Write(p.pass(0, 0, 1, 1))
	}
	w.Close()

	for data := z.Bytes(); len(data) > 0; { // in several chunks, one of them empty
		n := min(len(data), 100)
		b = append(b, Chunk("IDAT", data[:n])...)
		if data = data[n:]; len(data) > 0 && len(data) < 100 {
			b = append(b, Chunk("IDAT", nil)...)
		}
	}

	b = append(b, Chunk("IEND", nil)...)
	return b
}

// pass is every so-many-th pixel, in rows with filters by turns.
func (p *RawPNG) pass(x0, y0, stepX, stepY int) []byte {
	if x0 >= p.Width {
		return nil
	}

	var out []byte
	var before []byte
	pixel := max(p.channels()*p.Depth/8, 1)
	for y, n := y0, 0; y < p.Height; y, n = y+stepY, n+1 {
		var row []byte
		bit := 0
		for x := x0; x < p.Width; x += stepX {
			for _, v := range p.Samples[(y*p.Width+x)*p.channels():][:p.channels()] {
				if p.Depth == 16 {
					row = append(row, byte(v>>8), byte(v))
					continue
				}
				if bit%8 == 0 {
					row = append(row, 0)
				}
				row[len(row)-1] |= byte(v) << (8 - p.Depth - bit%8)
				bit += p.Depth
			}
		}

		if before == nil {
			before = make([]byte, len(row))
		}

		filter := n % 5
		out = append(out, byte(filter))
		for i, v := range row {
			var a, c byte
			if i >= pixel {
				a, c = row[i-pixel], before[i-pixel]
			}
			out = append(out, v-predicted(filter, a, before[i], c))
		}
		before = row
	}
	return out
}

func predicted(filter int, a, b, c byte) byte {
	switch filter {
	case 1:
		return a
	case 2:
		return b
	case 3:
		return byte((int(a) + int(b)) / 2)
	case 4:
		p := int(a) + int(b) - int(c)
		away := func(v byte) int { return max(p-int(v), int(v)-p) }
		switch {
		case away(a) <= away(b) && away(a) <= away(c):
			return a
		case away(b) <= away(c):
			return b
		}
		return c
	}
	return 0
}

// Chunk is one of a PNG.
func Chunk(kind string, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	b = append(append(b, kind...), body...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

// pngOddities are images with something wrong that does not touch pixels; people have
// them.
func pngOddities(t *testing.T, d media.PixelDecoder) {
	p := RawPNG{Width: 33, Height: 17, Depth: 8, Color: 2}
	p.fill(false)
	good := p.Bytes()
	want := convert(p.want(), media.RGB, tensor.Uint8, false)

	broken := Chunk("tEXt", []byte("Title\x00of nothing"))
	broken[len(broken)-1]++

	for name, odd := range map[string][]byte{
		"gamma of zero":         Chunk("gAMA", []byte{0, 0, 0, 0}),
		"gamma twice":           append(Chunk("gAMA", []byte{0, 0, 177, 143}), Chunk("gAMA", []byte{0, 0, 177, 143})...),
		"gamma too long":        Chunk("gAMA", []byte{0, 0, 177, 143, 0}),
		"a profile that is bad": Chunk("iCCP", []byte("name\x00\x00no deflate")),
		"an intent of 9":        Chunk("sRGB", []byte{9}),
		"EXIF that is bad":      Chunk("eXIf", []byte("nothing")),
		"a text without a key":  Chunk("tEXt", []byte("\x00text")),
		"a background too long": Chunk("bKGD", make([]byte, 9)),
		"an unknown chunk":      Chunk("veRy", []byte("private")),
		"a time of no calendar": Chunk("tIME", make([]byte, 7)),
		"resolution cut":        Chunk("pHYs", make([]byte, 3)),
	} {
		data := append(append(bytes.Clone(good[:33]), odd...), good[33:]...)
		if got, err := Try(t, d, data, media.RGB, tensor.Uint8); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !bytes.Equal(Packed(got), want) {
			t.Errorf("%s: other pixels", name)
		}
	}

	// What is wrong with these, decoders may refuse.
	for name, data := range map[string][]byte{
		"checksum of a text": append(append(bytes.Clone(good[:33]), broken...), good[33:]...),
		"no end":             good[:len(good)-12],
		"something after":    append(bytes.Clone(good), "and more"...),
		"cut within its end": good[:len(good)-5],
	} {
		if got, err := Try(t, d, data, media.RGB, tensor.Uint8); err == nil && !bytes.Equal(Packed(got), want) {
			t.Errorf("%s: other pixels", name)
		}
	}
}

func pngErrors(t *testing.T, d media.PixelDecoder) {
	p := RawPNG{Width: 33, Height: 17, Depth: 8, Color: 2}
	p.fill(false)
	good := p.Bytes()
	Contract(t, d, good)

	idat := bytes.Index(good, []byte("IDAT"))
	at := func(at int, with ...byte) []byte {
		bad := bytes.Clone(good)
		copy(bad[at:], with)
		return bad
	}

	palette := RawPNG{Width: 3, Height: 3, Depth: 8, Color: 3}
	palette.fill(false)
	palette.Palette = nil

	taller := p
	taller.Height--
	short := taller.Bytes()
	copy(short[16:33], good[16:33]) // a row less than the header says

	refusing(t, d, map[string]refused{
		"pixels damaged":  {at(idat+40, 0xFF, 0xFF, 0xFF, 0xFF), media.ErrCorrupt},
		"no deflate":      {at(idat+4, 0xFF, 0xFF), media.ErrCorrupt},
		"no palette":      {palette.Bytes(), media.ErrCorrupt},
		"cut in pixels":   {good[:len(good)/2], media.ErrTruncated},
		"a row too short": {short, media.ErrTruncated},
	})
}
