package video

import (
	"errors"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/yuv"
)

// Frames that planes cannot be made of are refused, and named.
func TestPlanesRefused(t *testing.T) {
	gray := Frame{Format: "gray10le", Picture: yuv.Picture{Kind: yuv.Gray, Width: 4, Height: 2, Bits: 10}}
	gray.Parts[0] = yuv.Part{Data: make([]byte, 16), Stride: 8, Step: 2}
	rgb := Frame{Format: "gbrp", Picture: yuv.Picture{Kind: yuv.RGB, Width: 4, Height: 2, Bits: 8}} // without data
	for name, c := range map[string]struct {
		frame Frame
		form  yuv.Planes
		why   error
	}{
		"of an unknown format":  {Frame{Format: "pal8"}, yuv.Planes{Width: 4, Height: 2}, media.ErrUnsupported},
		"of another size, wide": {gray, yuv.Planes{Width: 8, Height: 2, Wide: true}, media.ErrUnsupported},
		"without data":          {rgb, yuv.Planes{Width: 4, Height: 2}, nil},
	} {
		w := NewPlanesWriter(c.form, &media.Plan{})
		err := w.Draw(make([]byte, c.form.Bytes()), &c.frame)
		if err == nil || c.why != nil && !errors.Is(err, c.why) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
