package media_test

import (
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/decodertest"
)

// Pillow writes CMYK as Adobe does, inverted. Where chroma is not subsampled,
// image/jpeg and libjpeg differ by the rounding of their transforms, in four channels.
func TestGoJPEGOfFourComponents(t *testing.T) {
	p := oracle.Picture{Width: 40, Height: 30, Channels: 4, Pix: make([]byte, 40*30*4)}
	for i := range p.Pix {
		p.Pix[i] = byte(i/4%40*(i%4+2) + i/160*3)
	}
	data := oracle.Encode(t, p, oracle.Encoding{Quality: 95, Subsampling: "4:4:4"})
	got := decodertest.Whole(t, media.GoJPEG{}, data)
	want := oracle.Decode(t, data, false)
	for i := range want.Pix {
		if d := int(got.Pix[i]) - int(want.Pix[i]); d < -3 || d > 3 {
			t.Fatalf("value %d is %d, Pillow says %d", i, got.Pix[i], want.Pix[i])
		}
	}
}
