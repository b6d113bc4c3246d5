package testjpeg

import (
	"bytes"
	"image"
	"image/jpeg"
	"testing"
)

// image/jpeg reads what it can of these files, and finds the values that went in.
func TestEncode(t *testing.T) {
	for name, l := range map[string]Layout{
		"grey":        {},
		"4:4:4":       {Sampling: S444},
		"4:2:0":       {Sampling: S420},
		"4:1:1":       {Sampling: S411},
		"separate":    {Sampling: S422, Separate: true},
		"restart":     {Sampling: S420, Restart: 3},
		"progressive": {Sampling: S440, Progressive: true},
		"all":         {Sampling: S444, Progressive: true, Restart: 2}, // image/jpeg counts MCUs wrongly where chroma is subsampled
	} {
		const width, height = 61, 45
		l.Quality = 1
		value := func(c, x, y int) float64 { return float64(40*c + x + y) }
		img, err := jpeg.Decode(bytes.NewReader(Encode(width, height, l, value)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if img.Bounds() != image.Rect(0, 0, width, height) {
			t.Errorf("%s: %v", name, img.Bounds())
		}
		for y := range height {
			for x := range width {
				var got byte
				switch img := img.(type) {
				case *image.Gray:
					got = img.GrayAt(x, y).Y
				case *image.YCbCr:
					got = img.YCbCrAt(x, y).Y
				}
				if d := float64(got) - value(0, x, y); d < -2 || d > 2 {
					t.Fatalf("%s: (%d,%d) is %d, want %v", name, x, y, got, value(0, x, y))
				}
			}
		}
	}
}
