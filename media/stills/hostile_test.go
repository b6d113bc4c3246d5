package stills

import (
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/hostile"
)

func TestHostile(t *testing.T) {
	for _, d := range Decoders() {
		t.Run(d.Format(), func(t *testing.T) { hostile.Run(t, media.Whole(d), d.Format()) })
	}
}

func FuzzPNG(f *testing.F)  { fuzz(f, media.PNG) }
func FuzzGIF(f *testing.F)  { fuzz(f, media.GIF) }
func FuzzBMP(f *testing.F)  { fuzz(f, media.BMP) }
func FuzzTIFF(f *testing.F) { fuzz(f, media.TIFF) }
func FuzzWebP(f *testing.F) { fuzz(f, media.WebP) }

func fuzz(f *testing.F, format string) {
	for _, d := range Decoders() {
		if d.Format() == format {
			hostile.Fuzz(f, media.Whole(d), format)
		}
	}
}
