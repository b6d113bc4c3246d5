package fuse_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Maps and filters that say the same about their workers are one part, with batch if
// they are all maps.
func TestFunctionsThatFollowEachOtherAreOnePart(t *testing.T) {
	gives := recipe.Gives{Schema: sample.Schema{{Name: "image", Type: sample.TensorType(tensor.Uint8, 4, 4, 3)}}}
	mapped := func(p recipe.Python) recipe.Step {
		p.Function = "m:f"
		return recipe.Step{Op: "map", Args: &python.Map{Python: p, Gives: gives}}
	}
	plain := mapped(recipe.Python{})
	filter := recipe.Step{Op: "filter", Args: &python.Filter{Python: recipe.Python{Function: "m:f"}}}
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
		{[]recipe.Step{plain, {Op: "flat_map", Args: (*python.FlatMap)(&python.Map{Python: recipe.Python{Function: "m:f"}, Gives: gives})}}, []string{"map", "flat_map", "batch"}},
	} {
		r := recipe.Recipe{Steps: slices.Concat([]recipe.Step{{Op: "files", Args: &input.Files{Pattern: "data"}}}, c.steps, []recipe.Step{{Op: "batch", Args: &flow.Batch{Size: 2}}})}
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

// An object is read by the workers that call functions on its samples, where nothing is
// known of a sample before, and nothing else is said of them.
func TestWorkersThatRead(t *testing.T) {
	tensors := recipe.Gives{Schema: sample.Schema{{Name: "a", Type: sample.TensorType(tensor.Float32, 2)}}}
	object := func(change func(*input.Object)) recipe.Step {
		o := &input.Object{Function: "m:o", Length: new(int64(8)), Gives: tensors}
		if change != nil {
			change(o)
		}
		return recipe.Step{Op: "source", Args: o}
	}
	mapped := func(p recipe.Python) recipe.Step {
		p.Function = "m:f"
		return recipe.Step{Op: "map", Args: &python.Map{Python: p, Gives: tensors}}
	}
	plain := mapped(recipe.Python{})
	filter := recipe.Step{Op: "filter", Args: &python.Filter{Python: recipe.Python{Function: "m:f"}}}
	failing := object(nil)
	failing.Failures = &recipe.Failures{Retries: 1}

	pair := func(a, b sample.Type) func(*input.Object) { // samples are tuples
		return func(o *input.Object) {
			o.Gives = recipe.Gives{Schema: sample.Schema{{Name: recipe.Bare, Type: sample.ObjectType}},
				Values: sample.Schema{{Name: "0", Type: a}, {Name: "1", Type: b}}}
		}
	}

	for _, c := range []struct {
		steps []recipe.Step
		want  string
	}{
		{[]recipe.Step{object(nil), plain}, "source+map+batch"},
		{[]recipe.Step{object(nil), plain, plain}, "source+map+map_2+batch"},
		{[]recipe.Step{object(func(o *input.Object) { o.Where = "thread" }), mapped(recipe.Python{Where: "thread"})}, "source+map+batch"},
		{[]recipe.Step{object(func(o *input.Object) { o.Where = "thread" }), plain}, "map+batch"},
		{[]recipe.Step{object(nil), mapped(recipe.Python{Workers: new(2)})}, "map+batch"},
		{[]recipe.Step{object(nil), mapped(recipe.Python{Seed: []string{"numpy"}})}, "map+batch"},
		{[]recipe.Step{object(nil), plain, filter}, "batch"},
		{[]recipe.Step{object(nil), filter, plain}, "batch"},
		{[]recipe.Step{failing, plain}, "map+batch"},
		{[]recipe.Step{object(func(o *input.Object) { o.Length = nil }), plain}, "map+batch"},
		{[]recipe.Step{object(func(o *input.Object) { o.Keys = "m:k" }), plain}, "map+batch"},
		{[]recipe.Step{object(pair(sample.TensorType(tensor.Int64), sample.TextType)), plain}, "source+map+batch"},
		{[]recipe.Step{object(pair(sample.TensorType(tensor.Int64), sample.ObjectType)), plain}, "map+batch"},
		{[]recipe.Step{object(func(o *input.Object) {
			o.Gives.Schema = append(sample.Schema{{Name: "any", Type: sample.ObjectType}}, tensors.Schema...)
		}), plain}, "map+batch"},
		{[]recipe.Step{object(func(o *input.Object) {
			o.Gives.Schema = append(sample.Schema{{Name: "key", Type: sample.TextType}}, tensors.Schema...)
		}), plain}, "map+batch"},
	} {
		r := recipe.Recipe{Steps: append(c.steps, recipe.Step{Op: "batch", Args: &flow.Batch{Size: 2}})}
		p, err := fuse.Fuse(r)
		if err != nil {
			t.Fatal(c.want, err)
		}
		if got := p.Last.Name(); got != c.want || p.Last.Reads != strings.HasPrefix(c.want, "source") {
			t.Errorf("%q, want %q", got, c.want)
		}
		if p, err = fuse.Separate(r); err != nil || p.Last.Name() != "batch" || p.Last.Reads {
			t.Errorf("separate: %q, %v", p.Last.Name(), err)
		}
	}
}
