package survey

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// What the first sample tells may differ in others: the size of an image, the rows of a
// batch, all of a value that is no field, and nothing else.
func TestExtentsThatMayDiffer(t *testing.T) {
	for _, c := range []struct {
		name    string
		is      sample.Type
		batched bool
		want    []int // axes
	}{
		{"image", sample.TensorType(tensor.Uint8, 10, 12, 3), false, []int{0, 1}},
		{"image", sample.TensorType(tensor.Uint16, 10, 12, 1), false, []int{0, 1}},
		{"image", sample.TensorType(tensor.Uint8, 10, tensor.Unknown, 4), false, []int{0}},
		{"image", sample.TensorType(tensor.Uint8, 10, 12, 5), false, nil},
		{"image", sample.TensorType(tensor.Float32, 10, 12, 3), false, nil},
		{"tokens", sample.TensorType(tensor.Int32, 7), false, nil},
		{"label", sample.TensorType(tensor.Int64), false, nil},
		{"name", sample.TextType, false, nil},
		{"image", sample.TensorType(tensor.Uint8, 10, 12, 3), true, []int{0}},
		{"tokens", sample.TensorType(tensor.Int32, 7, 3), true, []int{0}},
		{"label", sample.TensorType(tensor.Int64), true, nil},
		{recipe.Bare, sample.TensorType(tensor.Float32, 7, 3, 2), false, []int{0, 1, 2}},
	} {
		var f Survey
		given := sample.Schema{{Name: c.name, Type: c.is}}
		before := slices.Clone(c.is.Shape)
		f.remember(given, c.batched)
		var axes []int
		for _, g := range f.guesses {
			if axes = append(axes, g.axis); g.extent != before[g.axis] {
				t.Errorf("%v: axis %d is taken to be %d", c.is, g.axis, g.extent)
			}
		}
		if !slices.Equal(axes, c.want) {
			t.Errorf("%s, %v, batched %v: the axes %v may differ, want %v", c.name, c.is, c.batched, axes, c.want)
		}

		// They are left open in the schema that was given, and nowhere else.
		f.loosen(func() error { return nil })
		for axis, extent := range given[0].Type.Shape {
			if open := slices.Contains(c.want, axis); open != (extent == tensor.Unknown) && before[axis] != tensor.Unknown {
				t.Errorf("%v: axis %d has become %d", c.is, axis, extent)
			}
		}
		if !slices.Equal(c.is.Shape, before) {
			t.Errorf("the type of the value itself became %v", c.is)
		}
		if f.tighten(); !slices.Equal(given[0].Type.Shape, before) {
			t.Errorf("%v is %v again", before, given[0].Type.Shape)
		}
	}
}

// Extents stay open unless a later step needs them: with those that are pinned the recipe
// is right, and without any one of them it is not.
func TestNoExtentIsPinnedInVain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f Survey
		shape := tensor.Shape{}
		for i := range rapid.IntRange(1, 8).Draw(t, "extents") {
			shape = append(shape, 2+i)
		}
		for axis, extent := range shape {
			f.guesses = append(f.guesses, guess{shape, axis, extent})
		}

		// A recipe is right if all extents of one of these sets are known.
		sets := rapid.SliceOfN(rapid.SliceOfDistinct(rapid.IntRange(0, len(shape)-1), func(i int) int { return i }), 1, 4).Draw(t, "sets")
		right := func(shape tensor.Shape) bool {
			return slices.ContainsFunc(sets, func(set []int) bool {
				return !slices.ContainsFunc(set, func(axis int) bool { return shape[axis] == tensor.Unknown })
			})
		}
		f.loosen(func() error {
			if right(shape) {
				return nil
			}
			return errors.New("wrong")
		})

		if !right(shape) {
			t.Fatalf("%v of %v is wrong", shape, sets)
		}
		for axis, extent := range shape {
			if extent == tensor.Unknown {
				continue
			}
			less := slices.Clone(shape)
			if less[axis] = tensor.Unknown; right(less) {
				t.Fatalf("%v of %v: axis %d is pinned in vain", shape, sets, axis)
			}
		}
	})
}
