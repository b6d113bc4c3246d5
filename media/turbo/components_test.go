//go:build cgo

package turbo

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/decodertest"
	"github.com/headrace/headrace/media/internal/testjpeg"
)

// adobe is the segment that says how the colours of four components are stored: 0 as
// CMYK, 2 as YCCK.
func adobe(transform byte) []byte {
	return append([]byte("\xEEAdobe\x00\x64\x00\x00\x00\x00"), transform)
}

// Images in printing inks are Pillow's, byte for byte, whole and in part, with and
// without Adobe's segment.
func TestInks(t *testing.T) {
	part := media.Rect{X: 13, Y: 9, Width: 50, Height: 30}
	for name, sampling := range map[string][][2]int{"4:4:4": {{1, 1}, {1, 1}, {1, 1}, {1, 1}}, "4:2:0": {{2, 2}, {1, 1}, {1, 1}, {2, 2}}} {
		for segment, list := range map[string][][]byte{"none": nil, "CMYK": {adobe(0)}, "YCCK": {adobe(2)}} {
			for _, progressive := range []bool{false, true} {
				data := testjpeg.Noise(101, 67, 5, testjpeg.Layout{Sampling: sampling, Segments: list, Progressive: progressive})
				whole := decodertest.Whole(t, Decoder{}, data)
				if s := decodertest.Same(whole, oracle.Decode(t, data, false)); s != "" {
					t.Errorf("%s, %s: %s", name, segment, s)
				}
				if d := difference(decodePart(t, data, part), part.Width, whole.Pix, whole.Width, part); d != "" {
					t.Errorf("%s, %s, part: %s", name, segment, d)
				}
				for _, steps := range [][]media.Step{small, valStepsOf(40, 30)} {
					exact, err := try(data, media.Exact, steps, 6)
					if err != nil {
						t.Fatal(err)
					}
					if fast, err := try(data, media.Fast, steps, 6); err != nil || !bytes.Equal(fast, exact) {
						t.Errorf("%s, %s: fast differs, for which there are no planes, or %v", name, segment, err)
					}
				}
			}
		}
	}
}

// Two components are nothing that anybody could name.
func TestTwoComponents(t *testing.T) {
	data := testjpeg.Noise(40, 30, 5, testjpeg.Layout{Sampling: [][2]int{{1, 1}, {1, 1}}})
	info := media.Info{Format: media.JPEG, Width: 40, Height: 30, Components: 2}
	for _, mode := range []media.Mode{media.Exact, media.Fast} {
		var plan media.Plan
		if err := media.MakePlan(info, media.Options{Mode: mode}, small, nil, &plan); err != nil {
			t.Fatal(err)
		}
		err := Decoder{}.DecodeInto(space(&plan), plan.Form().RowBytes(), data, &info, &plan)
		if !errors.Is(err, media.ErrUnsupported) || !strings.Contains(err.Error(), "libjpeg: ") {
			t.Error(err)
		}
	}
}

// Arithmetic coding is decoded where libjpeg can, and else refused by name. The files
// were written by libjpeg-turbo's encoder.
func TestArithmeticCoding(t *testing.T) {
	for _, name := range []string{"arithmetic", "arithmetic_progressive", "arithmetic_restart"} {
		data, err := os.ReadFile("testdata/" + name + ".jpg")
		if err != nil {
			t.Fatal(err)
		}
		whole, err := decodertest.Try(Decoder{}, data, false, nil, nil)
		if err != nil {
			if !errors.Is(err, media.ErrUnsupported) || !strings.Contains(err.Error(), "arithmetic") {
				t.Error(err)
			}
			continue
		}
		if s := decodertest.Same(whole, oracle.Decode(t, data, false)); s != "" {
			t.Errorf("%s: %s", name, s)
		}
		part := media.Rect{X: 21, Y: 19, Width: 20, Height: 17}
		if d := difference(decodePart(t, data, part), part.Width, whole.Pix, whole.Width, part); d != "" {
			t.Errorf("%s, part: %s", name, d)
		}
		for n := range data {
			got, err := decodertest.Try(Decoder{}, data[:n], false, nil, nil)
			if err != nil && !typed(err) || err == nil && !bytes.Equal(got.Pix, whole.Pix) {
				t.Fatalf("%s: %d of %d bytes: %v", name, n, len(data), err)
			}
		}
	}
}
