package media_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/headrace/headrace/media"

	"pgregory.net/rapid"
)

// chance is a media.Rand of as many draws as an operation can ask for.
func chance(seed uint64) drawn {
	r := rand.New(rand.NewPCG(seed, seed))
	d := make(drawn, 32)
	for i := range d {
		d[i] = r.Float64()
	}
	return d
}

// What learns of a random operation is what it does: with fixed operations in its
// place that do what was reported, the plan is the same.
func TestExplainTellsWhatIsDone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draws := chance(rapid.Uint64().Draw(t, "seed"))
		info := media.Info{
			Width: rapid.IntRange(20, 300).Draw(t, "width"), Height: rapid.IntRange(20, 300).Draw(t, "height"),
			Orientation: rapid.IntRange(1, 8).Draw(t, "orientation"),
		}
		op := rapid.SampledFrom([]media.Op{
			media.RandomCrop{Height: 12, Width: 17}, media.RandomResizedCrop{Height: 9, Width: 31},
			media.RandomFlip{P: 0.5}, media.RandomVerticalFlip{P: 0.5}, media.RandomRotate90{P: 0.7}, media.RandomGrayscale{P: 0.5},
			media.RandomSolarize{Threshold: 99, P: 0.5}, media.GaussianBlur{KernelSize: 7, Sigma: [2]float64{0.1, 2}},
			media.ColorJitter{Brightness: [2]float64{0.5, 1.5}, Contrast: [2]float64{0.2, 0.8}, Hue: [2]float64{-0.3, 0.3}},
			media.ColorJitter{Brightness: [2]float64{0.5, 1.5}, Hue: [2]float64{-0.3, 0.3}, P: new(0.5)},
		}).Draw(t, "operation")
		before := media.CenterCrop{Height: 18, Width: 19}
		o := media.Options{Orient: true}
		var want, got, fixed media.Plan
		if err := media.MakePlan(info, o, steps(before, op), draws, &want); err != nil {
			t.Fatal(err)
		}
		told, err := media.Explain(info, o, steps(before, op), draws, &got)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("Explain makes %+v, MakePlan %+v (%v)", got, want, err)
		}
		if len(told) != 1 || told[0].Step != 1 {
			t.Fatalf("told %+v", told)
		}
		if x, crops := told[0].Values["x"]; crops {
			var uncropped media.Plan
			if err := media.MakePlan(info, o, steps(before), nil, &uncropped); err != nil {
				t.Fatal(err)
			}
			from, v := uncropped.Stages[0].Window, told[0].Values
			rect := media.Rect{X: from.X + x.(int), Y: from.Y + v["y"].(int), Width: v["width"].(int), Height: v["height"].(int)}
			if cut := want.Stages[0]; cut.Resizes() && cut.Crop != rect || !cut.Resizes() && cut.Window != rect {
				t.Fatalf("told %v of %+v, which is not %+v", v, from, cut)
			}
			return
		}
		if err := media.MakePlan(info, o, steps(append([]media.Op{before}, asTold(op, told[0].Values)...)...), make(drawn, 32), &fixed); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(fixed.Work(), want.Work()) {
			t.Fatalf("%+v: told %v, which is %+v, but it does %+v", op, told[0].Values, fixed, want)
		}
	})
}

// asTold are operations without chance that do what knows of one.
func asTold(op media.Op, told map[string]any) []media.Op {
	when := func(done any, op media.Op) []media.Op {
		if done == true {
			return []media.Op{op}
		}
		return nil
	}
	switch op.(type) {
	case media.RandomFlip:
		return when(told["flipped"], media.RandomFlip{P: 1})
	case media.RandomVerticalFlip:
		return when(told["flipped"], media.RandomVerticalFlip{P: 1})
	case media.RandomRotate90:
		return []media.Op{media.Rotate90{Turns: told["turns"].(int)}}
	case media.RandomGrayscale:
		return when(told["gray"], media.ToGrayscale{Channels: 3})
	case media.GaussianBlur:
		sigma := told["sigma"].(float64)
		return []media.Op{media.GaussianBlur{KernelSize: 7, Sigma: [2]float64{sigma, sigma}}}
	case media.RandomSolarize:
		return when(told["solarized"], media.Solarize{Threshold: 99})
	case media.ColorJitter:
		if applied, chance := told["applied"]; chance && applied == false && len(told) > 2 {
			panic("it tells the factors of what it has not done")
		}
		return jitterAsTold(told)
	}
	panic("an operation that is not among them")
}

func jitterAsTold(told map[string]any) (ops []media.Op) {
	for _, name := range told["order"].([]string) {
		f := told[name].(float64)
		switch b := [2]float64{f, f}; name {
		case "brightness":
			ops = append(ops, media.ColorJitter{Brightness: b})
		case "contrast":
			ops = append(ops, media.ColorJitter{Contrast: b})
		case "hue":
			ops = append(ops, media.ColorJitter{Hue: b})
		}
	}
	return ops
}
