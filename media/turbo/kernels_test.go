//go:build cgo

package turbo

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/resample"
)

// Every set of kernels gives the bytes that the definition in Go gives, at every scale
// and in both orders of the passes.
func TestKernels(t *testing.T) {
	for _, name := range levels() {
		t.Run(name, func(t *testing.T) {
			defer setLevel(name)()
			rapid.Check(t, func(t *rapid.T) { checkKernels(t, name) })
		})
	}
}

func checkKernels(t *rapid.T, name string) {
	long := rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(1, 900))
	in := media.Rect{Width: long.Draw(t, "width"), Height: rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(1, 300)).Draw(t, "height")}
	out := media.Rect{Width: long.Draw(t, "to width"), Height: rapid.IntRange(1, 60).Draw(t, "to height")}
	x0, y0 := rapid.IntRange(0, out.Width-1).Draw(t, "x"), rapid.IntRange(0, out.Height-1).Draw(t, "y")
	w, h := rapid.IntRange(1, out.Width-x0).Draw(t, "w"), rapid.IntRange(1, out.Height-y0).Draw(t, "h")
	flip := rapid.Bool().Draw(t, "flip")
	pixels := make([]byte, in.Width*in.Height*3, in.Width*in.Height*3+1024) // HR_PAD
	fill(pixels, rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 3).Draw(t, "kind"))

	hd, err := borrow()
	if err != nil {
		t.Fatal(err)
	}
	defer hd.giveBack()
	turn := 1
	if flip {
		turn = 2
	}
	stage := media.Stage{Crop: in, Width: out.Width, Height: out.Height, Window: media.Rect{X: x0, Y: y0, Width: w, Height: h}, Turn: turn}
	hd.tables(&stage)
	got := make([]byte, w*h*3)
	whole := picture{pixels: media.Pixels{Data: pixels[:cap(pixels)], Stride: in.Width * 3}, width: in.Width, height: in.Height, orientation: 1}
	if err := hd.resample(target{got, w * 3, nil}, &whole, in); err != nil {
		t.Fatal(err)
	}
	if want := defined(&hd.x, &hd.y, pixels, in.Width); !bytes.Equal(got, want) {
		t.Fatalf("%s differs: %v", name, stage)
	}
}

// fill makes noise, extremes only, or one value.
func fill(pixels []byte, seed uint64, kind int) {
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range pixels {
		pixels[i] = byte(r.Uint32())
		switch kind {
		case 1:
			pixels[i] = -(pixels[i] & 1)
		case 2:
			pixels[i] = 255
		}
	}
}

// defined is the resampling as package resample defines it.
func defined(x, y *resample.Table, pixels []byte, width int) []byte {
	row, n := width*3, len(x.Spans)*3
	var out []byte
	if resample.VerticalFirst(x, y) {
		between := make([]byte, row)
		for _, s := range y.Spans {
			resample.Column(between, pixels, row, 0, s, y.Weights)
			out = append(out, make([]byte, n)...)
			resample.Row(out[len(out)-n:], between, 3, 0, x)
		}
		return out
	}
	between := make([]byte, len(pixels)/row*n)
	for i := range len(pixels) / row {
		resample.Row(between[i*n:], pixels[i*row:], 3, 0, x)
	}
	for _, s := range y.Spans {
		out = append(out, make([]byte, n)...)
		resample.Column(out[len(out)-n:], between, n, 0, s, y.Weights)
	}
	return out
}

func TestLevels(t *testing.T) {
	names := levels()
	if names[0] != "plain" || runtime.GOARCH == "amd64" && !slices.Contains(names, "sse4.1") {
		t.Errorf("this processor runs %v", names)
	}
	for _, name := range names {
		undo := setLevel(name)
		if got := levelName(); got != name {
			t.Errorf("asked for %s, got %s", name, got)
		}
		undo()
	}
	best := names[len(names)-1]
	for _, unknown := range []string{"", "mmx"} {
		undo := setLevel(unknown)
		if got := levelName(); got != best {
			t.Errorf("HEADRACE_SIMD=%q gives %s, not %s", unknown, got, best)
		}
		undo()
	}
}
