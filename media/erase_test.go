package media_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/decodertest"
	"github.com/headrace/headrace/tensor"
)

// usualErasing are torchvision's defaults.
var usualErasing = media.RandomErasing{P: 1, Scale: [2]float64{0.02, 0.33}, Ratio: [2]float64{0.3, 3.3}}

// told is what one step draws for an image.
func told(t testing.TB, width, height int, r media.Rand, op media.Op) map[string]any {
	t.Helper()
	var plan media.Plan
	draws, err := media.Explain(media.Info{Width: width, Height: height}, media.Options{}, steps(op), r, &plan)
	if err != nil || len(draws) != 1 {
		t.Fatalf("%#v of %d×%d: %v, %v", op, width, height, draws, err)
	}
	return draws[0].Values
}

// The rectangle that was told is erased as torchvision erases it, and nothing else.
func TestErasedPixels(t *testing.T) {
	r := rand.New(rand.NewPCG(72, 1))
	for i := range 60 {
		op, p := usualErasing, confetti(r, media.Color(i%3), 1+r.IntN(60), 1+r.IntN(60))
		op.Paint.Color = [4]uint16{7, 8, 9, 10}
		chance := decodertest.Hashed(i)
		did := told(t, p.Width, p.Height, chance, op)
		var plan media.Plan
		o := media.Options{Color: p.Color, DType: p.DType}
		if err := media.MakePlan(media.Info{Width: p.Width, Height: p.Height}, o, steps(op), chance, &plan); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(p.Data))
		if err := (media.GoRunner{}).Run(got, p.Stride, p, &plan); err != nil {
			t.Fatal(err)
		}
		x, y, w, h := -1, 0, 0, 0
		if did["erased"].(bool) {
			x, y, w, h = did["x"].(int), did["y"].(int), did["width"].(int), did["height"].(int)
			if w >= p.Width || h >= p.Height {
				t.Errorf("%v of %v", did, p.Form())
			}
		}
		for k, v := range got {
			c, px, py := k%p.PixelBytes(), k/p.PixelBytes()%p.Width, k/p.Stride
			want := p.Data[k]
			if c < 3 && px >= x && px < x+w && py >= y && py < y+h {
				want = byte(7 + c)
			}
			if v != want {
				t.Fatalf("%v of %v: channel %d of %d,%d is %d, want %d", did, p.Form(), c, px, py, v, want)
			}
		}
	}
}

// Of 10^5 draws: how often a rectangle is found, and its mean area and place, as of
// torchvision's own draws.
func TestErasingIsDistributedAsTorchvisions(t *testing.T) {
	const width, height, n = 96, 64, 100_000
	for name, op := range map[string]media.RandomErasing{
		"usual": usualErasing,
		"large": {P: 1, Scale: [2]float64{0.6, 1}, Ratio: [2]float64{1, 1}},
		"half":  {P: 0.5, Scale: [2]float64{0.02, 0.4}, Ratio: [2]float64{0.3, 1 / 0.3}},
	} {
		var got [5]float64
		for i := range n {
			if did := told(t, width, height, decodertest.Hashed(i), op); did["erased"].(bool) {
				got[0]++
				got[1] += float64(did["x"].(int))
				got[2] += float64(did["y"].(int))
				got[3] += float64(did["width"].(int))
				got[4] += float64(did["height"].(int))
			}
		}
		for i := range got {
			got[i] /= n
		}
		want := oracle.Erased(t, width, height, op.P, op.Scale, op.Ratio, 3000)
		for i, what := range []string{"share", "x", "y", "width", "height"} {
			if math.Abs(got[i]-want[i]) > 0.06*want[i]+0.02 {
				t.Errorf("%s: %s is %.3f on average, torchvision's %.3f", name, what, got[i], want[i])
			}
		}
	}
}

// Levels of noise have the mean and deviation of ImageNet, and no two values are alike
// for a reason.
func TestErasedNoise(t *testing.T) {
	p := confetti(rand.New(rand.NewPCG(72, 2)), media.RGB, 400, 300)
	got := drew(t, p, 0.5, media.Cutout{Size: 4000, P: 1, Paint: media.Paint{Noise: true}})
	want := [3][2]float64{{0.485, 0.229}, {0.456, 0.224}, {0.406, 0.225}}
	for c := range 3 {
		var sum, squares float64
		for i := c; i < len(got); i += 3 {
			v := float64(got[i]) / 255
			sum, squares = sum+v, squares+v*v
		}
		n := float64(len(got) / 3)
		mean, std := sum/n, math.Sqrt(squares/n-sum/n*sum/n)
		if math.Abs(mean-want[c][0]) > 0.01 || math.Abs(std-want[c][1]) > 0.01 { // cut off at 0 and 255
			t.Errorf("channel %d: mean %.3f, deviation %.3f", c, mean, std)
		}
	}
}

// Cutout's square is anywhere, and cut at the edges; each pixel is as often erased as
// the formula says.
func TestCutoutIsEvenlyPlaced(t *testing.T) {
	const width, height, size, n = 9, 7, 4, 100_000
	var hits [height][width]int
	for i := range n {
		did := told(t, width, height, decodertest.Hashed(i), media.Cutout{Size: size, P: 1})
		for y := range did["height"].(int) {
			for x := range did["width"].(int) {
				hits[did["y"].(int)+y][did["x"].(int)+x]++
			}
		}
	}
	for y := range height {
		for x := range width {
			across, down := 0, 0
			for m := range width {
				if m-size/2 <= x && x < m-size/2+size {
					across++
				}
			}
			for m := range height {
				if m-size/2 <= y && y < m-size/2+size {
					down++
				}
			}
			want := float64(across*down) / (width * height)
			if got := float64(hits[y][x]) / n; math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/n) {
				t.Errorf("%d,%d is erased in %.4f of all, want %.4f", x, y, got, want)
			}
		}
	}
}

func TestGridMask(t *testing.T) {
	p := confetti(rand.New(rand.NewPCG(72, 3)), media.RGB, 50, 40)
	for i := range 40 {
		op := media.GridMask{Size: [2]int{2, 30}, Ratio: float64(i%5) / 4, P: 1}
		op.Paint.Color = [4]uint16{300 - 45, 0, 3}
		did := told(t, 50, 40, decodertest.Hashed(i), op)
		period := did["period"].(int)
		side := min(max(int(float64(period)*op.Ratio+0.5), 1), period-1)
		got := make([]byte, len(p.Data))
		var plan media.Plan
		if err := media.MakePlan(media.Info{Width: 50, Height: 40}, media.Options{}, steps(op), decodertest.Hashed(i), &plan); err != nil {
			t.Fatal(err)
		}
		if err := (media.GoRunner{}).Run(got, p.Stride, p, &plan); err != nil {
			t.Fatal(err)
		}
		for k, v := range got {
			want := p.Data[k]
			if (k/3%50+period-did["x"].(int))%period < side && (k/p.Stride+period-did["y"].(int))%period < side {
				want = byte(op.Paint.Color[k%3])
			}
			if v != want {
				t.Fatalf("%v, side %d: %d,%d is %d, want %d", did, side, k/3%50, k/p.Stride, v, want)
			}
		}
	}
}

// Whatever they are given, images of one pixel among them.
func TestErasingRefuses(t *testing.T) {
	nan := math.NaN()
	for _, op := range []media.Op{
		media.RandomErasing{P: 2}, media.RandomErasing{Scale: [2]float64{0.5, 0.1}, Ratio: [2]float64{1, 1}},
		media.RandomErasing{Scale: [2]float64{0, nan}, Ratio: [2]float64{1, 1}}, media.RandomErasing{Ratio: [2]float64{0, 1}},
		media.Cutout{Size: 0}, media.Cutout{Size: 1 << 40}, media.Cutout{Size: 1, P: nan},
		media.GridMask{Size: [2]int{1, 5}}, media.GridMask{Size: [2]int{5, 2}}, media.GridMask{Size: [2]int{2, 2}, Ratio: nan},
		media.GridMask{Size: [2]int{2, 2}, P: -1},
		media.GaussianNoise{Mean: 2}, media.GaussianNoise{Sigma: -1}, media.GaussianNoise{Sigma: nan},
		media.JPEGArtifacts{}, media.JPEGArtifacts{Quality: [2]int{50, 101}}, media.JPEGArtifacts{Quality: [2]int{50, 49}},
		media.RandomPhotometricDistort{Brightness: [2]float64{-1, 1}}, media.RandomPhotometricDistort{Hue: [2]float64{0, 1}},
		media.RandomPhotometricDistort{P: nan},
	} {
		if err := op.Check(); !errors.Is(err, media.ErrGeometry) {
			t.Errorf("%#v: %v", op, err)
		}
	}
	wide, byteLevel := media.Form{Height: 2, Width: 2, DType: tensor.Uint16}, media.Form{Height: 2, Width: 2, DType: tensor.Uint8}
	if _, err := (media.Cutout{Size: 1, Paint: media.Paint{Noise: true}}).Result(wide); !errors.Is(err, media.ErrUnsupported) {
		t.Error(err)
	}
	if _, err := (media.Cutout{Size: 1, Paint: media.Paint{Color: [4]uint16{256}}}).Result(byteLevel); !errors.Is(err, media.ErrGeometry) {
		t.Error(err)
	}
	if _, err := (media.GridMask{Size: [2]int{2, 2}, Paint: media.Paint{Noise: true}}).Result(byteLevel); err != nil {
		t.Error(err) // Check refuses it
	}
	for _, op := range []media.Op{
		usualErasing, media.Cutout{Size: 1, P: 1}, media.GridMask{Size: [2]int{2, 2}, Ratio: 1, P: 1}, media.GaussianNoise{Sigma: 0.1},
		media.JPEGArtifacts{Quality: [2]int{1, 100}}, media.RandomPhotometricDistort{P: 1, Contrast: [2]float64{0, 3}},
	} {
		for c := range media.Color(3) {
			drew(t, confetti(rand.New(rand.NewPCG(72, 4)), c, 1, 1), 0.3, op)
		}
	}
}

// Values of 16 bits are erased by a value of 16 bits.
func TestErasingOf16Bits(t *testing.T) {
	p := media.Pixels{Data: make([]byte, 5*5*2), Stride: 10, Width: 5, Height: 5, Color: media.Gray, DType: tensor.Uint16}
	got := drew(t, p, 0.5, media.Cutout{Size: 9, P: 1, Paint: media.Paint{Color: [4]uint16{0x1234}}})
	if !bytes.Equal(got, bytes.Repeat([]byte{0x34, 0x12}, 25)) && !bytes.Equal(got, bytes.Repeat([]byte{0x12, 0x34}, 25)) {
		t.Errorf("%x", got)
	}
}
