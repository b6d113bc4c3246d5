//go:build cgo

package turbo

import (
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/decodertest"
	"github.com/headrace/headrace/media/internal/testjpeg"
)

// Pillow brings a libjpeg-turbo of its own, of another version. Whole images come out
// the same all the same.
func TestPillowDecodesTheSame(t *testing.T) {
	for name := range layouts {
		data := encode(name, 301, 203, 9)
		if s := decodertest.Same(decodertest.Whole(t, Decoder{}, data), oracle.Decode(t, data, false)); s != "" {
			t.Errorf("%s: %s", name, s)
		}
	}
}

// Files that Pillow writes: with tables of their own, and progressive by successive
// approximation.
func TestPillowsFiles(t *testing.T) {
	picture := oracle.Decode(t, testjpeg.Noise(203, 151, 2, testjpeg.Layout{Sampling: testjpeg.S444}), false)
	for _, e := range []oracle.Encoding{
		{}, {Quality: 5}, {Quality: 100, Subsampling: "4:4:4"}, {Subsampling: "4:2:2", Optimize: true}, {Progressive: true},
		{Progressive: true, Subsampling: "4:4:4", Quality: 95}, {RestartRows: 1}, {Restart: 3, Progressive: true}, {KeepRGB: true},
	} {
		data := oracle.Encode(t, picture, e)
		whole := decodertest.Whole(t, Decoder{}, data)
		if s := decodertest.Same(whole, oracle.Decode(t, data, false)); s != "" {
			t.Errorf("%+v: %s", e, s)
		}
		part := media.Rect{X: 31, Y: 47, Width: 77, Height: 59}
		if d := difference(decodePart(t, data, part), part.Width, whole.Pix, whole.Width, part); d != "" {
			t.Errorf("%+v, part: %s", e, d)
		}
	}
}

// Go's decoder has an inverse transform of its own: grey, and chroma that libjpeg
// repeats as well, differ by rounding only. Where libjpeg interpolates chroma, smooth
// images agree.
func TestGoDecodesNearlyTheSame(t *testing.T) {
	smooth := func(c, x, y int) float64 { return float64(60*c) + float64(x)/4 + float64(y)/5 }
	for name, l := range map[string]testjpeg.Layout{
		"grey": {}, "4:4:4": {Sampling: testjpeg.S444}, "4:1:1": {Sampling: testjpeg.S411}, "4:1:0": {Sampling: testjpeg.S410},
		"4:2:2": {Sampling: testjpeg.S422}, "4:2:0": {Sampling: testjpeg.S420}, "4:4:0": {Sampling: testjpeg.S440},
		"separate": {Sampling: testjpeg.S420, Separate: true}, "restart": {Sampling: testjpeg.S420, Restart: 3},
		"progressive": {Sampling: testjpeg.S420, Progressive: true},
	} {
		l.Quality = 2
		data := testjpeg.Encode(301, 203, l, smooth)
		ours, theirs := decodertest.Whole(t, Decoder{}, data), decodertest.Whole(t, media.GoJPEG{}, data)
		var sum, most int
		for i := range ours.Pix {
			d := int(ours.Pix[i]) - int(theirs.Pix[i])
			d = max(d, -d)
			sum, most = sum+d, max(most, d)
		}
		if mean := float64(sum) / float64(len(ours.Pix)); mean > 1 || most > 4 {
			t.Errorf("%s: %.3f levels apart on average, %d at most", name, mean, most)
		}
	}
}
