package pixeltest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

// Options are those that Pillow's save takes.
type Options = map[string]any

// Noise is an image of random values in one of Pillow's modes; frames is how many of
// them.
func Noise(mode string, width, height, frames int) oracle.Image {
	size := map[string]int{"1": 0, "L": 1, "P": 1, "LA": 2, "I;16": 2, "RGB": 3, "RGBA": 4, "CMYK": 4}[mode] * width
	if mode == "1" {
		size = (width + 7) / 8
	}
	img := oracle.Image{Mode: mode, Width: width, Height: height, Pix: make([]byte, size*height*frames)}
	r := rand.New(rand.NewPCG(1, uint64(len(img.Pix))))
	for i := range img.Pix {
		img.Pix[i] = byte(r.Uint32())
	}
	return img
}

// Smooth is an image that lossy formats keep: slopes with a little noise.
func Smooth(mode string, width, height, frames int) oracle.Image {
	img := Noise(mode, width, height, frames)
	channels := max(1, len(img.Pix)/(width*height*frames))
	for i := range img.Pix {
		p := i / channels
		x, y, c := p%width, p/width, i%channels
		img.Pix[i] = byte((x*(3+c)+y*(5-c))*200/(5*width+5*height)) + 20 + img.Pix[i]&7
	}
	return img
}

// Palette is 256 colours.
func Palette() []int {
	p := make([]int, 768)
	for i := range p {
		p[i] = (i*37 + i/3*11) & 255
	}
	return p
}

// EXIF states an orientation, in the form that Pillow's save takes.
func EXIF(orientation byte) oracle.Bytes {
	return oracle.Bytes("Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00" +
		string([]byte{orientation}) + "\x00\x00\x00\x00\x00\x00")
}

// made is an image with what Pillow's save learns of it.
type made struct {
	img oracle.Image
	o   Options
}

// byPillow compares images that Pillow writes.
func byPillow(t *testing.T, d media.PixelDecoder, format string, levels int, all []made) {
	for i, c := range all {
		name := fmt.Sprintf("%d, %s %d×%d, %v", i, c.img.Mode, c.img.Width, c.img.Height, c.o)
		EqualsPillow(t, name, d, oracle.WriteImage(t, c.img, format, c.o), levels)
	}
}

// refused is an image that is bad, and what kind of error that is.
type refused struct {
	data []byte
	kind error
}

func refusing(t *testing.T, d media.PixelDecoder, all map[string]refused) {
	for name, c := range all {
		if _, err := Try(t, d, c.data, media.RGB, tensor.Uint8); !errors.Is(err, c.kind) {
			t.Errorf("%s: %v, want %v", name, err, c.kind)
		}
	}
}

// Decode decodes an image as it is stored, into rows with gaps between them, which
// must stay as they are.
func Decode(t testing.TB, d media.PixelDecoder, data []byte, color media.Color, dtype tensor.DType) media.Pixels {
	t.Helper()
	p, err := Try(t, d, data, color, dtype)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Try is Decode for images that may be bad.
func Try(t testing.TB, d media.PixelDecoder, data []byte, color media.Color, dtype tensor.DType) (media.Pixels, error) {
	t.Helper()
	info, err := media.Probe(data)
	if err != nil {
		return media.Pixels{}, err
	}
	p := media.Pixels{Width: info.Width, Height: info.Height, Color: color, DType: dtype}
	row := p.Width * p.PixelBytes()
	p.Stride = row + 6
	guard := bytes.Repeat([]byte{0xA5}, p.Stride*p.Height+32)
	p.Data = guard[16 : 16+p.Stride*(p.Height-1)+row]
	err = d.DecodePixels(p, data, &info)
	for i, b := range guard {
		if at := i - 16; (at < 0 || at >= len(p.Data) || at%p.Stride >= row) && b != 0xA5 {
			t.Fatalf("byte %d is written, outside of rows of %d bytes, %d apart", at, row, p.Stride)
		}
	}
	return p, err
}

// Packed is the pixels without gaps.
func Packed(p media.Pixels) []byte {
	var b []byte
	for y := range p.Height {
		b = append(b, p.Row(y)...)
	}
	return b
}

var modes = map[media.Color]string{media.RGB: "RGB", media.RGBA: "RGBA", media.Gray: "L"}

// EqualsPillow decodes in every colour and depth. Values may be so many levels from
// Pillow's; of 16 bits, 257 times as many.
func EqualsPillow(t *testing.T, name string, d media.PixelDecoder, data []byte, levels int) {
	t.Helper()
	for color, mode := range modes {
		want := oracle.ReadImage(t, data, mode, false)
		for dtype, scale := range map[tensor.DType]int{tensor.Uint8: 1, tensor.Uint16: 257} {
			p, err := Try(t, d, data, color, dtype)
			if err != nil {
				t.Errorf("%s, %v, %v: %v", name, color, dtype, err)
				continue
			}
			if p.Width != want.Width || p.Height != want.Height {
				t.Errorf("%s: %d×%d, want %d×%d", name, p.Width, p.Height, want.Width, want.Height)
				continue
			}
			if s := Differs(p, want.Pix, scale, levels); s != "" {
				t.Errorf("%s, %v, %v: %s", name, color, dtype, s)
			}
		}
	}
}

// Differs says where pixels are more levels from others, of 8 bits, than they may be.
func Differs(p media.Pixels, want []byte, scale, levels int) string {
	got := Packed(p)
	worst, at := 0, 0
	for i, w := range want {
		var v int
		if scale == 1 {
			v = int(got[i])
		} else {
			v = int(binary.NativeEndian.Uint16(got[2*i:]))
		}
		if diff := max(v-int(w)*scale, int(w)*scale-v); diff > worst {
			worst, at = diff, i
		}
	}
	if worst <= levels*scale {
		return ""
	}
	c := p.Color.Channels()
	return fmt.Sprintf("(%d,%d) channel %d of %d is %d away from %d", at/c%p.Width, at/c/p.Width, at%c, c, worst, int(want[at])*scale)
}

// Contract checks what is the same for all formats: that a decoder looks at dst and
// info before it writes.
func Contract(t *testing.T, d media.PixelDecoder, data []byte) {
	t.Helper()
	info, err := media.Probe(data)
	if err != nil {
		t.Fatal(err)
	}
	pixels := func(width, height int) media.Pixels {
		return media.Pixels{Data: make([]byte, 3*width*height), Stride: 3 * width, Width: width, Height: height, DType: tensor.Uint8}
	}
	short := pixels(info.Width, info.Height)
	short.Data = short.Data[1:]
	other := info
	other.Width++
	for name, err := range map[string]error{
		"too short":    d.DecodePixels(short, data, &info),
		"empty":        d.DecodePixels(media.Pixels{}, data, &info),
		"another size": d.DecodePixels(pixels(info.Width+1, info.Height), data, &info),
		"another info": d.DecodePixels(pixels(info.Width+1, info.Height), data, &other),
		"no data":      d.DecodePixels(pixels(info.Width, info.Height), nil, &info),
		"other data":   d.DecodePixels(pixels(info.Width, info.Height), []byte("\xFF\xD8\xFF and no more"), &info),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Difference is the mean of absolute differences; 256, more than any, where sizes
// differ or there is nothing.
func Difference(a, b []byte) float64 {
	if len(a) != len(b) || len(a) == 0 {
		return 256
	}
	sum := 0
	for i := range a {
		sum += max(int(a[i])-int(b[i]), int(b[i])-int(a[i]))
	}
	return float64(sum) / float64(len(a))
}
