package media_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/pixeltest"
	"github.com/headrace/headrace/tensor"
)

// picture is blobs and noise, with bytes between its rows that belong to nobody.
func picture(width, height int, color media.Color, dtype tensor.DType) media.Pixels {
	r := rand.New(rand.NewPCG(uint64(width), uint64(height)))
	p := media.Pixels{Width: width, Height: height, Color: color, DType: dtype}
	p.Stride = width*p.PixelBytes() + 6
	p.Data = make([]byte, p.Stride*height)
	for i := range p.Data {
		x, y := i%p.Stride/p.PixelBytes(), i/p.Stride
		p.Data[i] = byte(x*3 + y*5 + i%p.PixelBytes()*40 + r.IntN(24))
	}
	return p
}

func encode(t testing.TB, p media.Pixels, o media.EncodeOptions) []byte {
	t.Helper()
	data, err := media.Encode(nil, p, o)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Others read from a PNG what was written: all colours and depths, sizes and efforts.
func TestEncodedPNG(t *testing.T) {
	for _, color := range []media.Color{media.Gray, media.RGB, media.RGBA} {
		for _, dtype := range []tensor.DType{tensor.Uint8, tensor.Uint16} {
			for _, size := range [][2]int{{1, 1}, {3, 1}, {1, 3}, {61, 47}} {
				for _, effort := range []int{0, 1, 9} {
					p := picture(size[0], size[1], color, dtype)
					data := encode(t, p, media.EncodeOptions{Format: media.PNG, Effort: effort})
					name := fmt.Sprintf("%v %v %v effort %d", color, dtype, size, effort)
					if got := oracle.LoadPNG(t, data); got.Channels != color.Channels() || !bytes.Equal(got.Pix, pixeltest.Packed(p)) {
						t.Errorf("%s: torchvision reads other pixels", name)
					}
					if dtype == tensor.Uint8 || color == media.Gray {
						if got := oracle.ReadImage(t, data, "", false); !bytes.Equal(got.Pix, pixeltest.Packed(p)) {
							t.Errorf("%s: Pillow reads other pixels, of mode %s", name, got.Mode)
						}
					}
				}
			}
		}
	}
}

// The upper byte of 16 bits is first in a PNG, and an alpha channel stays, though
// it be opaque.
func TestEncodedPNGKeepsItsForm(t *testing.T) {
	p := media.Pixels{Data: binary.NativeEndian.AppendUint16(nil, 0x1234), Stride: 2, Width: 1, Height: 1, Color: media.Gray, DType: tensor.Uint16}
	img, err := png.Decode(bytes.NewReader(encode(t, p, media.EncodeOptions{Format: media.PNG})))
	if err != nil || img.(*image.Gray16).Gray16At(0, 0).Y != 0x1234 {
		t.Errorf("%v, %v", img, err)
	}
	opaque := media.Pixels{Data: []byte{1, 2, 3, 255}, Stride: 4, Width: 1, Height: 1, Color: media.RGBA, DType: tensor.Uint8}
	if got := oracle.ReadImage(t, encode(t, opaque, media.EncodeOptions{Format: media.PNG}), "", false); got.Mode != "RGBA" {
		t.Errorf("opaque RGBA became %s", got.Mode)
	}
}

func TestEncodedPNGIsSmall(t *testing.T) {
	p := picture(300, 200, media.RGB, tensor.Uint8)
	for i := range p.Data {
		p.Data[i] = byte(i%p.Stride/3 + 2*(i/p.Stride) + i%7)
	}
	ours := encode(t, p, media.EncodeOptions{Format: media.PNG})
	theirs := oracle.WriteImage(t, oracle.Image{Mode: "RGB", Width: 300, Height: 200, Pix: pixeltest.Packed(p)}, "PNG", nil)
	if len(ours) > len(theirs)*102/100 {
		t.Errorf("%d bytes, Pillow writes %d", len(ours), len(theirs))
	}
	if fast := encode(t, p, media.EncodeOptions{Format: media.PNG, Effort: 1}); len(fast) <= len(ours) {
		t.Errorf("%d bytes with the least effort, %d by default", len(fast), len(ours))
	}
}

// Without libjpeg, JPEG is that of image/jpeg, as near to the pixels as Pillow's of the
// same quality.
func TestEncodedJPEG(t *testing.T) {
	for _, color := range []media.Color{media.Gray, media.RGB} {
		p := picture(75, 50, color, tensor.Uint8)
		mode := map[media.Color]string{media.Gray: "L", media.RGB: "RGB"}[color]
		for _, quality := range []int{0, 1, 50, 95, 100} {
			data := encode(t, p, media.EncodeOptions{Format: media.JPEG, Quality: quality})
			got := oracle.ReadImage(t, data, "", false)
			options := map[string]any{"quality": max(quality, 1)}
			if quality == 0 {
				options = nil
			}
			theirs := oracle.ReadImage(t, oracle.WriteImage(t, oracle.Image{Mode: mode, Width: p.Width, Height: p.Height, Pix: pixeltest.Packed(p)}, "JPEG", options), "", false)
			ours, pillows := pixeltest.Difference(got.Pix, pixeltest.Packed(p)), pixeltest.Difference(theirs.Pix, pixeltest.Packed(p))
			if got.Mode != mode || ours > pillows*1.1+0.5 {
				t.Errorf("%v, quality %d: mode %s, %.2f levels off, Pillow's %.2f", color, quality, got.Mode, ours, pillows)
			}
		}
	}
}

// What was in dst stays, and its memory is used while it lasts.
func TestEncodeAppends(t *testing.T) {
	for _, format := range []string{media.PNG, media.JPEG} {
		p := picture(20, 10, media.RGB, tensor.Uint8)
		alone := encode(t, p, media.EncodeOptions{Format: format})
		dst := append(make([]byte, 0, 1<<16), "before"...)
		got, err := media.Encode(dst, p, media.EncodeOptions{Format: format})
		if err != nil || !bytes.Equal(got, append([]byte("before"), alone...)) || &got[0] != &dst[0] {
			t.Errorf("%s: %v, %d bytes", format, err, len(got))
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	rgb, rgba := picture(4, 4, media.RGB, tensor.Uint8), picture(4, 4, media.RGBA, tensor.Uint8)
	deep, float := picture(4, 4, media.RGB, tensor.Uint16), rgb
	float.DType = tensor.Float32
	empty, short := rgb, rgb
	empty.Width = 0
	short.Data = short.Data[:20]
	wide := media.Pixels{Data: make([]byte, 70_000), Stride: 70_000, Width: 70_000, Height: 1, Color: media.Gray}
	wide.DType = tensor.Uint8
	bomb := wide
	bomb.Data, bomb.Stride, bomb.Height, bomb.Width = make([]byte, 1<<28), 1<<14, 1<<14, 1<<14
	for name, c := range map[string]struct {
		p    media.Pixels
		o    media.EncodeOptions
		kind error
		text string
	}{
		"no format":           {rgb, media.EncodeOptions{}, media.ErrUnsupported, `must be "jpeg", "png" or "webp"`},
		"other format":        {rgb, media.EncodeOptions{Format: media.GIF}, media.ErrUnsupported, `format "gif"`},
		"WebP without cgo":    {rgb, media.EncodeOptions{Format: media.WebP}, media.ErrUnsupported, "needs cgo and libwebp"},
		"alpha":               {rgba, media.EncodeOptions{Format: media.JPEG}, media.ErrUnsupported, "use PNG or WebP, or decode to rgb with a background"},
		"deep JPEG":           {deep, media.EncodeOptions{Format: media.JPEG}, media.ErrUnsupported, "use PNG, or decode to uint8"},
		"deep WebP":           {deep, media.EncodeOptions{Format: media.WebP}, media.ErrUnsupported, "WebP, which has 8 bits"},
		"float PNG":           {float, media.EncodeOptions{Format: media.PNG}, media.ErrUnsupported, "must be uint8 or uint16"},
		"float JPEG":          {float, media.EncodeOptions{Format: media.JPEG}, media.ErrUnsupported, "float32 as JPEG: must be uint8"},
		"nothing":             {empty, media.EncodeOptions{Format: media.PNG}, media.ErrGeometry, ""},
		"short":               {short, media.EncodeOptions{Format: media.PNG}, media.ErrGeometry, "do not fit"},
		"wide JPEG":           {wide, media.EncodeOptions{Format: media.JPEG}, media.ErrTooLarge, "at most 65500 on a side"},
		"wide WebP":           {wide, media.EncodeOptions{Format: media.WebP}, media.ErrTooLarge, "at most 16383 on a side"},
		"bomb":                {bomb, media.EncodeOptions{Format: media.PNG}, media.ErrTooLarge, "16384×16384 pixels"},
		"quality of PNG":      {rgb, media.EncodeOptions{Format: media.PNG, Quality: 90}, media.ErrUnsupported, "PNG is lossless"},
		"quality of lossless": {rgb, media.EncodeOptions{Format: media.WebP, Quality: 90, Lossless: true}, media.ErrUnsupported, "lossless WebP"},
		"quality -1":          {rgb, media.EncodeOptions{Format: media.JPEG, Quality: -1}, media.ErrUnsupported, "must be from 1 to 100"},
		"quality 101":         {rgb, media.EncodeOptions{Format: media.JPEG, Quality: 101}, media.ErrUnsupported, "must be from 1 to 100"},
		"effort 10":           {rgb, media.EncodeOptions{Format: media.PNG, Effort: 10}, media.ErrUnsupported, "must be from 1 to 9"},
		"effort of JPEG":      {rgb, media.EncodeOptions{Format: media.JPEG, Effort: 3}, media.ErrUnsupported, "JPEG has no effort"},
		"lossless JPEG":       {rgb, media.EncodeOptions{Format: media.JPEG, Lossless: true}, media.ErrUnsupported, "use PNG or WebP"},
		"subsampled PNG":      {rgb, media.EncodeOptions{Format: media.PNG, Subsampling: "4:2:0"}, media.ErrUnsupported, "no choice of subsampling"},
		"odd subsampling":     {rgb, media.EncodeOptions{Format: media.JPEG, Subsampling: "4:2:1"}, media.ErrUnsupported, `"4:2:1"`},
		"progressive PNG":     {rgb, media.EncodeOptions{Format: media.PNG, Progressive: true}, media.ErrUnsupported, "no progressive form"},
		"progressive":         {rgb, media.EncodeOptions{Format: media.JPEG, Progressive: true}, media.ErrUnsupported, "media/turbo"},
		"4:4:4":               {rgb, media.EncodeOptions{Format: media.JPEG, Subsampling: "4:4:4"}, media.ErrUnsupported, "media/turbo"},
	} {
		data, err := media.Encode([]byte("dst"), c.p, c.o)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) || data != nil {
			t.Errorf("%s: %v, want %v: …%s…", name, err, c.kind, c.text)
		}
	}
}

// An option with a lossless PNG that changes nothing is taken: PNG is always lossless.
func TestLosslessPNG(t *testing.T) {
	p := picture(9, 9, media.RGB, tensor.Uint8)
	if !bytes.Equal(encode(t, p, media.EncodeOptions{Format: media.PNG, Lossless: true}), encode(t, p, media.EncodeOptions{Format: media.PNG})) {
		t.Error("another file")
	}
}

func TestEncodedJPEGIsWholeForGo(t *testing.T) {
	p := picture(33, 17, media.Gray, tensor.Uint8)
	img, err := jpeg.Decode(bytes.NewReader(encode(t, p, media.EncodeOptions{Format: media.JPEG})))
	if err != nil || img.Bounds() != image.Rect(0, 0, 33, 17) {
		t.Error(err)
	}
}

func TestFormatForName(t *testing.T) {
	for name, want := range map[string]string{
		"a.jpg": media.JPEG, "b/c.JPEG": media.JPEG, "x.jfif": media.JPEG, "x.jpe": media.JPEG, "a.tar.png": media.PNG, ".webp": media.WebP,
	} {
		if got, err := media.FormatForName(name); got != want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "png", "a.gif", "a.png/b", "a.png "} {
		if got, err := media.FormatForName(name); got != "" || !errors.Is(err, media.ErrUnsupported) || !strings.Contains(err.Error(), ".png") {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}

// Any pixels come back from a PNG as they were.
func FuzzEncodePNG(f *testing.F) {
	f.Add([]byte("some pixels of a picture, at random"), uint8(3), uint8(0), false)
	f.Add(bytes.Repeat([]byte{0, 255}, 300), uint8(17), uint8(1), true)
	f.Fuzz(func(t *testing.T, pix []byte, width, color uint8, deep bool) {
		p := media.Pixels{Data: pix, Width: int(width), Color: media.Color(color % 3), DType: tensor.Uint8}
		if deep {
			p.DType = tensor.Uint16
		}
		if p.Stride = p.Width * p.PixelBytes(); p.Stride == 0 || len(pix) < p.Stride {
			return
		}
		p.Height = len(pix) / p.Stride
		img, err := png.Decode(bytes.NewReader(encode(t, p, media.EncodeOptions{Format: media.PNG, Effort: 1})))
		if err != nil {
			t.Fatal(err)
		}
		if got := goPixels(img, p); !bytes.Equal(got, pixeltest.Packed(p)) {
			t.Fatalf("%v: % x became % x", p.Form(), pixeltest.Packed(p), got)
		}
	})
}

// goPixels are the bytes of what image/png read, in p's form.
func goPixels(img image.Image, p media.Pixels) []byte {
	var b []byte
	for y := range p.Height {
		for x := range p.Width {
			v := values(img, x, y)
			for c := range p.Color.Channels() {
				if p.DType == tensor.Uint16 {
					b = binary.NativeEndian.AppendUint16(b, v[c])
				} else {
					b = append(b, byte(v[c]))
				}
			}
		}
	}
	return b
}

func values(img image.Image, x, y int) [4]uint16 {
	switch img := img.(type) {
	case *image.Gray:
		return [4]uint16{uint16(img.GrayAt(x, y).Y)}
	case *image.Gray16:
		return [4]uint16{img.Gray16At(x, y).Y}
	case *image.RGBA:
		c := img.RGBAAt(x, y)
		return [4]uint16{uint16(c.R), uint16(c.G), uint16(c.B), 255}
	case *image.NRGBA:
		c := img.NRGBAAt(x, y)
		return [4]uint16{uint16(c.R), uint16(c.G), uint16(c.B), uint16(c.A)}
	case *image.RGBA64:
		c := img.RGBA64At(x, y)
		return [4]uint16{c.R, c.G, c.B, 65535}
	}
	c := img.(*image.NRGBA64).NRGBA64At(x, y)
	return [4]uint16{c.R, c.G, c.B, c.A}
}
