//go:build cgo

package webp

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/pixeltest"
	"github.com/headrace/headrace/tensor"
)

// picture has slopes, noise, and bytes between its rows that belong to nobody; where it
// is transparent, it has colours too.
func picture(width, height int, color media.Color) media.Pixels {
	r := rand.New(rand.NewPCG(uint64(width), uint64(height)))
	p := media.Pixels{Width: width, Height: height, Color: color, DType: tensor.Uint8}
	n := p.PixelBytes()
	p.Stride = width*n + 5
	p.Data = make([]byte, p.Stride*(height-1)+width*n)
	for i := range p.Data {
		p.Data[i] = byte(i%p.Stride/n*2 + i/p.Stride*3 + i%p.Stride%n*30 + r.IntN(8))
		if color == media.RGBA && i%p.Stride%n == 3 && i/p.Stride%3 == 0 {
			p.Data[i] = 0
		}
	}
	return p
}

var modes = map[media.Color]string{media.Gray: "L", media.RGB: "RGB", media.RGBA: "RGBA"}

// Pillow reads from a lossless file what was written.
func TestEncodeLossless(t *testing.T) {
	for color := range modes {
		for _, size := range [][2]int{{1, 1}, {1, 30}, {30, 1}, {57, 41}} {
			for _, effort := range []int{0, 1, 9} {
				p := picture(size[0], size[1], color)
				data, err := media.Encode(nil, p, media.EncodeOptions{Format: media.WebP, Lossless: true, Effort: effort})
				if err != nil {
					t.Fatal(err)
				}
				want := pixeltest.Packed(p)
				if color == media.Gray {
					want = pixeltest.Packed(colored(p))
				}
				got := oracle.ReadImage(t, data, "", false)
				if got.Mode == "RGB" && color == media.RGBA { // opaque everywhere
					got.Pix = opaque(got.Pix)
				}
				if !bytes.Equal(got.Pix, want) {
					t.Errorf("%v %v, effort %d: Pillow reads other pixels, of mode %s", color, size, effort, got.Mode)
				}
			}
		}
	}
}

func opaque(rgb []byte) (rgba []byte) {
	for i := 0; i < len(rgb); i += 3 {
		rgba = append(rgba, rgb[i], rgb[i+1], rgb[i+2], 255)
	}
	return rgba
}

// A lossy file is as near to the pixels as Pillow's of the same quality.
func TestEncodeLossy(t *testing.T) {
	for color, mode := range modes {
		p := picture(120, 90, color)
		want := pixeltest.Packed(p)
		if color == media.Gray {
			want = pixeltest.Packed(colored(p))
		}
		for _, quality := range []int{0, 1, 50, 100} {
			data, err := media.Encode(nil, p, media.EncodeOptions{Format: media.WebP, Quality: quality})
			if err != nil {
				t.Fatal(err)
			}
			options := map[string]any{}
			if quality != 0 {
				options["quality"] = quality
			}
			got := oracle.ReadImage(t, data, "", false)
			theirs := oracle.ReadImage(t, oracle.WriteImage(t, oracle.Image{Mode: mode, Width: p.Width, Height: p.Height, Pix: pixeltest.Packed(p)}, "WEBP", options), "", false)
			ours, pillows := pixeltest.Difference(got.Pix, want), pixeltest.Difference(theirs.Pix, want)
			if ours > pillows*1.1+0.1 {
				t.Errorf("%v, quality %d: %.2f levels off, Pillow's %.2f", color, quality, ours, pillows)
			}
		}
	}
}

func TestEncodeAppends(t *testing.T) {
	p := picture(20, 10, media.RGB)
	alone, err := media.Encode(nil, p, media.EncodeOptions{Format: media.WebP})
	if err != nil {
		t.Fatal(err)
	}
	got, err := media.Encode([]byte("before"), p, media.EncodeOptions{Format: media.WebP})
	if err != nil || !bytes.Equal(got, append([]byte("before"), alone...)) {
		t.Errorf("%v, %d bytes", err, len(got))
	}
}

// What media.Encode would have refused, libwebp refuses too.
func TestEncodeFails(t *testing.T) {
	wide := media.Pixels{Data: make([]byte, 60_000), Stride: 60_000, Width: 20_000, Height: 1, Color: media.RGB, DType: tensor.Uint8}
	_, err := Encoder{}.AppendEncoded(nil, wide, media.EncodeOptions{Quality: 75, Effort: 6})
	if !errors.Is(err, media.ErrUnsupported) || !strings.HasSuffix(fmt.Sprint(err), "libwebp: a side longer than 16383") {
		t.Error(err)
	}
	if err := encodeError(-1); !strings.HasSuffix(err.Error(), "libwebp: error -1") {
		t.Error(err)
	}
}

func TestImportingRegistersTheEncoder(t *testing.T) {
	if e, err := media.EncoderFor(media.WebP); err != nil || e.Name() != "libwebp" {
		t.Errorf("%v, %v", e, err)
	}
}
