package media_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/decodertest"
	"github.com/headrace/headrace/tensor"
)

const torchvisionsPolicies = `
from PIL import Image
from torchvision.transforms import v2

def changed(args, pixels):
    width, height, channels = args["picture"]
    image = Image.frombytes({1: "L", 3: "RGB"}[channels], (width, height), pixels)
    policy = {"auto": v2.AutoAugment, "rand": v2.RandAugment, "wide": v2.TrivialAugmentWide}[args["policy"]]()
    name = "".join(part.capitalize() for part in args["name"].split("_")).replace("Autocontrast", "AutoContrast")
    magnitudes, signed = policy._AUGMENTATION_SPACE[name]
    magnitudes = magnitudes(args["bins"], height, width)
    magnitude = 0.0 if magnitudes is None else float(magnitudes[args["magnitude"]])
    if signed and args["negative"]:
        magnitude *= -1
    filter = [v2.InterpolationMode.NEAREST, v2.InterpolationMode.BILINEAR][args["bilinear"]]
    out = policy._apply_image_or_video_transform(image, name, magnitude, interpolation=filter, fill={type(image): 0})
    return [out.width, out.height, channels], out.tobytes()
`

// Each change, at any magnitude, both ways, on Pillow images.
func TestChangesOfPoliciesEqualTorchvisions(t *testing.T) {
	r := rand.New(rand.NewPCG(81, 1))
	rounds := 8
	if testing.Short() {
		rounds = 2
	}
	for i := range rounds {
		for _, name := range media.ChangeNames {
			which := []string{"rand", "wide", "auto"}[i%3]
			if name == "invert" {
				which = "auto"
			} else if name == "identity" && which == "auto" {
				continue
			}
			bins := []int{31, 10}[i%2]
			p := few(r, []media.Color{media.RGB, media.Gray}[i%2], 1+r.IntN(90), 1+r.IntN(70))
			op := media.Changing{Name: name, Wide: which == "wide", Magnitude: r.IntN(bins), Most: bins - 1, Negative: r.IntN(2) == 0}
			if i%4 == 3 {
				op.Filter = media.Bilinear
			} else {
				op.Filter = media.Nearest
			}
			want := oracle.Run(t, torchvisionsPolicies, "changed", map[string]any{
				"picture": []int{p.Width, p.Height, p.Color.Channels()}, "policy": which, "name": name, "bins": bins,
				"magnitude": op.Magnitude, "negative": op.Negative, "bilinear": op.Filter == media.Bilinear,
			}, nil, p.Data)[0]
			got, most, differ := ran(t, p, op), 0, 0
			for k := range got {
				d := max(int(got[k]), int(want[k])) - min(int(got[k]), int(want[k]))
				most = max(most, d)
				if d > 0 {
					differ++
				}
			}
			if most > 1 {
				t.Errorf("%+v of %s, %v: %d levels from torchvision's, %d of %d values differ", op, which, p.Form(), most, differ, len(got))
			}
		}
	}
}

// Of 10^5 draws each change is as likely, and so are both signs.
func TestPoliciesDrawEvenly(t *testing.T) {
	const n = 100_000
	count := func(op media.Op) (counts map[string]float64, changes float64) {
		counts = make(map[string]float64)
		for i := range n {
			for _, did := range told(t, 331, 331, decodertest.Hashed(i), op)["steps"].([]string) {
				name, by, signed := strings.Cut(did, " ")
				counts[name]++
				changes++
				if signed && name == "rotate" && strings.HasPrefix(by, "-") {
					counts["negative"]++
				}
			}
		}
		return counts, changes
	}
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/n)+1e-9 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	for what, op := range map[string]media.Op{
		"rand":    media.RandAugment{Ops: 2, Magnitude: 9, Bins: 31, Filter: media.Nearest},
		"trivial": media.TrivialAugment{Bins: 31, Filter: media.Nearest},
	} {
		counts, changes := count(op)
		for _, name := range media.ChangeNames[:14] {
			near(what+" "+name, counts[name]/changes, 1./14)
		}
		want := 0.5
		if what == "trivial" {
			want = 0.5 * 30 / 31 // of no angle there is no sign
		}
		near(what+" negative", counts["negative"]/counts["rotate"], want)
	}
	timm := media.TimmAugment{Layers: 2, P: 0.5, Magnitude: 9, Deviation: 0.5, Most: 10, Increasing: true, Filter: media.Bicubic}
	counts, changes := count(timm)
	near("timm", changes/2/n, 0.5)
	for _, name := range []string{"invert", "solarize_add", "equalize", "translate_y", "color"} {
		near("timm "+name, counts[name]/changes, 1./15)
	}
	for set, want := range map[string]map[string]float64{
		"3a":      {"blur": 1. / 3, "desaturate": 1. / 3, "solarize": 1. / 3},
		"3aw":     {"blur": 6. / 33, "rotate": 3. / 33, "shear_x": 2. / 33, "invert": 1. / 33},
		"weights": {"rotate": 3 / 10.1, "translate_y": 1 / 10.1, "color": 0.25 / 10.1, "posterize": 0.05 / 10.1},
	} {
		counts, changes := count(media.TimmAugment{Layers: 1, P: 1, Magnitude: 9, Most: 10, Set: set, Filter: media.Bicubic})
		for name, share := range want {
			near(set+" "+name, counts[name]/changes, share)
		}
	}
	counts, _ = count(media.AutoAugment{Policy: "imagenet", Filter: media.Nearest})
	near("auto rotate", counts["rotate"]/n, (0.6+0.8+0.2+0.8+0.4+0.8)/25)
	near("auto invert", counts["invert"]/n, (0.6+0.6+0.6)/25)
}

// Of a list with weights nothing is done twice. Amounts are those that increase.
func TestTimmsListsWithWeights(t *testing.T) {
	seen := map[string]bool{}
	for i := range 2000 {
		op := media.TimmAugment{Layers: 8, P: 1, Magnitude: 9, Most: 10, Set: []string{"3aw", "weights"}[i%2], Filter: media.Bicubic}
		names := map[string]bool{}
		for _, did := range told(t, 40, 30, decodertest.Hashed(i), op)["steps"].([]string) {
			name, _, _ := strings.Cut(did, " ")
			if names[name] {
				t.Fatalf("%s: twice of %v", name, names)
			}
			names[name] = true
			seen[did] = true
		}
	}
	for _, did := range []string{"solarize 26", "posterize 1", "desaturate 0.04999999999999999", "blur 1.81", "solarize_add 99"} {
		if !seen[did] {
			t.Errorf("not %q", did)
		}
	}
	if err := (media.TimmAugment{Layers: 1, Set: "3"}).Check(); !errors.Is(err, media.ErrGeometry) {
		t.Error(err)
	}
}

// Amounts are those of torchvision to the last bit: a threshold may be a level.
func TestAmountsOfPoliciesAreTorchvisions(t *testing.T) {
	for _, bins := range []int{2, 10, 31, 100} {
		var want []float64
		oracle.Run(t, "def spaced(args):\n    import torch\n    return torch.linspace(1.0, 0.0, args).tolist(),", "spaced", bins, &want)
		for i, w := range want {
			if got := media.Spaced(1, 0, i, bins-1); got != w {
				t.Errorf("%d of %d is %v, want %v", i, bins, got, w)
			}
		}
	}
}

// An operation that holds others draws what they draw by themselves, and as often as it
// says.
func TestOperationsInside(t *testing.T) {
	const n = 100_000
	a, b, c := media.Invert{}, media.Solarize{Threshold: 9}, media.RandomPosterize{Bits: 2, P: 0.5}
	counts := make(map[string]float64)
	for i := range n {
		r := decodertest.Hashed(i)
		for what, op := range map[string]media.Op{
			"apply":  media.RandomApply{Ops: []media.Op{a, c}, P: 0.3},
			"choice": media.RandomChoice{Ops: []media.Op{a, b, c}, P: []float64{1, 0, 3}},
			"even":   media.RandomChoice{Ops: []media.Op{a, b}},
			"order":  media.RandomOrder{Ops: []media.Op{a, b, c}},
		} {
			counts[what+": "+strings.Join(told(t, 9, 9, r, op)["steps"].([]string), ", ")]++
		}
	}
	for what, want := range map[string]float64{
		"apply: ": 0.7, "apply: invert, random_posterize posterized=true": 0.15, "choice: invert": 0.25,
		"choice: random_posterize posterized=false": 0.375, "even: invert": 0.5, "even: solarize": 0.5,
		"order: solarize, random_posterize posterized=true, invert": 1. / 12,
	} {
		if got := counts[what] / n; math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/n) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	for _, op := range []media.Op{
		media.RandomApply{P: 2}, media.RandomApply{Ops: []media.Op{media.Posterize{Bits: 9}}}, media.RandomChoice{},
		media.RandomChoice{Ops: []media.Op{a}, P: []float64{1, 2}}, media.RandomChoice{Ops: []media.Op{a}, P: []float64{0}},
		media.RandomChoice{Ops: []media.Op{a}, P: []float64{math.NaN()}}, media.RandomOrder{Ops: make([]media.Op, 25)},
		media.RandAugment{Ops: -1, Bins: 31}, media.RandAugment{Ops: 1, Magnitude: 31, Bins: 31}, media.TrivialAugment{Bins: 1},
		media.TimmAugment{Layers: 9}, media.TimmAugment{Magnitude: math.NaN()}, media.TimmAugment{P: -1},
	} {
		if err := op.Check(); !errors.Is(err, media.ErrGeometry) {
			t.Errorf("%#v: %v", op, err)
		}
	}
	for _, op := range []media.Op{
		media.AutoAugment{Policy: "coco"}, media.RandomApply{Ops: []media.Op{nil}},
	} {
		if err := op.Check(); !errors.Is(err, media.ErrUnsupported) {
			t.Errorf("%#v: %v", op, err)
		}
	}
	f := media.Form{Height: 9, Width: 9, DType: tensor.Uint8}
	f, err := media.RandomApply{Ops: []media.Op{media.CenterCrop{Height: 5, Width: 9}}, P: 0.5}.Result(f)
	if err != nil || f.Height != media.Unknown || f.Width != 9 {
		t.Errorf("%v, %v", f, err)
	}
}
