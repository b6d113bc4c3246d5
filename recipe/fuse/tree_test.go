package fuse_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
)

// outline shows a flow: sources by name, merges and branches in brackets, parts as what
// they consist of.
func outline(f fuse.Flow) string {
	var all []string
	switch {
	case f.Source != nil:
		all = append(all, strings.Join(f.Source.Names, "+"))
	case f.Merge != nil:
		var of []string
		for _, f := range f.Merge.Of {
			of = append(of, outline(f))
		}
		all = append(all, fmt.Sprintf("%s(%s)", f.Merge.Name, strings.Join(of, " | ")))
	}
	for _, n := range f.Nodes {
		if n.Part != nil {
			all = append(all, n.Part.Name())
			continue
		}
		var branches []string
		for _, b := range n.Route.Branches {
			branches = append(branches, outline(b.Flow))
		}
		all = append(all, fmt.Sprintf("%s(%s)", n.Route.Name, strings.Join(branches, " | ")))
	}
	return strings.Join(all, " ")
}

func whole(p fuse.Plan) string { return strings.TrimSpace(outline(p.Samples) + " " + p.Last.Name()) }

func TestTrees(t *testing.T) {
	if err := registerBlur(); err != nil {
		t.Fatal(err)
	}
	decode, flip, blurs := recipe.Step{Op: "decode_image"}, recipe.Step{Op: "random_flip"}, recipe.Step{Op: "blur"}
	crop, batch := recipe.Step{Args: &image.CenterCrop{Size: recipe.Size{Height: 8}}}, recipe.Step{Args: &flow.Batch{Size: 1}}
	merge := func(of ...recipe.Chain) recipe.Step { return recipe.Step{Args: &flow.Merge{Of: of}} }
	route := func(of ...recipe.Chain) recipe.Step {
		r := &flow.Route{By: "label"}
		for i, c := range of {
			r.Branches = append(r.Branches, flow.Branch{When: []recipe.When{{Number: new(int64(i))}}, Steps: c})
		}
		return recipe.Step{Args: r}
	}
	failing := func(s recipe.Step, f recipe.Failures) recipe.Step { s.Failures = &f; return s }
	skip, late := recipe.Failures{OnError: "skip"}, recipe.Failures{TimeLimit: new(1.0)}
	for _, c := range []struct {
		steps       []recipe.Step
		fused, text string // text: as passes
	}{
		{[]recipe.Step{merge(recipe.Chain{files(), {Op: "shuffle"}, decode, flip}, recipe.Chain{files(), decode}), crop, batch},
			"merge(files+shuffle decode_image+random_flip | files_2 decode_image_2) center_crop+batch",
			"merge(files+shuffle decode_image random_flip | files_2 decode_image_2) center_crop batch"},
		{[]recipe.Step{files(), decode, route(recipe.Chain{flip, crop}, recipe.Chain{crop}, recipe.Chain{}), crop, batch},
			"files decode_image route(random_flip+center_crop | center_crop_2 | ) center_crop_3+batch",
			"files decode_image route(random_flip center_crop | center_crop_2 | ) center_crop_3 batch"},
		{[]recipe.Step{files(), route(recipe.Chain{decode, crop}, recipe.Chain{decode, route(recipe.Chain{crop, flip})}), batch},
			"files route(decode_image+center_crop | decode_image_2 route_2(center_crop_2+random_flip)) batch",
			"files route(decode_image center_crop | decode_image_2 route_2(center_crop_2 random_flip)) batch"},
		{[]recipe.Step{merge(recipe.Chain{merge(recipe.Chain{files()}, recipe.Chain{files()}), decode}, recipe.Chain{files(), decode}), blurs, crop, batch},
			"merge(merge_2(files | files_2) decode_image | files_3 decode_image_2) blur center_crop+batch",
			"merge(merge_2(files | files_2) decode_image | files_3 decode_image_2) blur center_crop batch"},

		// A step without failures of its own has those of the operation that it joins;
		// other failures make another operation.
		{[]recipe.Step{files(), failing(decode, skip), crop, flip, batch}, "files decode_image+center_crop+random_flip+batch", "files decode_image center_crop random_flip batch"},
		{[]recipe.Step{files(), failing(decode, skip), failing(crop, skip), flip, batch}, "files decode_image+center_crop+random_flip+batch", "files decode_image center_crop random_flip batch"},
		{[]recipe.Step{files(), decode, failing(crop, skip), flip, batch}, "files decode_image center_crop+random_flip+batch", "files decode_image center_crop random_flip batch"},
		// What may be abandoned has no row of a batch.
		{[]recipe.Step{files(), failing(decode, late), crop, batch}, "files decode_image+center_crop batch", "files decode_image center_crop batch"},
	} {
		p, err := fuse.Fuse(recipe.Recipe{Steps: c.steps})
		if err != nil {
			t.Errorf("%s: %v", c.fused, err)
			continue
		}
		if got := whole(p); got != c.fused {
			t.Errorf("got  %s\nwant %s", got, c.fused)
		}
		separate, err := fuse.Separate(recipe.Recipe{Steps: c.steps})
		if got := whole(separate); err != nil || got != c.text {
			t.Errorf("%v, separate\ngot  %s\nwant %s", err, got, c.text)
		}
	}
	p, err := fuse.Separate(recipe.Recipe{Steps: []recipe.Step{files(), failing(decode, skip), crop, blurs, flip, batch}})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range p.Parts() {
		joined := part.Name() == "decode_image" || part.Name() == "center_crop"
		if joined != (part.Failures != nil) {
			t.Errorf("%s has the failures %+v", part.Name(), part.Failures)
		}
	}
	normalize := recipe.Step{Args: &image.Normalize{Mean: image.Channels{0}, Std: image.Channels{1}}}
	for want, steps := range map[string][]recipe.Step{
		`recipe: step "layout" (#5): has other failures than "normalize" before it: its image is float32 [8, 8, 3] there, and normalize and layout can only be followed by each other, as one operation; give both the same`: {
			files(), decode, crop, normalize, failing(recipe.Step{Args: &image.Layout{Layout: "NCHW"}}, skip), batch},
		`recipe: step "layout" (#8): cannot follow "route": its image is float32 [8, 8, 3] there, and normalize and layout can only be followed by each other; put "layout" before it, in each of its branches`: {
			files(), decode, crop, route(recipe.Chain{normalize}, recipe.Chain{flip, normalize}), {Args: &image.Layout{Layout: "NCHW"}}, batch},
	} {
		if _, err := fuse.Fuse(recipe.Recipe{Steps: steps}); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
