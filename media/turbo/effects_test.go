//go:build cgo

package turbo

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/recipetest"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/decodertest"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Each kernel gives the bytes of the effect that it is of, those between rows included,
// with arguments all over what its step accepts.
func TestKernelsEqualGo(t *testing.T) {
	tried := make(map[string]int)
	atEveryLevel(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			for _, pass := range passesWithKernels(t, r) {
				p := somePixels(r, media.Color(r.IntN(3)), tensor.Uint8)
				p.Height = 1 + r.IntN(40)
				p.Data = make([]byte, p.Stride*(p.Height-1)+p.Width*p.PixelBytes())
				for i := range p.Data {
					p.Data[i] = byte(r.Uint32())
					if r.IntN(2) == 0 {
						p.Data[i] = -(p.Data[i] & 1)
					}
				}
				want, err := pass.Apply(clone(p))
				if err != nil {
					t.Fatal(err)
				}
				tried[pass.Effect.Name]++
				if got := carryOut([]media.Pass{pass}, clone(p)); !bytes.Equal(got.Data, want.Data) {
					t.Fatalf("%s %v of %v differs", pass.Effect.Name, pass.Args, p.Form())
				}
			}
		})
	})
	for name := range kernels {
		if tried[name] < 50 && !testing.Short() {
			t.Errorf("the kernel %s was tried %d times", name, tried[name])
		}
	}
}

// passesWithKernels draws those of every step.
func passesWithKernels(t *rapid.T, r *rand.Rand) (all []media.Pass) {
	image := sample.TensorType(tensor.Uint8, tensor.Unknown, tensor.Unknown, 3)
	image.Axes = "HWC"
	for _, step := range recipetest.Transforms() {
		args, _, ok := recipetest.Fitting(t, step, sample.Schema{{Name: "image", Type: image}})
		if !ok {
			continue
		}
		var plan media.Plan
		ops := []media.Step{{Op: varied(r, args.(recipe.Transform).Transform())}}
		if media.MakePlan(media.Info{Width: 90, Height: 90}, media.Options{}, ops, decodertest.Hashed(r.Uint64()), &plan) != nil {
			continue
		}
		for _, s := range plan.Stages {
			for _, pass := range s.Passes {
				if kernels[pass.Effect.Name] != nil {
					all = append(all, pass)
				}
			}
		}
	}
	return all
}

// varied gives an operation other numbers that it accepts, if some are found.
func varied(r *rand.Rand, op media.Op) media.Op {
	for range 20 {
		other := reflect.New(reflect.TypeOf(op)).Elem()
		other.Set(reflect.ValueOf(op))
		for i := range other.NumField() {
			switch f := other.Field(i); f.Interface().(type) {
			case int:
				f.SetInt(int64(r.IntN(200)))
			case float64:
				f.SetFloat(math.Exp(r.Float64()*6 - 3))
			case [2]float64:
				ends := []float64{math.Exp(r.Float64()*6 - 3), math.Exp(r.Float64()*6 - 3)}
				slices.Sort(ends)
				f.Set(reflect.ValueOf([2]float64(ends)))
			case [2]int:
				ends := []int{1 + r.IntN(100), 1 + r.IntN(100)}
				slices.Sort(ends)
				f.Set(reflect.ValueOf([2]int(ends)))
			}
		}
		if other := other.Interface().(media.Op); other.Check() == nil {
			return other
		}
	}
	return op
}

func BenchmarkKernels(b *testing.B) {
	passes := make(map[string]media.Pass)
	rapid.Custom(func(t *rapid.T) int {
		for _, pass := range passesWithKernels(t, rand.New(rand.NewPCG(1, 1))) {
			passes[pass.Effect.Name] = pass
		}
		return len(passes)
	}).Example()
	for _, name := range slices.Sorted(maps.Keys(passes)) {
		for _, side := range []int{224, 1024} {
			p := media.Pixels{Width: side, Height: side, Color: media.RGB, DType: tensor.Uint8, Stride: 3 * side, Data: decodertest.Random(side*side*3, 1)}
			pass := passes[name]
			for _, level := range levels() {
				b.Run(fmt.Sprintf("%s/%d/%s", name, side, level), func(b *testing.B) {
					defer setLevel(level)()
					for b.Loop() {
						carryOut([]media.Pass{pass}, p)
					}
				})
			}
			b.Run(fmt.Sprintf("%s/%d/go", name, side), func(b *testing.B) {
				for b.Loop() {
					pass.Effect.Apply(&pass.Args, p)
				}
			})
		}
	}
}

// Tables in a row become one, which kernels of every level look up; bytes between rows
// and alpha stay.
func TestTablesEqualGo(t *testing.T) {
	atEveryLevel(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			p := somePixels(r, media.Color(r.IntN(3)), tensor.Uint8)
			p.Height = 1 + r.IntN(5)
			p.Data = make([]byte, p.Stride*(p.Height-1)+p.Width*p.PixelBytes())
			for i := range p.Data {
				p.Data[i] = byte(r.Uint32())
			}
			all := []media.Op{media.Invert{}, media.Posterize{Bits: r.IntN(9)}, media.Solarize{Threshold: float64(r.IntN(256))},
				media.AdjustGamma{Gamma: 3 * r.Float64(), Gain: 1}}
			var ops []media.Step
			for range 1 + r.IntN(4) {
				ops = append(ops, media.Step{Op: all[r.IntN(len(all))]})
			}
			var plan media.Plan
			if err := media.MakePlan(media.Info{Width: 9, Height: 9}, media.Options{}, ops, nil, &plan); err != nil {
				t.Fatal(err)
			}
			passes, want := plan.Stages[0].Passes, clone(p)
			if r.IntN(2) == 0 {
				passes = append(passes, media.Adjust{Kind: media.Brightness, Factor: 2 * r.Float32()}.Pass())
			}
			for i := range passes {
				if _, err := passes[i].Apply(want); err != nil {
					t.Fatal(err)
				}
			}
			if got := carryOut(passes, clone(p)); !bytes.Equal(got.Data, want.Data) {
				t.Fatalf("%v of %v differ", ops, p.Form())
			}
		})
	})
}
