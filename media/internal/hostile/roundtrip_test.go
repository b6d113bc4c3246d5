package hostile

import (
	"bytes"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/pixeltest"
	"github.com/headrace/headrace/tensor"
)

// load is an image in the form that the options ask for, by the decoder that a program
// gets.
func load(t *testing.T, data []byte, o media.Options) media.Pixels {
	t.Helper()
	info, err := media.Probe(data)
	if err != nil {
		t.Fatal(err)
	}
	d, err := media.DecoderFor(info.Format)
	if err != nil {
		t.Fatal(err)
	}
	p, err := attempt(d, data, nil, use{options: o})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func drawn(width, height int, color media.Color, dtype tensor.DType) media.Pixels {
	p := media.Pixels{Width: width, Height: height, Color: color, DType: dtype}
	p.Stride = width * p.PixelBytes()
	p.Data = content(p.Stride*height, 11)
	return p
}

// What is saved without loss is loaded as it was.
func TestSaveAndLoad(t *testing.T) {
	for _, color := range []media.Color{media.Gray, media.RGB, media.RGBA} {
		for _, size := range [][2]int{{1, 1}, {1, 37}, {37, 1}, {64, 48}, {131, 77}} {
			for _, dtype := range []tensor.DType{tensor.Uint8, tensor.Uint16} {
				saves := []media.EncodeOptions{{Format: media.PNG}, {Format: media.PNG, Effort: 1}, {Format: media.WebP, Lossless: true}}
				for _, o := range saves {
					if _, err := media.EncoderFor(o.Format); err != nil || o.Format == media.WebP && dtype == tensor.Uint16 {
						continue
					}
					p := drawn(size[0], size[1], color, dtype)
					data, err := media.Encode(nil, p, o)
					if err != nil {
						t.Fatal(err)
					}
					got := load(t, data, media.Options{Color: color, DType: dtype})
					if !bytes.Equal(pixeltest.Packed(got), pixeltest.Packed(p)) {
						t.Errorf("%+v of %v: other pixels", o, p.Form())
					}
				}
			}
		}
	}
}

// What is saved with loss is near what it was, and nearer for more quality.
func TestSaveAndLoadWithLoss(t *testing.T) {
	for _, format := range []string{media.JPEG, media.WebP} {
		if _, err := media.EncoderFor(format); err != nil {
			continue
		}
		for _, color := range []media.Color{media.Gray, media.RGB} {
			p := media.Pixels{Width: 96, Height: 64, Color: color, DType: tensor.Uint8}
			p.Stride = p.Width * p.PixelBytes()
			for i := range p.Stride * p.Height {
				p.Data = append(p.Data, byte(i/p.Stride*2+i%p.Stride/p.PixelBytes()+i%p.PixelBytes()*20))
			}
			before := 256.0
			for _, c := range []struct {
				quality int
				levels  float64
			}{{20, 8}, {75, 4}, {95, 2}} {
				data, err := media.Encode(nil, p, media.EncodeOptions{Format: format, Quality: c.quality})
				if err != nil {
					t.Fatal(err)
				}
				off := pixeltest.Difference(pixeltest.Packed(load(t, data, media.Options{Color: color})), pixeltest.Packed(p))
				if off > c.levels || off > before {
					t.Errorf("%s, %v, quality %d: %.2f levels off", format, color, c.quality, off)
				}
				before = off
			}
		}
	}
}
