package resample

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/internal/tier"
)

var filters = []Filter{Bilinear, Box, Hamming, Bicubic, Lanczos}

// Weights are Pillow's, number for number, with 22 bits after the point and with 30.
func TestWeightsEqualPillows(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	side := func() int { return 1 + r.IntN([]int{8, 60, 400}[r.IntN(3)]) }
	for _, wide := range []bool{false, true} {
		one := 1 << Bits
		if wide {
			one = 1 << WideBits
		}
		different := 0
		for range 20 {
			var cases [][3]int
			for range 50 {
				cases = append(cases, [3]int{side(), side(), r.IntN(len(filters))})
			}
			for i, want := range oracle.Weights(t, one, cases) {
				in, out := cases[i][0], cases[i][1]
				if in == out {
					continue // Pillow copies
				}
				var table Table
				table.Set(Axis{In: in, Out: out, N: out, Filter: Filter(cases[i][2]), Wide: wide})
				got := make([]int32, in*out)
				for x, s := range table.Spans {
					for k, w := range table.Weights[s.At : s.At+s.Len] {
						got[(int(s.Start)+k)*out+x] = w
					}
				}
				for at, w := range want {
					if got[at] != w {
						different++
						if d := got[at] - w; !wide || d*d > 1 {
							t.Fatalf("%v: pixel %d of %d has %d, want %d", cases[i], at/out, at%out, got[at], w)
						}
					}
				}
			}
		}
		// With so many bits, a last bit of the sine shows now and then.
		t.Logf("wide %v: %d weights of some ten million differ, by 1", wide, different)
		if different > 20 {
			t.Errorf("%d weights differ", different)
		}
	}
}

// Weights are the same on every machine. Where this fails and the tests against Pillow
// do not, the compiler rounds a multiplication and an addition at once.
func TestWeightsAreTheSameEverywhere(t *testing.T) {
	for f, want := range map[Filter][2]uint64{
		Bilinear: {0x4ddbe6e3a22d154d, 0xc6042c82c29af5b1},
		Box:      {0xaf4ed61c222eb629, 0xbb43ad17e53a0af3},
		Hamming:  {0x2a8fcba98a014d73, 0x9bce0d7dba71a57d},
		Bicubic:  {0xc89814d448e2c6fb, 0x7bf7b94cacb0418b},
		Lanczos:  {0x48b73db2928b0239, 0x7e6d3f66b7f1239a},
	} {
		for i, wide := range []bool{false, true} {
			sum := fnv.New64a()
			for in := 1; in < 120; in++ {
				for out := 1; out < 120; out += 3 {
					var table Table
					table.Set(Axis{In: in, Out: out, N: out, Filter: f, Wide: wide})
					if err := binary.Write(sum, binary.LittleEndian, table.Weights); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got := sum.Sum64(); got != want[i] {
				t.Errorf("filter %d, wide %v: %#x, want %#x", f, wide, got, want[i])
			}
		}
	}
}

// The definition equals Pillow's resize, of noise and of extremes, at scales from 1:40
// to 40:1.
func TestResizeEqualsPillows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	side := func() int { return 1 + r.IntN([]int{8, 40, 400}[r.IntN(3)]) }
	modes := map[int]string{1: "L", 3: "RGB", 4: "CMYK"}
	for i := range tier.Cases(300, 1500) {
		in, out := [2]int{side(), side()}, [2]int{side(), side()}
		channels := []int{1, 3, 4}[i%3]
		f := filters[r.IntN(len(filters))]
		pixels := make([]byte, in[0]*in[1]*channels)
		for i := range pixels {
			pixels[i] = byte(r.Uint32())
			if in[0]%2 == 0 {
				pixels[i] = -(pixels[i] & 1)
			}
		}
		got := resized(pixels, in, out, channels, f, false)
		want := oracle.Geometry(t, oracle.Image{Mode: modes[channels], Width: in[0], Height: in[1], Pix: pixels},
			oracle.Step{Name: "resize_exact", Args: []int{out[1], out[0], int(f)}})
		if !bytes.Equal(got, want.Pix) {
			t.Errorf("%d channels, filter %d, %v to %v differs", channels, f, in, out)
		}
	}
}

// Pixels of 16 bits are within one level of Pillow's, where Pillow has the filter
// right: its sums that are negative or too large come out wrong.
func TestWideResizeIsNearPillows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	side := func() int { return 1 + r.IntN([]int{8, 40, 400}[r.IntN(3)]) }
	for range tier.Cases(120, 600) {
		in, out := [2]int{side(), side()}, [2]int{side(), side()}
		f := filters[r.IntN(len(filters))]
		pixels := make([]byte, in[0]*in[1]*2)
		for i := range len(pixels) / 2 {
			v := uint16(r.Uint32())
			if f == Bicubic || f == Lanczos {
				v = 20000 + v%20000
			}
			binary.NativeEndian.PutUint16(pixels[2*i:], v)
		}
		got := resized(pixels, in, out, 1, f, true)
		want := oracle.Geometry(t, oracle.Image{Mode: "I;16", Width: in[0], Height: in[1], Pix: pixels},
			oracle.Step{Name: "resize_exact", Args: []int{out[1], out[0], int(f)}})
		for i := range len(got) / 2 {
			g, w := int(binary.NativeEndian.Uint16(got[2*i:])), int(binary.NativeEndian.Uint16(want.Pix[2*i:]))
			if max(g-w, w-g) > 1 {
				t.Fatalf("filter %d, %v to %v: pixel %d is %d, want %d", f, in, out, i, g, w)
			}
		}
	}
}

func resized(pixels []byte, in, out [2]int, channels int, f Filter, wide bool) []byte {
	var x, y Table
	x.Set(Axis{In: in[0], Out: out[0], N: out[0], Filter: f, Wide: wide})
	y.Set(Axis{In: in[1], Out: out[1], N: out[1], Filter: f, Wide: wide})
	row, column, size := Row, Column, channels
	if wide {
		row, column, size = WideRow, WideColumn, 2*channels
	}
	dst := make([]byte, out[0]*out[1]*size)
	before, after := in[0]*size, out[0]*size
	if VerticalFirst(&x, &y) {
		between := make([]byte, before)
		for i, s := range y.Spans {
			column(between, pixels, before, 0, s, y.Weights)
			row(dst[i*after:], between, channels, 0, &x)
		}
		return dst
	}
	between := make([]byte, after*in[1])
	for i := range in[1] {
		row(between[i*after:], pixels[i*before:], channels, 0, &x)
	}
	for i, s := range y.Spans {
		column(dst[i*after:][:after], between, after, 0, s, y.Weights)
	}
	return dst
}

// A window is a part of the whole, and a flip its reverse.
func TestWindowAndFlip(t *testing.T) {
	for i, sizes := range [][2]int{{500, 224}, {100, 224}, {50, 50}, {1, 9}, {9, 1}, {501, 220}, {70, 30}} {
		f := filters[i%len(filters)]
		var whole, window, flipped Table
		in, out := sizes[0], sizes[1]
		whole.Set(Axis{In: in, Out: out, N: out, Filter: f})
		for first := 0; first < out; first += 7 {
			n := min(11, out-first)
			window.Set(Axis{In: in, Out: out, First: first, N: n, Filter: f})
			flipped.Set(Axis{In: in, Out: out, First: first, N: n, Filter: f, Flip: true})
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

// A table that holds what is asked for is left as it is, and a change of anything is
// noticed.
func TestSetAgain(t *testing.T) {
	var table Table
	axis := Axis{In: 500, Out: 224, First: 3, N: 20}
	table.Set(axis)
	version := table.Version
	spans := slices.Clone(table.Spans)
	table.Set(axis)
	if table.Version != version || !slices.Equal(table.Spans, spans) {
		t.Error("filled again")
	}
	for _, change := range []func(){
		func() { axis.In++ }, func() { axis.Out++ }, func() { axis.First++ }, func() { axis.N++ }, func() { axis.Filter = Lanczos },
		func() { axis.Flip = true }, func() { axis.Wide = true },
	} {
		version = table.Version
		change()
		if table.Set(axis); table.Version == version {
			t.Errorf("not filled again: %+v", axis)
		}
	}
	if n := testing.AllocsPerRun(10, func() {
		axis.First ^= 1
		table.Set(axis)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Every output pixel is above some input, whatever the scale.
func TestSpansAreNeverEmpty(t *testing.T) {
	for _, f := range filters {
		for in := 1; in <= 90; in++ {
			for out := 1; out <= 90; out++ {
				var table Table
				table.Set(Axis{In: in, Out: out, N: out, Filter: f})
				for x, s := range table.Spans {
					if s.Start < 0 || s.Len < 1 || int(s.Start+s.Len) > in {
						t.Fatalf("filter %d, %d to %d: span %d is %+v", f, in, out, x, s)
					}
				}
			}
		}
	}
}

func TestSine(t *testing.T) {
	for i := range 100001 {
		x := math.Pi * float64(i) / 100000
		if d := math.Abs(sine(x) - math.Sin(x)); d > 2.3e-16 {
			t.Fatalf("sine of %v is off by %g", x, d)
		}
	}
}
