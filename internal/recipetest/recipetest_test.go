package recipetest

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// For each operation on images arguments are found that are right for them, and what is
// drawn as a chain is right together. Without that, tests would try nothing and pass.
func TestStepsFit(t *testing.T) {
	image := sample.TensorType(tensor.Uint8, tensor.Unknown, tensor.Unknown, 3)
	image.Axes = "HWC"
	in := sample.Schema{{Name: "image", Type: image}}
	found, kept := map[string]int{}, map[string]bool{}
	rapid.Check(t, func(rt *rapid.T) {
		for range 10 {
			for _, op := range Transforms() {
				if _, _, ok := Fitting(rt, op, in); ok {
					found[op.Name]++
				}
			}
			steps, out := Pixels(rt, 6, in)
			numbers, end := Numbers(rt, out)
			next := in
			for _, s := range append(steps, numbers...) {
				kept[s.Op] = true
				var err error
				if next, err = s.Args.Check(next); err != nil {
					rt.Fatalf("%s: %v", s.Op, err)
				}
			}
			if next.String() != end.String() || !arePixels(out, in) {
				rt.Fatalf("%v gives %v, and then %v", steps, out, end)
			}
			for _, s := range Alike(rt, 3, in) {
				if out, err := s.Args.Check(in); err != nil || out.String() != in.String() {
					rt.Fatalf("%s gives %v: %v", s.Op, out, err)
				}
			}
		}
	})
	for _, op := range Transforms() {
		if found[op.Name] < 5 {
			t.Errorf("%s: arguments that are right were found %d times", op.Name, found[op.Name])
		}
		if !kept[op.Name] && !testing.Short() {
			t.Errorf("%s is in no chain", op.Name)
		}
	}
	if len(Transforms()) < 15 || len(Ops()) < len(Transforms())+20 {
		t.Errorf("%d operations, %d of them on images", len(Ops()), len(Transforms()))
	}
	if _, ok := recipe.Find("no such step"); ok {
		t.Error("any name is one of an operation")
	}
}
