package recipe_test

import (
	"fmt"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/headrace/headrace/internal/recipetest"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
	"pgregory.net/rapid"
)

// comparable are the types with fields that cmp cannot see.
var comparable = cmpopts.EquateComparable(recipe.MaxErrors{})

// drawTree draws a recipe whose steps fit together: sources, merged or not, and
// branches, each in the other.
func drawTree(t *rapid.T) recipe.Recipe {
	all := append(drawSource(t, 2), drawImageSteps(t, 2)...)
	all = append(all, recipe.Step{Args: &image.CenterCrop{Size: recipe.Size{Height: 8}}}, recipe.Step{Args: &flow.Batch{Size: 4}})
	return recipe.Recipe{Seed: rapid.Uint64().Draw(t, "seed"), Steps: all}.Complete()
}

// drawSource draws what images come from, and at most so many merges around each other.
func drawSource(t *rapid.T, deep int) recipe.Chain {
	if deep == 0 || rapid.Bool().Draw(t, "files") {
		return recipe.Chain{{Args: &input.Files{Pattern: "a", Label: "parent"}}, {Op: "shuffle"}, {Op: "decode_image", Failures: drawFailures(t)}}
	}
	m := new(flow.Merge)
	for range rapid.IntRange(1, 3).Draw(t, "chains") {
		m.Of = append(m.Of, append(drawSource(t, deep-1), drawImageSteps(t, deep-1)...))
	}
	m.Order = rapid.SampledFrom([]string{"", "round_robin", "arrival"}).Draw(t, "order")
	if m.Until = rapid.SampledFrom([]recipe.Until{"", "shortest", "longest", "7"}).Draw(t, "until"); m.Order == "arrival" && m.Until == "7" {
		m.Until = ""
	}
	return recipe.Chain{{Args: m}}
}

// decoded is what decode_image gives.
var decoded = sample.Schema{{Name: "image", Type: sample.Type{Kind: sample.Tensor, DType: tensor.Uint8, Shape: tensor.Shape{tensor.Unknown, tensor.Unknown, 3}, Axes: "HWC"}}}

// drawImageSteps draws what happens to images, and at most so many routes inside each
// other.
func drawImageSteps(t *rapid.T, deep int) (all recipe.Chain) {
	for range rapid.IntRange(0, 2).Draw(t, "steps") {
		if deep > 0 && rapid.Bool().Draw(t, "route") {
			all = append(all, recipe.Step{Args: drawRoute(t, deep)})
		} else {
			for _, step := range recipetest.Alike(t, 1, decoded) {
				step.Failures = drawFailures(t)
				all = append(all, step)
			}
		}
	}
	return all
}

func drawRoute(t *rapid.T, deep int) *flow.Route {
	r := &flow.Route{By: rapid.SampledFrom([]string{"key", "label"}).Draw(t, "by")}
	for i := range rapid.IntRange(1, 3).Draw(t, "branches") {
		w := recipe.When{Number: new(int64(i))}
		if r.By == "key" {
			w = recipe.When{Pattern: recipe.Path(fmt.Sprint("**/", i, "*"))}
		}
		r.Branches = append(r.Branches, flow.Branch{When: []recipe.When{w}, Steps: drawImageSteps(t, deep-1)})
	}
	if rapid.Bool().Draw(t, "others") {
		r.Branches = append(r.Branches, flow.Branch{Steps: drawImageSteps(t, deep-1)})
	}
	return r
}

func drawFailures(t *rapid.T) *recipe.Failures {
	f := &recipe.Failures{OnError: rapid.SampledFrom([]string{"", "raise", "skip", "replace"}).Draw(t, "on_error")}
	if f.OnError != "raise" && rapid.Bool().Draw(t, "limited") {
		f.MaxErrors = new(rapid.SampledFrom([]recipe.MaxErrors{recipe.ErrorCount(3), recipe.ErrorRate(0.5)}).Draw(t, "errors"))
	}
	f.Retries = rapid.IntRange(0, 100).Draw(t, "retries")
	if seconds := rapid.IntRange(0, 100).Draw(t, "limit"); seconds > 0 {
		f.TimeLimit = new(float64(seconds))
	}
	return f
}
