package fuse_test

import (
	"slices"
	"strings"
	"testing"

	"headrace/recipe"
	"headrace/recipe/fuse"
	"headrace/sample"
	"headrace/tensor"
)

// Maps and filters that say the same about their workers are one part, with batch if
// they are all maps.
func TestFunctionsThatFollowEachOtherAreOnePart(t *testing.T) {
	gives := recipe.Gives{Schema: sample.Schema{{Name: "image", Type: sample.TensorType(tensor.Uint8, 4, 4, 3)}}}
	mapped := func(p recipe.Python) recipe.Step {
		p.Function = "m:f"
		return recipe.Step{Op: "map", Args: &recipe.Map{Python: p, Gives: gives}}
	}
	plain := mapped(recipe.Python{})
	filter := recipe.Step{Op: "filter", Args: &recipe.Filter{Python: recipe.Python{Function: "m:f"}}}
	retried := mapped(recipe.Python{})
	retried.Failures = &recipe.Failures{Retries: 1}

	for _, c := range []struct {
		steps []recipe.Step
		want  []string
	}{
		{[]recipe.Step{plain, plain}, []string{"map+map_2+batch"}},
		{[]recipe.Step{plain, filter}, []string{"map+filter", "batch"}},
		{[]recipe.Step{filter, plain}, []string{"filter+map", "batch"}},
		{[]recipe.Step{plain, mapped(recipe.Python{Workers: new(2)})}, []string{"map", "map_2+batch"}},
		{[]recipe.Step{mapped(recipe.Python{Workers: new(2)}), mapped(recipe.Python{Workers: new(2)})}, []string{"map+map_2+batch"}},
		{[]recipe.Step{mapped(recipe.Python{Where: "thread"}), plain}, []string{"map", "map_2+batch"}},
		{[]recipe.Step{mapped(recipe.Python{Where: "process"}), plain}, []string{"map+map_2+batch"}},
		{[]recipe.Step{mapped(recipe.Python{Seed: []string{"numpy"}}), plain}, []string{"map", "map_2+batch"}},
		{[]recipe.Step{plain, retried, plain}, []string{"map", "map_2", "map_3+batch"}},
		{[]recipe.Step{plain, {Op: "flat_map", Args: (*recipe.FlatMap)(&recipe.Map{Python: recipe.Python{Function: "m:f"}, Gives: gives})}}, []string{"map", "flat_map", "batch"}},
	} {
		r := recipe.Recipe{Steps: slices.Concat([]recipe.Step{{Op: "files", Args: &recipe.Files{Pattern: "data"}}}, c.steps, []recipe.Step{{Op: "batch", Args: &recipe.Batch{Size: 2}}})}
		for _, separate := range []bool{false, true} {
			plan := fuse.Fuse
			if separate {
				plan = fuse.Separate
			}
			p, err := plan(r)
			if err != nil {
				t.Fatal(c.want, err)
			}
			var got []string
			for _, part := range p.Parts() {
				got = append(got, part.Name())
			}
			if !separate && !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			if separate && slices.ContainsFunc(got, func(s string) bool { return strings.Count(s, "map") > 1 }) {
				t.Errorf("separate: %q, for %q", got, c.want)
			}
		}
	}
}
