//go:build cgo

package jpeg

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/decodertest"
	"github.com/headrace/headrace/media/internal/hostile"
	"github.com/headrace/headrace/media/internal/testjpeg"
	"github.com/headrace/headrace/media/turbo"
	"github.com/headrace/headrace/tensor"
)

func TestDecoder(t *testing.T) { decodertest.Run(t, Decoder{}) }

func TestHostile(t *testing.T) { hostile.Run(t, Decoder{}, media.JPEG) }

// kernels are the sets that this CPU can run.
var kernels = func() []string {
	all := []string{"plain", "sse4.1", "avx2"}
	if runtime.GOARCH == "arm64" {
		all = []string{"plain", "neon"}
	}
	if i := slices.Index(all, turbo.Decoder{}.Kernels()); i >= 0 {
		return all[:i+1]
	}
	return all
}()

// samplings are all factors that three components can have and an MCU has room for.
func samplings() (all [][][2]int) {
	for a := range 16 {
		for b := range 16 {
			y, c := [2]int{a%4 + 1, a/4 + 1}, [2]int{b%4 + 1, b/4 + 1}
			across, down := max(y[0], c[0]), max(y[1], c[1])
			if y[0]*y[1]+2*c[0]*c[1] <= 10 && across%y[0] == 0 && across%c[0] == 0 && down%y[1] == 0 && down%c[1] == 0 {
				all = append(all, [][2]int{y, c, c})
			}
		}
	}
	return all
}

// Every sampling and many sizes give libjpeg-turbo's pixels, by every set of kernels, and
// nothing was left to libjpeg-turbo.
func TestPixelsEqual(t *testing.T) {
	sizes := [][2]int{{1, 1}, {2, 3}, {5, 2}, {8, 8}, {16, 16}, {17, 31}, {33, 18}, {64, 47}, {131, 70}}
	for i, sampling := range append(samplings(), [][2]int{{1, 1}}) {
		for j, size := range sizes {
			l := testjpeg.Layout{Sampling: sampling, Quality: []int{1, 8, 40}[(i+j)%3], Restart: []int{0, 0, 1, 3}[(i+j)%4]}
			l.Separate = j%2 == 1
			data := testjpeg.Noise(size[0], size[1], uint64(i*31+j), l)
			want := decodertest.Whole(t, turbo.Decoder{}, data).Pix
			for _, k := range kernels {
				got, ok := alone(data, k)
				if !ok {
					t.Fatalf("%v %v %+v: left to libjpeg", k, size, l)
				}
				if !bytes.Equal(got, want) {
					t.Fatalf("%v %v %+v: %s", k, size, l, where(got, want, size[0]))
				}
			}
		}
	}
}

func where(got, want []byte, width int) string {
	for i := range got {
		if got[i] != want[i] {
			return fmt.Sprintf("(%d,%d) channel %d is %d, want %d", i/3%width, i/3/width, i%3, got[i], want[i])
		}
	}
	return ""
}

// Progressive pictures do, in any scans that bring all bits, and in those of libjpeg.
func TestProgressive(t *testing.T) {
	sizes := [][2]int{{1, 1}, {8, 8}, {17, 31}, {33, 18}, {131, 70}}
	equal := func(data []byte, name string, width int) {
		want := decodertest.Whole(t, turbo.Decoder{}, data).Pix
		for _, k := range kernels {
			got, ok := alone(data, k)
			if !ok {
				t.Fatalf("%s %s: left to libjpeg", k, name)
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("%s %s: %s", k, name, where(got, want, width))
			}
		}
	}
	for i, sampling := range append(samplings(), [][2]int{{1, 1}}) {
		for j, size := range sizes {
			seed := uint64(i*31 + j)
			l := testjpeg.Layout{Sampling: sampling, Quality: []int{1, 8, 40}[(i+j)%3], Restart: []int{0, 0, 1, 3}[(i+j)%4]}
			l.Scans = testjpeg.Progression(rand.New(rand.NewPCG(seed, 2)), len(sampling))
			equal(testjpeg.Noise(size[0], size[1], seed, l), fmt.Sprintf("%v %+v", size, l), size[0])
		}
	}
	for i, o := range []media.EncodeOptions{{}, {Quality: 1}, {Quality: 30}, {Quality: 100}, {Subsampling: "4:4:4"}, {Subsampling: "4:2:2", Quality: 95}} {
		o.Format, o.Progressive = media.JPEG, true
		for j, size := range append(sizes, [2]int{640, 427}) {
			data, err := media.Encode(nil, noise(size[0], size[1], uint64(i*31+j)), o)
			if err != nil {
				t.Fatal(err)
			}
			equal(data, fmt.Sprintf("%v %+v", size, o), size[0])
		}
	}
}

// noise is a picture with long runs of blocks that have little in them.
func noise(width, height int, seed uint64) media.Pixels {
	r := rand.New(rand.NewPCG(seed, 3))
	p := media.Pixels{Width: width, Height: height, Color: media.RGB, DType: tensor.Uint8, Stride: 3 * width}
	p.Data = make([]byte, 3*width*height)
	for i := range p.Data {
		x, y := i/3%width, i/3/width
		p.Data[i] = byte(x + y*2)
		if x/40%3 == 1 {
			p.Data[i] += byte(r.IntN(90))
		}
	}
	return p
}

// Scans that bring a picture only in part, or in an order that is none, are left.
func TestScansThatAreLeft(t *testing.T) {
	for name, scans := range map[string][]testjpeg.Scan{
		"no AC":       {{Components: []int{0}}},
		"no last bit": {{Components: []int{0}}, {Components: []int{0}, From: 1, To: 63, Low: 1}},
		"no DC":       {{Components: []int{0}, From: 1, To: 63}},
		"AC first":    {{Components: []int{0}, From: 1, To: 63}, {Components: []int{0}}},
		"a bit twice": {{Components: []int{0}}, {Components: []int{0}, From: 1, To: 63}, {Components: []int{0}, From: 1, To: 63}},
		"a gap":       {{Components: []int{0}}, {Components: []int{0}, From: 1, To: 5}, {Components: []int{0}, From: 7, To: 63}},
	} {
		data := testjpeg.Noise(40, 31, 3, testjpeg.Layout{Scans: scans})
		if _, ok := alone(data, "plain"); ok {
			t.Errorf("%s: decoded", name)
		}
		same(t, data, nil, media.Exact)
	}
	if _, ok := alone(testjpeg.ManyScans(64, 64, 300), "plain"); ok {
		t.Error("300 scans: decoded")
	}
}

// So are those that have a component twice, or lack one.
func TestComponentsThatAreLeft(t *testing.T) {
	sos := []byte{0xFF, 0xDA}
	data := testjpeg.Noise(40, 31, 3, testjpeg.Layout{Sampling: testjpeg.S420, Separate: true})
	parts := bytes.Split(data, sos)
	for name, scans := range map[string][][]byte{
		"a component twice": {parts[0], parts[1], parts[2], parts[2], parts[3]},
		"no third":          {parts[0], parts[1], append(bytes.Clone(parts[2]), 0xFF, 0xD9)},
		"no end":            {parts[0], parts[1], parts[2], parts[3][:len(parts[3])-2]},
	} {
		data := bytes.Join(scans, sos)
		if _, ok := alone(data, "plain"); ok {
			t.Errorf("%s: decoded", name)
		}
		same(t, data, nil, media.Exact)
	}
}

// Reduced planes are decoded here, to the same samples by every set of kernels. That
// they are libjpeg-turbo's is in TestPartsEqual.
func TestReducedPlanes(t *testing.T) {
	for i, sampling := range append(samplings(), [][2]int{{1, 1}}) {
		l := testjpeg.Layout{Sampling: sampling, Quality: []int{1, 8, 40, 90}[i%4], Restart: []int{0, 0, 1, 3}[i%4]}
		if i%3 == 0 {
			l.Scans = testjpeg.Progression(rand.New(rand.NewPCG(uint64(i), 2)), len(sampling))
		}
		data := testjpeg.Noise(61, 43, uint64(i), l)
		for _, eighths := range []int{1, 2, 4, 8} {
			want, ok := alonePlanes(data, "plain", eighths)
			if !ok {
				t.Fatalf("%+v, %d eighths: left to libjpeg", l, eighths)
			}
			for _, k := range kernels[1:] {
				if got, ok := alonePlanes(data, k, eighths); !ok || !bytes.Equal(got, want) {
					t.Fatalf("%+v, %d eighths, %s: other samples; left to libjpeg: %v", l, eighths, k, !ok)
				}
			}
		}
	}
}

// What no encoder would be given: all coefficients large, all samples at an end of their
// range. The pixels are equal, or it is left to libjpeg.
func TestExtremes(t *testing.T) {
	for i, value := range []func(c, x, y int) float64{
		func(c, x, y int) float64 { return float64((x+y)%2) * 255 },
		func(c, x, y int) float64 { return float64(rand.N(2)) * 255 },
		func(c, x, y int) float64 { return float64((x/3+y/5)%2) * 255 },
		func(c, x, y int) float64 { return 255 },
		func(c, x, y int) float64 { return 0 },
	} {
		for _, quality := range []int{1, 16, 99, 255} {
			data := testjpeg.Encode(60, 50, testjpeg.Layout{Sampling: testjpeg.S420, Quality: quality}, value)
			want := decodertest.Whole(t, turbo.Decoder{}, data).Pix
			for _, k := range kernels {
				if got, ok := alone(data, k); !ok || !bytes.Equal(got, want) {
					t.Errorf("picture %d, steps of %d, %s: left to libjpeg: %v; %s", i, quality, k, !ok, where(got, want, 60))
				}
			}
			for _, size := range []int{7, 14, 28} { // of which blocks have 1, 2 and 4 samples
				same(t, data, []media.Step{{Op: media.ResizeExact{Height: size, Width: size}}}, media.Fast)
			}
		}
	}
}

// Steps made larger after the fact bring blocks out of any range. Then libjpeg decodes.
func TestBlocksBeyondAnyPictureAreLeft(t *testing.T) {
	data := testjpeg.Noise(40, 40, 1, testjpeg.Layout{Sampling: testjpeg.S420, Quality: 1})
	i := bytes.Index(data, []byte{0xFF, 0xDB})
	copy(data[i+5:i+5+64], bytes.Repeat([]byte{255}, 64))
	for _, k := range kernels {
		if _, ok := alone(data, k); ok {
			t.Errorf("%s: not left", k)
		}
	}
	same(t, data, nil, media.Exact)
}

// same checks that an image has the same pixels as by libjpeg-turbo, or the same error.
func same(t testing.TB, data []byte, steps []media.Step, mode media.Mode) {
	t.Helper()
	got, err := attempt(Decoder{}, data, steps, mode)
	want, wanted := attempt(turbo.Decoder{}, data, steps, mode)
	if fmt.Sprint(err) != fmt.Sprint(wanted) {
		t.Fatalf("%+v, mode %v: %v, by libjpeg-turbo: %v", steps, mode, err, wanted)
	}
	if err == nil && !bytes.Equal(got, want) {
		t.Fatalf("%+v, mode %v: other pixels than by libjpeg-turbo", steps, mode)
	}
}

func attempt(d media.Decoder, data []byte, steps []media.Step, mode media.Mode) ([]byte, error) {
	info, err := media.Probe(data)
	if err != nil {
		return nil, err
	}
	if info.Width*info.Height > 1<<20 {
		return nil, nil // not worth the time of a test: its header may have rotted to a side of 65,535
	}
	var plan media.Plan
	if err := media.MakePlan(info, media.Options{Orient: true, Mode: mode}, steps, decodertest.Draws(0.4), &plan); err != nil {
		return nil, err
	}
	out := make([]byte, plan.Height*plan.Form().RowBytes())
	return out, d.DecodeInto(out, plan.Form().RowBytes(), data, &info, &plan)
}

var chains = [][]media.Step{
	nil,
	{{Op: media.CenterCrop{Height: 8, Width: 8}}},
	{{Op: media.Resize{Size: 20}}, {Op: media.CenterCrop{Height: 16, Width: 16}}},
	{{Op: media.RandomResizedCrop{Height: 16, Width: 16}}, {Op: media.RandomFlip{P: 0.5}}},
}

// Random parts and sizes of random images, in both modes, have the same pixels.
func TestPartsEqual(t *testing.T) {
	all := append(samplings(), [][2]int{{1, 1}}, [][2]int{{2, 2}}, [][2]int{{2, 2}, {2, 1}, {1, 2}})
	rapid.Check(t, func(rt *rapid.T) {
		l := testjpeg.Layout{
			Sampling: rapid.SampledFrom(all).Draw(rt, "sampling"), Restart: rapid.IntRange(0, 5).Draw(rt, "restart"),
			Progressive: rapid.IntRange(0, 9).Draw(rt, "progressive") == 0, Separate: rapid.IntRange(0, 4).Draw(rt, "separate") == 0,
			Segments: [][]byte{decodertest.EXIF(byte(rapid.IntRange(1, 8).Draw(rt, "orientation")))},
		}
		if rapid.Bool().Draw(rt, "scans") {
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "progression"), 0))
			l.Scans = testjpeg.Progression(r, max(1, len(l.Sampling)))
		}
		width, height := rapid.IntRange(1, 150).Draw(rt, "width"), rapid.IntRange(1, 150).Draw(rt, "height")
		data := testjpeg.Noise(width, height, rapid.Uint64Range(0, 9).Draw(rt, "seed"), l)
		cols, rows := rapid.IntRange(1, width).Draw(rt, "cols"), rapid.IntRange(1, height).Draw(rt, "rows")
		crop := media.Step{Op: media.RandomCrop{Height: rows, Width: cols}, ID: 3}
		size := media.Step{Op: media.ResizeExact{Height: rapid.IntRange(1, 90).Draw(rt, "to rows"), Width: rapid.IntRange(1, 90).Draw(rt, "to cols")}}
		for _, mode := range []media.Mode{media.Exact, media.Fast} {
			same(t, data, []media.Step{crop}, mode)
			same(t, data, []media.Step{crop, size}, mode)
		}
	})
}

// damaged are the images that are damaged below.
func damaged() [][]byte {
	return [][]byte{
		testjpeg.Noise(40, 31, 6, testjpeg.Layout{Sampling: testjpeg.S420, Quality: 60}),
		testjpeg.Noise(40, 31, 6, testjpeg.Layout{Sampling: testjpeg.S422, Quality: 60, Restart: 2}),
		testjpeg.Noise(40, 31, 6, testjpeg.Layout{Sampling: testjpeg.S444, Quality: 90}),
		testjpeg.Noise(40, 31, 6, testjpeg.Layout{Quality: 60}),
		testjpeg.Noise(40, 31, 6, testjpeg.Layout{Sampling: testjpeg.S420, Quality: 60, Separate: true}),
		testjpeg.Noise(40, 31, 6, testjpeg.Layout{Sampling: testjpeg.S420, Quality: 30, Scans: testjpeg.Progression(rand.New(rand.NewPCG(1, 2)), 3)}),
		testjpeg.Noise(40, 31, 6, testjpeg.Layout{Quality: 60, Restart: 4, Scans: testjpeg.Progression(rand.New(rand.NewPCG(3, 4)), 1)}),
	}
}

// Images cut at every byte have the verdict that libjpeg-turbo gives, with an end
// marker after them, with bytes that may fill up to a marker, or without.
func TestTruncation(t *testing.T) {
	for _, data := range damaged() {
		for n := range data {
			for _, steps := range chains[:3] {
				same(t, data[:n], steps, media.Exact)
				same(t, data[:n], steps, media.Fast)
			}
			same(t, append(bytes.Clone(data[:n]), 0xFF, 0xD9), nil, media.Exact)
			same(t, append(bytes.Clone(data[:n]), 0xFF, 0xFF), nil, media.Exact)
		}
	}
}

// Bits that have rotted give the same pixels, or the same error.
func TestRot(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, good := range damaged() {
		for i := range 3000 {
			data := bytes.Clone(good)
			for range 1 + r.IntN(3) {
				data[2+r.IntN(len(data)-2)] ^= 1 << r.IntN(8)
			}
			same(t, data, chains[i%len(chains)], media.Mode(i/len(chains)%2))
		}
	}
}

// What this package does not decode has the same pixels all the same.
func TestLeftToLibjpeg(t *testing.T) {
	for name, l := range map[string]testjpeg.Layout{
		"four":    {Sampling: [][2]int{{1, 1}, {1, 1}, {1, 1}, {1, 1}}},
		"RGB":     {Sampling: testjpeg.S444, Segments: [][]byte{append([]byte{0xEE}, "Adobe\x00\x64\x00\x00\x00\x00\x00"...)}},
		"unknown": {Sampling: testjpeg.S444, Segments: [][]byte{{0xF0, 1, 2}}},
	} {
		data := testjpeg.Noise(60, 50, 2, l)
		if _, ok := alone(data, "plain"); ok {
			t.Errorf("%s: decoded", name)
		}
		for _, steps := range chains {
			same(t, data, steps, media.Exact)
			same(t, data, steps, media.Fast)
		}
	}
}

// FuzzDecode compares what any bytes decode to with what they do by libjpeg-turbo.
func FuzzDecode(f *testing.F) {
	for _, data := range damaged() {
		f.Add(data, uint8(0))
	}
	f.Fuzz(func(t *testing.T, data []byte, how uint8) {
		same(t, data, chains[how%4], media.Mode(how/4%2))
	})
}

// A decoder keeps a few tables, and makes the others again.
func TestTablesOfManyPictures(t *testing.T) {
	var pictures, want [][]byte
	for i := range 12 {
		data := testjpeg.Noise(40, 30, uint64(i), testjpeg.Layout{Sampling: testjpeg.S420})
		at := bytes.Index(data, []byte{0xFF, 0xC4}) // a DC symbol more, which no block uses, makes another code
		data = slices.Insert(data, at+2+int(data[at+3]), byte(i))
		data[at+3]++
		data[at+5+4]++
		pictures = append(pictures, data)
		want = append(want, decodertest.Whole(t, turbo.Decoder{}, data).Pix)
	}
	for i := range 200 {
		n := i * 7 % len(pictures)
		if got, ok := alone(pictures[n], "plain"); !ok || !bytes.Equal(got, want[n]) {
			t.Fatalf("picture %d: left: %v", n, !ok)
		}
	}
}
