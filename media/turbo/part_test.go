//go:build cgo

package turbo

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/testjpeg"
	"github.com/headrace/headrace/tensor"
)

// layouts are all ways to store an image that take a way of their own through libjpeg.
var layouts = map[string]testjpeg.Layout{
	"grey":                     {},
	"grey 2x2":                 {Sampling: [][2]int{{2, 2}}},
	"grey progressive":         {Progressive: true},
	"grey restart":             {Restart: 3},
	"4:4:4":                    {Sampling: testjpeg.S444},
	"4:4:4 as 2x1":             {Sampling: [][2]int{{2, 1}, {2, 1}, {2, 1}}},
	"4:2:2":                    {Sampling: testjpeg.S422},
	"4:2:0":                    {Sampling: testjpeg.S420},
	"4:4:0":                    {Sampling: testjpeg.S440},
	"4:1:1":                    {Sampling: testjpeg.S411},
	"4:1:0":                    {Sampling: testjpeg.S410},
	"1x4":                      {Sampling: [][2]int{{1, 4}, {1, 1}, {1, 1}}},
	"mixed chroma":             {Sampling: [][2]int{{2, 2}, {2, 1}, {1, 2}}},
	"chroma finer":             {Sampling: [][2]int{{1, 1}, {2, 2}, {2, 2}}},
	"4:2:0 restart 1":          {Sampling: testjpeg.S420, Restart: 1},
	"4:2:2 restart 7":          {Sampling: testjpeg.S422, Restart: 7},
	"4:4:0 restart 5":          {Sampling: testjpeg.S440, Restart: 5},
	"4:2:0 separate":           {Sampling: testjpeg.S420, Separate: true},
	"4:4:4 separate restart":   {Sampling: testjpeg.S444, Separate: true, Restart: 4},
	"4:4:4 progressive":        {Sampling: testjpeg.S444, Progressive: true},
	"4:2:2 progressive":        {Sampling: testjpeg.S422, Progressive: true},
	"4:2:0 progressive":        {Sampling: testjpeg.S420, Progressive: true, Restart: 6},
	"4:4:0 progressive":        {Sampling: testjpeg.S440, Progressive: true},
	"4:1:1 progressive":        {Sampling: testjpeg.S411, Progressive: true},
	"4:2:0 without last scans": {Sampling: testjpeg.S420, Progressive: true},
}

func encode(name string, width, height int, seed uint64) []byte {
	data := testjpeg.Noise(width, height, seed, layouts[name])
	if name == "4:2:0 without last scans" { // cut before the last three scans, and ended properly
		for range 3 {
			data = data[:bytes.LastIndex(data, []byte{0xFF, 0xDA})]
		}
		data = append(data, 0xFF, 0xD9)
	}
	return data
}

// What is decoded of a part equals that part of what is decoded as a whole.
func TestPartEqualsWhole(t *testing.T) {
	for name := range layouts {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				width, height := side(t, "width"), side(t, "height")
				data := encode(name, width, height, rapid.Uint64Range(0, 3).Draw(t, "seed"))
				whole := decodePart(t, data, media.Rect{X: 0, Y: 0, Width: width, Height: height})
				for range 8 {
					part := media.Rect{X: rapid.IntRange(0, width-1).Draw(t, "x"), Y: rapid.IntRange(0, height-1).Draw(t, "y")}
					part.Width = rapid.IntRange(1, width-part.X).Draw(t, "w")
					part.Height = rapid.IntRange(1, height-part.Y).Draw(t, "h")
					got := decodePart(t, data, part)
					if d := difference(got, part.Width, whole, width, part); d != "" {
						t.Fatalf("%d×%d, part %+v: %s", width, height, part, d)
					}
				}
			})
		})
	}
}

// Every left and right edge, and every upper and lower one.
func TestEveryEdge(t *testing.T) {
	const width, height = 83, 69
	for name := range layouts {
		t.Run(name, func(t *testing.T) {
			data := encode(name, width, height, 5)
			whole := decodePart(t, data, media.Rect{X: 0, Y: 0, Width: width, Height: height})
			check := func(part media.Rect) {
				if d := difference(decodePart(t, data, part), part.Width, whole, width, part); d != "" {
					t.Fatalf("part %+v: %s", part, d)
				}
			}
			step := tier.Cases(3, 1) // and so each place within a block of 8
			for a := 0; a < width; a += step {
				check(media.Rect{X: a, Y: 7, Width: width - a, Height: 9})
				check(media.Rect{X: 0, Y: 20, Width: a + 1, Height: 9})
				check(media.Rect{X: a, Y: 33, Width: 1, Height: 3})
			}
			for a := 0; a < height; a += step {
				check(media.Rect{X: 3, Y: a, Width: 11, Height: height - a})
				check(media.Rect{X: 30, Y: 0, Width: 13, Height: a + 1})
				for h := 1; h <= 4 && a+h <= height; h++ {
					check(media.Rect{X: 50, Y: a, Width: 9, Height: h})
				}
			}
		})
	}
}

func side(t *rapid.T, name string) int {
	return rapid.OneOf(rapid.IntRange(1, 20), rapid.IntRange(21, 130)).Draw(t, name)
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func decodePart(t fataler, data []byte, part media.Rect) []byte {
	t.Helper()
	info, err := media.Probe(data)
	if err != nil {
		t.Fatalf("Probe: %v", err)
	}
	plan := media.Plan{Orientation: 1, Width: part.Width, Height: part.Height, Output: media.Output{DType: tensor.Uint8}, Stages: []media.Stage{{
		Turn: 1, Crop: media.Rect{X: 0, Y: 0, Width: info.Width, Height: info.Height}, Width: info.Width, Height: info.Height, Window: part}}}
	dst := make([]byte, part.Width*part.Height*3)
	if err := (Decoder{}).DecodeInto(dst, part.Width*3, data, &info, &plan); err != nil {
		t.Fatalf("DecodeInto: %v", err)
	}
	return dst
}

// difference says where a part differs from the whole image that it is a part of.
func difference(got []byte, gotWidth int, whole []byte, width int, part media.Rect) string {
	for y := range part.Height {
		for x := range part.Width {
			a := got[(y*gotWidth+x)*3:][:3]
			b := whole[((part.Y+y)*width+part.X+x)*3:][:3]
			if !bytes.Equal(a, b) {
				return fmt.Sprintf("(%d,%d) is %v, in the whole picture it is %v", x, y, a, b)
			}
		}
	}
	return ""
}
