package media_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/decodertest"
	"github.com/headrace/headrace/tensor"
)

func reach(n int) func(*media.Args) int { return func(*media.Args) int { return n } }

// Effects with which a plan that moves a turn or a cut across one of them is noticed.
var (
	smear = &media.Effect{Name: "smear", Reach: reach(3), Fixed: true, Apply: func(_ *media.Args, p media.Pixels) media.Pixels {
		n := p.PixelBytes()
		for y := range p.Height {
			row := p.Row(y)
			for i := 3 * n; i < p.Width*n; i++ {
				row[i] ^= row[i-3*n]
			}
		}
		return p
	}}
	blur = &media.Effect{Name: "blur", Reach: reach(1), Apply: func(_ *media.Args, p media.Pixels) media.Pixels {
		n, before := p.PixelBytes(), bytes.Clone(p.Data)
		at := func(x, y, i int) int { return y*p.Stride + x*n + i }
		for y := 1; y < p.Height-1; y++ {
			for x := 1; x < p.Width-1; x++ {
				for i := range n {
					p.Data[at(x, y, i)] = before[at(x-1, y, i)] + before[at(x+1, y, i)] + before[at(x, y-1, i)] + before[at(x, y+1, i)]
				}
			}
		}
		return p
	}}
	corner = &media.Effect{Name: "corner", Fixed: true, Apply: func(a *media.Args, p media.Pixels) media.Pixels {
		for y := range min(p.Height, int(a[1])) {
			clear(p.Row(y)[:min(p.Width, int(a[0]))*p.PixelBytes()])
		}
		return p
	}}
	invert = &media.Effect{Name: "invert", Apply: func(_ *media.Args, p media.Pixels) media.Pixels {
		for y := range p.Height {
			for i, row := 0, p.Row(y); i < p.Width*p.PixelBytes(); i++ {
				row[i] = ^row[i]
			}
		}
		return p
	}}
)

// Passes of any reach, fixed or not, come where their steps are: one plan gives the bytes
// of one plan for each step.
func TestPassesStayInTheirPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src, info := anyPixels(t)
		var steps []media.Step
		for i, s := range decodertest.AnySteps(t, src.DType) {
			if e := rapid.SampledFrom([]*media.Effect{nil, smear, blur, corner, invert}).Draw(t, "effect"); e != nil && movesOnly(steps) {
				steps = append(steps, media.Step{Op: media.Passing{Pass: media.Pass{Effect: e, Args: media.Args{3, 2}}}, ID: uint64(100 + i)})
			}
			steps = append(steps, s)
		}
		chance := decodertest.Hashed(rapid.Uint64().Draw(t, "chance"))
		o := media.Options{Orient: true, Color: src.Color, DType: src.DType}
		got, plan, err := made(info, o, steps, chance, src)
		want, wantErr := unfused(info, o, steps, chance, src)
		if err != nil || wantErr != nil {
			if kind(err) == nil || kind(err) != kind(wantErr) {
				t.Fatalf("%v at once, %v one after the other", err, wantErr)
			}
			return
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%v: differs from one after the other at byte %d of %d\n%+v", steps, firstDifference(got, want), len(want), plan.Stages)
		}
	})
}

// movesOnly reports whether pixels are as decoded after the steps.
func movesOnly(steps []media.Step) bool {
	for _, s := range steps {
		switch s.Op.(type) {
		case media.Normalize, media.ToLayout:
			return false
		}
	}
	return true
}

// A pass that nobody has defined, or that does not take what it is given, is refused
// before any pixel is changed.
func TestPassesRefuse(t *testing.T) {
	src := media.Pixels{Data: decodertest.Random(4*4*3, 1), Stride: 4 * 3, Width: 4, Height: 4, DType: tensor.Uint8}
	for name, pass := range map[string]media.Pass{
		"nothing": {},
		"kind":    media.Adjust{Kind: media.ToGray + 1}.Pass(),
	} {
		before := bytes.Clone(src.Data)
		if _, err := pass.Apply(src); kind(err) != media.ErrUnsupported || !bytes.Equal(before, src.Data) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
