package media_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/decodertest"
	"github.com/headrace/headrace/tensor"
)

// Chains are torchvision's changes of Pillow images; their weighted sum is cut to bytes.
const torchvisionsAugMix = `
import numpy as np
from PIL import Image
from torchvision.transforms import v2

def mixed(args, pixels):
    width, height, channels = args["picture"]
    image = Image.frombytes({1: "L", 3: "RGB"}[channels], (width, height), pixels)
    policy = v2.AugMix()
    total = args["share"] * np.asarray(image, np.float64)
    for chain in args["steps"]:
        weight, *changes = chain.split(", ")
        out = image
        for change in changes:
            name, _, by = change.partition(" ")
            by = float(by or 0)
            by -= name in ("brightness", "color", "contrast", "sharpness")
            by /= 255 if name == "solarize" else 1
            name = "".join(part.capitalize() for part in name.split("_")).replace("Autocontrast", "AutoContrast")
            assert name in policy._AUGMENTATION_SPACE
            if name == "Posterize" and by < 1:  # of torchvision's own table, and Pillow 13 refuses it
                out = Image.new(out.mode, out.size)
                continue
            out = policy._apply_image_or_video_transform(out, name, by, interpolation=v2.InterpolationMode.NEAREST, fill={Image.Image: 0})
        total = total + float(weight) * np.asarray(out, np.float64)
    return [width, height, channels], total.clip(0, 255).astype(np.uint8).tobytes()
`

func TestAugMixEqualsTorchvisions(t *testing.T) {
	r := rand.New(rand.NewPCG(83, 1))
	rounds := 16
	if testing.Short() {
		rounds = 4
	}
	for i := range rounds {
		p := few(r, []media.Color{media.RGB, media.Gray}[i%2], 1+r.IntN(90), 1+r.IntN(70))
		op := media.AugMix{Severity: 1 + i%10, Width: 1 + i%4, Depth: i % 3, Alpha: 1, AllOps: true, Filter: media.Nearest}
		draws := decodertest.Hashed(i)
		values := told(t, p.Width, p.Height, draws, op)
		want := oracle.Run(t, torchvisionsAugMix, "mixed", map[string]any{"picture": []int{p.Width, p.Height, p.Color.Channels()},
			"share": values["share"], "steps": values["steps"]}, nil, p.Data)[0]
		var plan media.Plan
		o := media.Options{Color: p.Color, DType: p.DType}
		if err := media.MakePlan(media.Info{Width: p.Width, Height: p.Height}, o, steps(op), draws, &plan); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(p.Data)+media.Slack)
		if err := media.CurrentRunner().Run(got, p.Stride, p, &plan); err != nil {
			t.Fatal(err)
		}
		for k, w := range want {
			if d := int(got[k]) - int(w); d < -1 || d > 1 {
				t.Fatalf("%+v of %v: value %d is %d, torchvision's %d: %v", op, p.Form(), k, got[k], w, values)
			}
		}
	}
}

// Shares are those of a Dirichlet distribution, depths are even, and together there is
// one image.
func TestAugMixDraws(t *testing.T) {
	const n = 20_000
	sum, square, depths := 0.0, 0.0, map[int]float64{}
	for i := range n {
		op := media.AugMix{Severity: 3, Width: 3, Alpha: 1, Filter: media.Bilinear}
		values := told(t, 60, 50, decodertest.Hashed(i), op)
		total := values["share"].(float64)
		for k, chain := range values["steps"].([]string) {
			weight, changes, _ := strings.Cut(chain, ", ")
			w, err := strconv.ParseFloat(weight, 64)
			if err != nil {
				t.Fatal(err)
			}
			if total += w; k == 0 {
				sum += w
				square += w * w
			}
			depths[1+strings.Count(changes, ", ")]++
			if strings.Contains(changes, "color") || strings.Contains(changes, "brightness") {
				t.Fatalf("without all_ops: %s", chain)
			}
		}
		if math.Abs(total-1) > 1e-12 {
			t.Fatalf("weights are %v together: %v", total, values)
		}
	}
	// Of U·D with U of Beta(1, 1) and D of Dirichlet(1, 1, 1): 1/2·1/3, and 1/3·1/6.
	if mean, m2 := sum/n, square/n; math.Abs(mean-1./6) > 0.005 || math.Abs(m2-1./18) > 0.004 {
		t.Errorf("weights have the mean %v and the mean square %v", mean, m2)
	}
	for depth := 1; depth <= 3; depth++ {
		if got := depths[depth] / (3 * n); math.Abs(got-1./3) > 0.01 {
			t.Errorf("%v of the chains have %d changes", got, depth)
		}
	}
}

func TestAugMixChecks(t *testing.T) {
	fine := media.AugMix{Severity: 3, Width: 3, Alpha: 1, Filter: media.Nearest}
	for _, change := range []func(*media.AugMix){
		func(o *media.AugMix) { o.Severity = 0 }, func(o *media.AugMix) { o.Severity = 11 }, func(o *media.AugMix) { o.Width = 0 },
		func(o *media.AugMix) { o.Width = 17 }, func(o *media.AugMix) { o.Depth = -1 },
		func(o *media.AugMix) { o.Alpha = math.NaN() },
		func(o *media.AugMix) { o.Filter = media.Lanczos },
	} {
		op := fine
		if change(&op); !errors.Is(op.Check(), media.ErrGeometry) {
			t.Errorf("%+v: %v", op, op.Check())
		}
	}
	wide, mask := media.Form{Height: 2, Width: 2, DType: tensor.Uint16}, media.Form{Height: 2, Width: 2, Color: media.Mask}
	for _, f := range []media.Form{wide, mask} {
		if _, err := fine.Result(f); !errors.Is(err, media.ErrUnsupported) {
			t.Errorf("%v: %v", f, err)
		}
	}
	// A tiny alpha leaves one image, or one chain, alone.
	p := few(rand.New(rand.NewPCG(83, 2)), media.RGB, 1, 1)
	fine.Alpha = 0.001
	for i := range 50 {
		values := told(t, p.Width, p.Height, decodertest.Hashed(i), fine)
		if len(values["steps"].([]string)) != 3 {
			t.Errorf("%v", values)
		}
	}
}
