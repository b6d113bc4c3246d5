package preview

import (
	"bytes"
	"testing"

	"github.com/headrace/headrace/internal/sheet"
	"github.com/headrace/headrace/tensor"
)

// A strip has the first frame and the last and those between, whatever the order of axes.
func TestStrip(t *testing.T) {
	const frames, height, width = 7, 2, 3
	pixel := func(f, y, x, c int) byte { return byte(f<<5 | y<<4 | x<<2 | c) }
	var want []byte
	for y := range height {
		for _, f := range []int{0, 2, 4, 6} {
			for x := range width {
				for c := range 3 {
					want = append(want, pixel(f, y, x, c))
				}
			}
		}
	}
	extents := map[rune]int{'N': 2, 'T': frames, 'H': height, 'W': width, 'C': 3}
	for _, axes := range []string{"THWC", "TCHW", "CTHW", "NTHWC", "NCTHW"} {
		clip := tensor.Tensor{DType: tensor.Uint8}
		for _, a := range axes {
			clip.Shape = append(clip.Shape, extents[a])
		}
		n, _ := clip.Shape.Bytes(clip.DType)
		for i := range n {
			at := map[rune]int{}
			for k, rest := len(axes)-1, int(i); k >= 0; k-- {
				at[rune(axes[k])] = rest % clip.Shape[k]
				rest /= clip.Shape[k]
			}
			clip.Data = append(clip.Data, pixel(at['T'], at['H'], at['W'], at['C'])^byte(at['N']))
		}
		got := strip(clip, axes)
		if !got.Shape.Equal(tensor.Shape{height, 4 * width, 3}) || !bytes.Equal(got.Data, want) {
			t.Errorf("%s: %v", axes, got.Shape)
		}
	}
	if got := strip(tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{1, 1, 1, 1}, Data: []byte{9}}, "THWC"); got.Shape[1] != 1 || got.Data[0] != 9 {
		t.Errorf("of one frame %v", got.Shape)
	}
}

func TestCommonFolder(t *testing.T) {
	for want, keys := range map[string][]string{
		"":                {"data/train/cat/1.jpg"},
		"data/train/":     {"data/train/cat/1.jpg", "data/train/car/2.jpg"},
		"data/train/cat/": {"data/train/cat/1.jpg", "data/train/cat/11.jpg", "data/train/cat/1.jpg"},
	} {
		var tiles []sheet.Tile
		for _, k := range keys {
			tiles = append(tiles, sheet.Tile{Key: k})
		}
		if got := commonFolder(tiles); got != want {
			t.Errorf("%q: %q", keys, got)
		}
	}
	for _, keys := range [][]string{nil, {"", ""}, {"/a", "/b"}, {"a/b.jpg", "a/c.jpg"}, {"longer/than/that", "other"}} {
		var tiles []sheet.Tile
		for _, k := range keys {
			tiles = append(tiles, sheet.Tile{Key: k})
		}
		if got := commonFolder(tiles); got != "" {
			t.Errorf("%q: %q", keys, got)
		}
	}
}
