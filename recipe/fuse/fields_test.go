package fuse_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
)

// A step on several images is a step of the part of each, under one name in draws. Parts
// that are steps alone are called by their field, too.
func TestStepsOnSeveralImages(t *testing.T) {
	both := recipe.On{Fields: []string{"image", "mask"}}
	r := recipe.Recipe{Steps: []recipe.Step{
		{Args: &input.Object{Function: "a:b", Length: new(int64(9)), Gives: gives(t, `{"bytes":"bytes","seg":"bytes"}`)}},
		{Op: "decode_image"},
		{Args: &image.DecodeImage{Field: "seg", To: "mask", Color: "mask"}},
		{Args: &image.RandomCrop{Size: recipe.Size{Height: 8}, On: both}},
		{Args: &image.Grayscale{On: recipe.On{Field: "image"}}},
		{Args: &image.RandomFlip{On: both}},
		{Args: &flow.Batch{Size: 2}},
	}}
	fused := fusing(t, r)
	var names []string
	for _, p := range fused.Parts() {
		names = append(names, p.Name())
		id, steps := order.OpID("random_flip"), p.Images.Steps
		at := len(steps) - 1
		if steps[at].ID != id || !slices.EqualFunc(p.Images.Joint, []int{0, at}, func(j fuse.Joint, at int) bool { return j.Step == at && slices.Equal(j.Fields, both.Fields) }) {
			t.Errorf("%s: %+v, %+v", p.Name(), steps, p.Images.Joint)
		}
	}
	want := []string{"decode_image+random_crop+grayscale+random_flip", "decode_image_2+random_crop+random_flip+batch"}
	if d := cmp.Diff(want, names); d != "" {
		t.Error(d)
	}

	apart, err := fuse.Separate(r)
	if err != nil {
		t.Fatal(err)
	}
	names = nil
	for _, p := range apart.Parts() {
		names = append(names, p.Name())
	}
	want = []string{"decode_image", "decode_image_2", "random_crop", "random_crop of mask", "grayscale", "random_flip", "random_flip of mask", "batch"}
	if d := cmp.Diff(want, names); d != "" {
		t.Error(d)
	}
}

func gives(t *testing.T, text string) (g recipe.Gives) {
	t.Helper()
	if err := g.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return g
}
