package media_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

const torchvisionsWaves = `
import numpy
import torch
from torchvision.transforms.v2 import functional as F

def blurred(args, noise):
    h, w = args["size"]
    noise = torch.from_numpy(numpy.frombuffer(noise, "<f4").reshape(2, h, w).copy())
    out = []
    for c, sigma in zip(noise, args["sigma"]):
        size = int(8 * sigma + 1)
        size += size % 2 == 0
        out.append(getattr(F, "gaussian" + "_blur")(c[None], [size, size], [sigma, sigma]))
    return None, torch.cat(out).numpy().tobytes()

def elastic(args, pixels, displacement):
    h, w, c = args["size"]
    image = torch.from_numpy(numpy.frombuffer(pixels, "u1").reshape(h, w, c).copy()).permute(2, 0, 1)
    displacement = torch.from_numpy(numpy.frombuffer(displacement, "<f4").reshape(1, h, w, 2).copy())
    return None, F.elastic(image, displacement, 2).permute(1, 2, 0).contiguous().numpy().tobytes()
`

func floats(v []float32) []byte {
	var b []byte
	for _, v := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// Waves are noise that torchvision's blur makes as smooth, to 1/4000 of its range.
func TestWavesEqualTorchvisions(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 6))
	for _, sigma := range []float64{0.7, 2, 5} {
		size := media.Size{Height: 45 + r.IntN(30), Width: 45 + r.IntN(30)}
		n := size.Height * size.Width
		raw, field := make([]int16, 2*n), make([]int16, 2*n)
		w := media.Waves{Seed: r.Uint64(), X: 1, Y: 1}
		w.Fill(raw, make([]int16, 2*n), size)
		w.Sigma = [2]float64{sigma, sigma}
		w.Fill(field, make([]int16, 2*n), size)
		noise := make([]float32, 2*n)
		for i := range n {
			noise[i], noise[n+i] = float32(raw[2*i])/32768, float32(raw[2*i+1])/32768
		}
		blobs := oracle.Run(t, torchvisionsWaves, "blurred", map[string]any{"size": [2]int{size.Height, size.Width},
			"sigma": w.Sigma}, nil, floats(noise))
		for i := range 2 * n {
			want := float64(math.Float32frombits(binary.LittleEndian.Uint32(blobs[0][4*i:])))
			if got := float64(field[2*(i%n)+i/n]) / 32768; math.Abs(got-want) > 1./4000 {
				t.Fatalf("sigma %v: %v, torchvision has %v", sigma, got, want)
			}
		}
	}
}

// Pixels go where torchvision's tensors have them for the same distances; at the border,
// where it fades twice, ours are not faded.
func TestElasticEqualsTorchvisions(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 7))
	size := media.Size{Height: 61, Width: 83}
	p := confetti(r, media.RGB, size.Width, size.Height)
	op := media.Elastic{Alpha: [2]float64{60, 30}, Sigma: [2]float64{4, 6}}
	var plan media.Plan
	draw := drawn{0.3, 0.6}
	if err := media.MakePlan(media.Info{Width: size.Width, Height: size.Height}, media.Options{}, steps(op), draw, &plan); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 3*size.Width*size.Height)
	if err := (media.GoRunner{}).Run(got, 3*size.Width, p, &plan); err != nil {
		t.Fatal(err)
	}
	w := plan.Stages[1].Warp.Waves
	n := size.Width * size.Height
	field := make([]int16, 2*n)
	w.Fill(field, make([]int16, 2*n), size)
	moved := make([]float32, 2*n)
	for i := range n {
		moved[2*i] = float32(float64(field[2*i]) * w.X * 2 / float64(size.Width))
		moved[2*i+1] = float32(float64(field[2*i+1]) * w.Y * 2 / float64(size.Height))
	}
	want := oracle.Run(t, torchvisionsWaves, "elastic", map[string]any{"size": [3]int{size.Height, size.Width, 3}},
		nil, p.Data, floats(moved))[0]
	const border = 4
	for y := border; y < size.Height-border; y++ {
		for x := border; x < size.Width-border; x++ {
			for c := range 3 {
				i := 3*(y*size.Width+x) + c
				if a, b := int(got[i]), int(want[i]); max(a, b)-min(a, b) > 1 {
					t.Fatalf("pixel %d,%d: %d, torchvision has %d", x, y, a, b)
				}
			}
		}
	}
}

// A box is moved by what moves the pixels at its corners.
func TestElasticMovesBoxes(t *testing.T) {
	size := media.Size{Height: 60, Width: 80}
	var plan media.Plan
	op := media.Elastic{Alpha: [2]float64{100, 100}, Sigma: [2]float64{5, 5}}
	if err := media.MakePlan(media.Info{Width: size.Width, Height: size.Height}, media.Options{}, steps(op),
		drawn{0.1, 0.2}, &plan); err != nil {
		t.Fatal(err)
	}
	w := plan.Stages[1].Warp.Waves
	n := size.Width * size.Height
	field := make([]int16, 2*n)
	w.Fill(field, make([]int16, 2*n), size)
	b := media.Bounds{X0: 20.5, Y0: 10.25, X1: 55, Y1: 41}
	want := media.Bounds{X0: 99, Y0: 99}
	for _, at := range [][2]float64{{b.X0, b.Y0}, {b.X1, b.Y0}, {b.X0, b.Y1}, {b.X1, b.Y1}} {
		i := 2 * (int(at[1])*size.Width + int(at[0]))
		x, y := at[0]-float64(field[i])*w.X, at[1]-float64(field[i+1])*w.Y
		want = media.Bounds{X0: min(want.X0, x), Y0: min(want.Y0, y), X1: max(want.X1, x), Y1: max(want.Y1, y)}
	}
	if got := plan.Moved(b, 0); got != want || got == b {
		t.Errorf("%v, want %v", got, want)
	}
}

// Images of one pixel, and of fewer than the blur looks at, are moved too.
func TestElasticOfSmallImages(t *testing.T) {
	for _, side := range []int{1, 2, 5} {
		p := media.Pixels{Data: make([]byte, 3*side*side), Stride: 3 * side, Width: side, Height: side,
			Color: media.RGB, DType: tensor.Uint8}
		drew(t, p, 0.5, media.Elastic{Alpha: [2]float64{50, 50}, Sigma: [2]float64{5, 5}})
	}
}
