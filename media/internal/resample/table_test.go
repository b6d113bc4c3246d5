package resample

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"headrace/internal/oracle"
)

// The definition equals Pillow's resize, of noise and of extremes, at scales from 1:40 to 40:1.
func TestResizeEqualsPillows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	side := func() int { return 1 + r.IntN([]int{8, 40, 400}[r.IntN(3)]) }
	for range 1500 {
		in, out := [2]int{side(), side()}, [2]int{side(), side()}
		pixels := make([]byte, in[0]*in[1]*3)
		for i := range pixels {
			pixels[i] = byte(r.Uint32())
			if in[0]%2 == 0 {
				pixels[i] = -(pixels[i] & 1)
			}
		}
		got := resized(pixels, in, out)
		want := oracle.Resize(t, oracle.Picture{Width: in[0], Height: in[1], Channels: 3, Pix: pixels}, out[0], out[1])
		if !bytes.Equal(got, want.Pix) {
			t.Errorf("%v to %v differs", in, out)
		}
	}
}

func resized(pixels []byte, in, out [2]int) []byte {
	var x, y Table
	x.Set(in[0], out[0], 0, out[0], false)
	y.Set(in[1], out[1], 0, out[1], false)
	dst := make([]byte, out[0]*out[1]*3)
	before, after := in[0]*3, out[0]*3
	if VerticalFirst(&x, &y) {
		between := make([]byte, before)
		for i, s := range y.Spans {
			Column(between, pixels, before, 0, s, y.Weights)
			Row(dst[i*after:], between, 0, &x)
		}
		return dst
	}
	between := make([]byte, after*in[1])
	for i := range in[1] {
		Row(between[i*after:], pixels[i*before:], 0, &x)
	}
	for i, s := range y.Spans {
		Column(dst[i*after:][:after], between, after, 0, s, y.Weights)
	}
	return dst
}

// A window is a part of the whole, and a flip its reverse.
func TestWindowAndFlip(t *testing.T) {
	for _, sizes := range [][2]int{{500, 224}, {100, 224}, {50, 50}, {1, 9}, {9, 1}} {
		var whole, window, flipped Table
		in, out := sizes[0], sizes[1]
		whole.Set(in, out, 0, out, false)
		for first := 0; first < out; first += 7 {
			n := min(11, out-first)
			window.Set(in, out, first, n, false)
			flipped.Set(in, out, first, n, true)
			if lo, hi := window.Bounds(); lo < 0 || hi > in || lo >= hi {
				t.Errorf("%v: bounds %d to %d", sizes, lo, hi)
			}
			for i := range n {
				want := describe(&whole, first+i)
				if got := describe(&window, i); got != want {
					t.Errorf("%v from %d: span %d is %s, want %s", sizes, first, i, got, want)
				}
				if got := describe(&flipped, n-1-i); got != want {
					t.Errorf("%v from %d, flipped: span %d is %s, want %s", sizes, first, i, got, want)
				}
			}
		}
	}
}

func describe(t *Table, i int) string {
	s := t.Spans[i]
	return fmt.Sprint(s.Start, t.Weights[s.At:s.At+s.Len])
}

// A table that holds what is asked for is left as it is, and a change of anything is noticed.
func TestSetAgain(t *testing.T) {
	var a Table
	a.Set(500, 224, 3, 20, false)
	version := a.Version
	spans := slices.Clone(a.Spans)
	a.Set(500, 224, 3, 20, false)
	if a.Version != version || !slices.Equal(a.Spans, spans) {
		t.Error("filled again")
	}
	for _, other := range []func(){
		func() { a.Set(501, 224, 3, 20, false) }, func() { a.Set(501, 225, 3, 20, false) }, func() { a.Set(501, 225, 4, 20, false) },
		func() { a.Set(501, 225, 4, 21, false) }, func() { a.Set(501, 225, 4, 21, true) },
	} {
		version = a.Version
		if other(); a.Version == version {
			t.Errorf("not filled again: %d to %d", a.In, a.Out)
		}
	}
}
