package stills_test

import (
	"bytes"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/pixeltest"
	"github.com/headrace/headrace/media/stills"
)

func decoder(format string) media.PixelDecoder {
	for _, d := range stills.Decoders() {
		if d.Format() == format {
			return d
		}
	}
	return nil
}

func TestPNG(t *testing.T)  { pixeltest.PNG(t, decoder(media.PNG)) }
func TestWebP(t *testing.T) { pixeltest.WebP(t, decoder(media.WebP)) }

func TestImportingOffers(t *testing.T) {
	for _, format := range []string{media.PNG, media.GIF, media.BMP, media.TIFF, media.WebP} {
		if d, err := media.DecoderFor(format); err != nil || d.Name() != "go" {
			t.Errorf("%s: %v, %v", format, d, err)
		}
	}
}

// A whole way: probe, plan, decode, through the decoder that is registered.
func TestThroughAPlan(t *testing.T) {
	p := pixeltest.RawPNG{Width: 2, Height: 1, Depth: 8, Color: 3, Palette: []byte{1, 2, 3, 4, 5, 6}}
	p.Samples = []uint16{1, 0}
	data := p.Bytes()
	info, err := media.Probe(data)
	if err != nil {
		t.Fatal(err)
	}
	var plan media.Plan
	if err := media.MakePlan(info, media.Options{}, nil, nil, &plan); err != nil {
		t.Fatal(err)
	}
	d, err := media.DecoderFor(info.Format)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 6)
	if err := d.DecodeInto(got, 6, data, &info, &plan); err != nil || !bytes.Equal(got, []byte{4, 5, 6, 1, 2, 3}) {
		t.Errorf("% x, %v", got, err)
	}
}
