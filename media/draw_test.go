package media_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/headrace/headrace/internal/recipetest"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/decodertest"

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

// A few numbers, so that often the same is drawn again.
type coarse uint64

func (c coarse) Float64(op uint64, draw uint32) float64 {
	return []float64{0, 0.3, 0.8}[int(3*decodertest.Hashed(c).Float64(op, draw))]
}

// Of every operation: it tells what its description says, and all that matters, since
// what tells the same does the same.
func TestEveryOperationTellsItsDraws(t *testing.T) {
	info, o := media.Info{Width: 80, Height: 70}, media.Options{}
	told, again := make(map[string]map[string]bool), make(map[string]int)
	rapid.Check(t, func(t *rapid.T) {
		for _, op := range recipetest.Transforms() {
			drawn := anyOf(t, op)
			if drawn == nil {
				continue
			}
			work := make(map[string]any)
			for seed := range 10 {
				var plan, explained media.Plan
				ops := steps(drawn)
				err := media.MakePlan(info, o, ops, coarse(seed), &plan)
				draws, same := media.Explain(info, o, ops, coarse(seed), &explained)
				if fmt.Sprint(err) != fmt.Sprint(same) || !reflect.DeepEqual(plan, explained) {
					t.Fatalf("Explain makes %+v, MakePlan %+v (%v, %v)", explained, plan, same, err)
				}
				if err != nil {
					break
				}
				if len(draws) != min(1, len(op.Told)) {
					t.Fatalf("%s told %v, its description says %v", op.Name, draws, op.Told)
				}
				for _, d := range draws {
					for name := range d.Values {
						if told[op.Name] == nil {
							told[op.Name] = make(map[string]bool)
						}
						told[op.Name][name] = true
					}
				}
				key := fmt.Sprint(draws)
				if work[key] != nil {
					again[op.Name]++
				} else {
					work[key] = plan.Work()
				}
				if !reflect.DeepEqual(work[key], plan.Work()) {
					t.Fatalf("%s %+v: told %v of %+v and of %+v", op.Name, ops[0].Op, draws, work[key], plan.Work())
				}
			}
		}
	})
	if testing.Short() {
		return // too few were drawn to say that some were not
	}
	for _, op := range recipetest.Transforms() {
		if got, want := slices.Sorted(maps.Keys(told[op.Name])), slices.Sorted(slices.Values(op.Told)); !slices.Equal(got, want) {
			t.Errorf("%s tells %v, its description says %v", op.Name, got, want)
		}
		if again[op.Name] == 0 {
			t.Errorf("%s drew nothing twice", op.Name)
		}
	}
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
		again := steps(append([]media.Op{before}, asTold(op, told[0].Values)...)...)
		if err := media.MakePlan(info, o, again, make(drawn, 32), &fixed); err != nil {
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
