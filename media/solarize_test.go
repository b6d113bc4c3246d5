package media_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

// Every level with every whole threshold, and some between, of gray and of colours.
func TestSolarizeEqualsTorchvisions(t *testing.T) {
	all := make([]byte, 258)
	for v := range all {
		all[v] = byte(v)
	}
	thresholds := []float64{0.5, 127.5, 254.0001, 1e-9}
	for v := range 256 {
		thresholds = append(thresholds, float64(v))
	}
	for i, threshold := range thresholds {
		p := media.Pixels{Width: 258, Height: 1, Stride: 258, Color: media.Gray, DType: tensor.Uint8, Data: all}
		if i%2 > 0 {
			p.Width, p.Color = 86, media.RGB
		}
		want := oracle.Functional(t, oracle.Picture{Width: p.Width, Height: 1, Channels: p.Color.Channels(), Pix: p.Data}, "solarize", threshold)
		if got := ran(t, p, media.Solarize{Threshold: threshold}); !bytes.Equal(got, want.Pix) {
			t.Fatalf("%v of %v:\n%v\nwant\n%v", threshold, p.Form(), got, want.Pix)
		}
	}
}

// Pillow solarizes no image with alpha, and torchvision's tensors have none: as with all
// changes of colours, it stays.
func TestSolarizeLeavesAlphaAlone(t *testing.T) {
	p := confetti(rand.New(rand.NewPCG(41, 1)), media.RGBA, 20, 20)
	for i, v := range ran(t, p, media.Solarize{}) {
		if want := ^p.Data[i]; i%4 < 3 && v != want || i%4 == 3 && v != p.Data[i] {
			t.Fatalf("byte %d is %d of %d", i, v, p.Data[i])
		}
	}
}

// These numbers stay: a seed must give the same images in every release.
func TestSolarizeDrawsArePinned(t *testing.T) {
	for _, c := range []struct {
		draw float64
		want int
	}{{0, 1}, {0.2499, 1}, {0.25, 0}, {0.999, 0}} {
		var plan media.Plan
		told, err := media.Explain(media.Info{Width: 5, Height: 5}, media.Options{}, steps(media.RandomSolarize{Threshold: 9, P: 0.25}), drawn{c.draw}, &plan)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(plan.Stages[0].Passes); got != c.want || told[0].Values["solarized"] != (got == 1) {
			t.Errorf("with %v: %d passes, and %v is told", c.draw, got, told)
		}
	}
}

func TestSolarizeRefuses(t *testing.T) {
	nan := math.NaN()
	for _, op := range []media.Op{
		media.Solarize{Threshold: -0.1}, media.Solarize{Threshold: 255.1}, media.Solarize{Threshold: nan},
		media.RandomSolarize{Threshold: 256}, media.RandomSolarize{P: 1.1}, media.RandomSolarize{P: nan},
	} {
		if err := op.Check(); !errors.Is(err, media.ErrGeometry) {
			t.Errorf("%#v: %v", op, err)
		}
	}
	wide, mask := media.Form{Height: 2, Width: 2, DType: tensor.Uint16}, media.Form{Height: 2, Width: 2, DType: tensor.Uint8, Color: media.Mask}
	for _, op := range []media.Op{media.Solarize{}, media.RandomSolarize{}} {
		for _, f := range []media.Form{wide, mask} {
			if _, err := op.Result(f); !errors.Is(err, media.ErrUnsupported) {
				t.Errorf("%#v of %v: %v", op, f, err)
			}
		}
	}
	// A plan's pass is checked, too, before any pixel is changed.
	plan := planned(t, 2, 2, nil, media.Solarize{Threshold: 5})
	pass := plan.Stages[0].Passes[0]
	if _, err := pass.Apply(media.Pixels{Data: make([]byte, 24), Stride: 12, Width: 2, Height: 2, DType: tensor.Uint16}); !errors.Is(err, media.ErrUnsupported) {
		t.Error(err)
	}
}
