package recipetest

import (
	"fmt"
	"reflect"
	"regexp"

	"pgregory.net/rapid"

	_ "github.com/headrace/headrace/op"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var isRoom = regexp.MustCompile(`^github.com/headrace/headrace/(op/\w+|recipe)$`)

// Ops returns the operations of the rooms: other tests register their own.
func Ops() (all []recipe.Op) {
	for _, op := range recipe.Ops() {
		if t := reflect.TypeOf(op.New()); t.Kind() == reflect.Pointer && isRoom.MatchString(t.Elem().PkgPath()) {
			all = append(all, op)
		}
	}
	return all
}

// onBoxes are the operations on images that do nothing without boxes. They have tests of
// their own.
var onBoxes = map[string]bool{"random_iou_crop": true, "sanitize_boxes": true}

// Transforms returns the operations on an image, without those that need its boxes.
func Transforms() (all []recipe.Op) {
	for _, op := range Ops() {
		if _, ok := op.New().(recipe.Transform); ok && !onBoxes[op.Name] {
			all = append(all, op)
		}
	}
	return all
}

// OnImages reads steps on images in the notation of recipes, and checks them. Messages
// count decode_image as #2.
func OnImages(steps string) (recipe.Recipe, error) {
	r, err := recipe.Parse(fmt.Appendf(nil, `{"headrace":1,"steps":[{"files":{"pattern":"data"}},"decode_image",%s]}`, steps))
	if err == nil {
		_, err = r.Check()
	}
	return r, err
}

// Pixels draws at most so many steps on the image of a schema, each of which gives pixels
// of that dtype again, and returns the schema after them.
func Pixels(t *rapid.T, most int, in sample.Schema) (steps recipe.Chain, out sample.Schema) {
	return draw(t, most, in, arePixels)
}

// Alike draws at most so many steps on the image of a schema that leave the schema as it
// is, as those of branches do.
func Alike(t *rapid.T, most int, in sample.Schema) recipe.Chain {
	steps, _ := draw(t, most, in, func(after, before sample.Schema) bool { return after.String() == before.String() })
	return steps
}

func draw(t *rapid.T, most int, in sample.Schema, keep func(after, before sample.Schema) bool) (steps recipe.Chain, out sample.Schema) {
	out = in
	for range rapid.IntRange(0, most).Draw(t, "steps") {
		op := rapid.SampledFrom(Transforms()).Draw(t, "op")
		if args, next, ok := Fitting(t, op, out); ok && keep(next, out) {
			steps, out = append(steps, recipe.Step{Op: op.Name, Args: args}), next
		}
	}
	return steps, out
}

// Numbers draws steps after which there are no pixels any more: numbers, or planes.
func Numbers(t *rapid.T, in sample.Schema) (steps recipe.Chain, out sample.Schema) {
	out = in
	for _, op := range Transforms() {
		if !rapid.Bool().Draw(t, op.Name) {
			continue
		}
		if args, next, ok := Fitting(t, op, out); ok && !arePixels(next, out) {
			steps, out = append(steps, recipe.Step{Op: op.Name, Args: args}), next
		}
	}
	return steps, out
}

// arePixels tells whether images are as they were, but for their colours and sizes.
func arePixels(s, before sample.Schema) bool {
	for i := range s {
		if s[i].Type.DType != before[i].Type.DType || s[i].Type.Axes != before[i].Type.Axes {
			return false
		}
	}
	return true
}
