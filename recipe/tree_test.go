package recipe_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/headrace/headrace/op/data"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// tree is a recipe with everything that holds steps, nested both ways.
const tree = `headrace: 1
vars: {small: 8, pattern: "*.png", one: 1, share: 0.5}
seed: 3
steps:
  - merge:
      of:
        - - files: {pattern: cats, label: parent}
          - shuffle
          - decode_image
        - - merge: {order: arrival, of: [[files: {pattern: dogs, label: parent}], [files: {pattern: wolves, label: parent}]]}
            name: canines
          - decode_image: {mode: fast}
            failures: {on_error: replace, max_errors: "${share}", retries: "${one}", time_limit: 2.5}
      until: shortest
  - route:
      by: key
      branches:
        - when: ["${pattern}", "*.gif"]
          steps:
            - random_crop: {size: "${small}"}
            - route: {by: label, branches: [{when: [0, -3], steps: [random_flip]}, {steps: []}]}
        - steps: [{center_crop: {size: "${small}"}}, random_flip]
    failures: {on_error: skip, max_errors: 3}
  - random_flip
  - batch: {size: 4}
`

// steps of the tree above, as Go programs write it.
func treeRecipe() recipe.Recipe {
	pattern := func(p recipe.Path) recipe.Step { return recipe.Step{Args: &input.Files{Pattern: p, Label: "parent"}} }
	eight := recipe.Size{Height: 8}
	return recipe.Recipe{Seed: 3, Steps: []recipe.Step{
		{Args: &flow.Merge{
			Of: []recipe.Chain{
				{pattern("cats"), {Op: "shuffle"}, decode},
				{
					{Name: "canines", Args: &flow.Merge{Order: "arrival", Of: []recipe.Chain{{pattern("dogs")}, {pattern("wolves")}}}},
					{Args: &image.DecodeImage{Mode: "fast"}, Failures: &recipe.Failures{OnError: "replace", MaxErrors: new(recipe.ErrorRate(0.5)), Retries: 1, TimeLimit: new(2.5)}},
				},
			},
			Until: "shortest",
		}},
		{Failures: &recipe.Failures{OnError: "skip", MaxErrors: new(recipe.ErrorCount(3))}, Args: &flow.Route{By: "key", Branches: []flow.Branch{
			{When: []recipe.When{{Pattern: "*.png"}, {Pattern: "*.gif"}}, Steps: recipe.Chain{
				{Args: &image.RandomCrop{Size: eight}},
				{Args: &flow.Route{By: "label", Branches: []flow.Branch{{When: []recipe.When{{Number: new(int64(0))}, {Number: new(int64(-3))}}, Steps: recipe.Chain{flip}}, {}}}},
			}},
			{Steps: recipe.Chain{{Args: &image.CenterCrop{Size: eight}}, flip}},
		}}},
		flip,
		{Args: &flow.Batch{Size: 4}},
	}}
}

func readTree(t *testing.T) recipe.File {
	t.Helper()
	f, err := recipe.Read("r", []byte(tree), recipe.Variables{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTreesAreRead(t *testing.T) {
	f := readTree(t)
	if diff := cmp.Diff(treeRecipe().Complete(), f.Recipe, comparable); diff != "" {
		t.Error(diff)
	}
	schema, err := f.Check()
	if err != nil || schema.String() != "image uint8 [8, 8, 3], label int64, key text" {
		t.Errorf("%v, %v", schema, err)
	}
}

// Steps are numbered and named in the order of the text.
func TestNamesInTrees(t *testing.T) {
	var got []string
	for n, s := range treeRecipe().Complete().All() {
		got = append(got, fmt.Sprint(n, " ", s.Name))
	}
	want := []string{
		"1 merge", "2 files", "3 shuffle", "4 decode_image", "5 canines", "6 files_2", "7 files_3", "8 decode_image_2",
		"9 route", "10 random_crop", "11 route_2", "12 random_flip", "13 center_crop", "14 random_flip_2", "15 random_flip_3", "16 batch",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for n := range treeRecipe().All() { // whoever has seen enough may stop
		if n == 6 {
			break
		}
	}
}

func TestSchemasInTrees(t *testing.T) {
	all, err := readTree(t).Recipe.Schemas()
	if err != nil {
		t.Fatal(err)
	}
	const read, decoded, cropped = "bytes bytes, label int64, key text", "image uint8 [?, ?, 3], label int64, key text", "image uint8 [8, 8, 3], label int64, key text"
	want := []string{decoded, read, read, decoded, read, read, read, decoded, cropped, cropped, cropped, cropped, cropped, cropped, cropped, cropped}
	for i, s := range all {
		if s.String() != want[i] {
			t.Errorf("step #%d gives %v, want %s", i+1, s, want[i])
		}
	}
}

// Extents that are not the same everywhere are not known after a merge or a route;
// what fixes them, may follow.
func TestExtentsThatDiffer(t *testing.T) {
	r := treeRecipe().Complete()
	r.Steps[1].Args.(*flow.Route).Branches[1].Steps[0].Args = &image.CenterCrop{Size: recipe.Size{Height: 9, Width: 8}}
	all, _ := r.Schemas()
	if got := all[8].String(); got != "image uint8 [?, 8, 3], label int64, key text" {
		t.Errorf("after the route: %s", got)
	}
	if _, err := r.Check(); err == nil || !strings.Contains(err.Error(), `step "batch" (#16): cannot stack images of different sizes`) {
		t.Errorf("they are stacked: %v", err)
	}
	r.Steps[2].Args, r.Steps[2].Op = crop.Args, ""
	if schema, err := r.Check(); err != nil || schema.String() != "image uint8 [224, 224, 3], label int64, key text" {
		t.Errorf("%v, %v", schema, err)
	}
}

func TestTreesAsText(t *testing.T) {
	r := treeRecipe()
	const want = `merge(until="shortest")
├─ files(pattern="cats", label="parent") → shuffle → decode_image
└─ canines: merge(order="arrival")
   ├─ files_2(pattern="dogs", label="parent")
   └─ files_3(pattern="wolves", label="parent")
   → decode_image_2(mode="fast").failures(on_error="replace", max_errors=0.5, retries=1, time_limit=2.5)
→ route(by="key").failures(on_error="skip", max_errors=3)
├─ "*.png", "*.gif": random_crop(size=8) → route_2(by="label")
│  ├─ 0, -3: random_flip
│  └─ all others: nothing
└─ all others: center_crop(size=8) → random_flip_2
→ random_flip_3 → batch(size=4)`
	if diff := cmp.Diff(want, r.String()); diff != "" {
		t.Error(diff)
	}
	const yaml = `headrace: 1
seed: 3
steps:
  - merge:
      of:
        - - files: {pattern: cats, label: parent, max_bytes: 1073741824}
          - shuffle
          - decode_image: {field: bytes, to: image, mode: exact, orient: true, color: rgb, dtype: uint8}
        - - merge:
              of:
                - - files: {pattern: dogs, label: parent, max_bytes: 1073741824}
                - - files: {pattern: wolves, label: parent, max_bytes: 1073741824}
              order: arrival
              until: longest
            name: canines
          - decode_image: {field: bytes, to: image, mode: fast, orient: true, color: rgb, dtype: uint8}
            failures: {on_error: replace, max_errors: 0.5, retries: 1, wait: 0.1, time_limit: 2.5}
      order: round_robin
      until: shortest
  - route:
      by: key
      branches:
        - when: ["*.png", "*.gif"]
          steps:
            - random_crop: {size: 8}
            - route:
                by: label
                branches:
                  - when: [0, -3]
                    steps:
                      - random_flip: {p: 0.5}
                  - steps: []
        - steps:
            - center_crop: {size: 8}
            - random_flip: {p: 0.5}
    failures: {on_error: skip, max_errors: 3}
  - random_flip: {p: 0.5}
  - batch: {size: 4, drop_last: false}
`
	if diff := cmp.Diff(yaml, string(r.YAML())); diff != "" {
		t.Error(diff)
	}
	many := recipe.Step{Args: &flow.Route{By: "label", Branches: []flow.Branch{{When: make([]recipe.When, 9)}}}}
	if got := steps(files, many).String(); !strings.HasSuffix(got, "\n└─ \"\", \"\", \"\", … 9 in all: nothing") {
		t.Errorf("got %s", got)
	}
	if got := steps(recipe.Step{Op: "merge"}).String(); got != "merge" {
		t.Errorf("got %s", got)
	}
}

func TestFingerprintOfTrees(t *testing.T) {
	const pinned = "2dfbd993834c84ae1ab9132e2d95de398cf025cc91b576e58d1ebbcf169191c5"
	if got := treeRecipe().Fingerprint(); got != pinned {
		t.Errorf("the fingerprint became %s: states that were saved cannot be restored any more", got)
	}
	merge := func(r recipe.Recipe) *flow.Merge { return r.Steps[0].Args.(*flow.Merge) }
	route := func(r recipe.Recipe) *flow.Route { return r.Steps[1].Args.(*flow.Route) }
	for name, edit := range map[string]func(r recipe.Recipe){
		"failures":            func(r recipe.Recipe) { r.Steps[1].Failures = nil },
		"failures in a chain": func(r recipe.Recipe) { merge(r).Of[1][1].Failures = &recipe.Failures{OnError: "raise"} },
		"a root":              func(r recipe.Recipe) { merge(r).Of[0][0].Args.(*input.Files).Root = "/elsewhere" },
		"a default":           func(r recipe.Recipe) { merge(r).Order = "round_robin" },
	} {
		r := treeRecipe()
		edit(r)
		if r.Fingerprint() != pinned {
			t.Errorf("%s changes the fingerprint of what gives the same samples", name)
		}
	}
	for name, edit := range map[string]func(r recipe.Recipe){
		"a pattern":        func(r recipe.Recipe) { merge(r).Of[0][0].Args.(*input.Files).Pattern = "lions" },
		"until":            func(r recipe.Recipe) { merge(r).Until = "longest" },
		"until so many":    func(r recipe.Recipe) { merge(r).Until = recipe.UntilSamples(9) },
		"the order inside": func(r recipe.Recipe) { merge(r).Of[1][0].Args.(*flow.Merge).Order = "" },
		"a chain":          func(r recipe.Recipe) { merge(r).Of[0] = merge(r).Of[0][:2] },
		"two chains":       func(r recipe.Recipe) { of := merge(r).Of; of[0], of[1] = of[1], of[0] },
		"a name":           func(r recipe.Recipe) { merge(r).Of[1][0].Name = "" },
		"by":               func(r recipe.Recipe) { route(r).By = "label" },
		"when":             func(r recipe.Recipe) { route(r).Branches[0].When[1].Pattern = "*.jpg" },
		"a branch":         func(r recipe.Recipe) { route(r).Branches[1].Steps = nil },
		"a step inside":    func(r recipe.Recipe) { route(r).Branches[1].Steps[0].Args = crop.Args },
	} {
		r := treeRecipe()
		edit(r)
		if r.Fingerprint() == pinned {
			t.Errorf("%s does not change the fingerprint", name)
		}
	}
	mixed := func(seed *uint64) recipe.Recipe {
		return recipe.Recipe{Seed: 3, Steps: []recipe.Step{{Args: &flow.Mix{Of: []recipe.Chain{{files}}, Seed: seed}}}}
	}
	if shared, own := mixed(nil), mixed(new(uint64(3))); shared.Fingerprint() != own.Fingerprint() {
		t.Error("saying the recipe's own seed changes the fingerprint")
	}
}

func TestWhatCheckRefusesInTrees(t *testing.T) {
	merge := func(chains ...recipe.Chain) recipe.Step { return recipe.Step{Args: &flow.Merge{Of: chains}} }
	branch := func(chain recipe.Chain, when ...recipe.When) flow.Branch {
		return flow.Branch{When: when, Steps: chain}
	}
	route := func(by string, b ...flow.Branch) recipe.Step {
		return recipe.Step{Args: &flow.Route{By: by, Branches: b}}
	}
	png, number := recipe.When{Pattern: "*.png"}, func(n int64) recipe.When { return recipe.When{Number: &n} }
	weights := func(of int, m flow.Merge) recipe.Step {
		for range of {
			m.Of = append(m.Of, recipe.Chain{files})
		}
		return recipe.Step{Args: &m}
	}
	failing := func(s recipe.Step, f recipe.Failures) recipe.Step { s.Failures = &f; return s }
	unlabelled := recipe.Step{Args: &input.Files{Pattern: "x"}}
	rest := branch(nil)
	for _, c := range []struct {
		r    recipe.Recipe
		want []string
	}{
		// merge
		{steps(recipe.Step{Op: "merge"}), []string{`step "merge" (#1): lacks the argument of`}},
		{steps(recipe.Step{Args: &flow.Merge{Of: []recipe.Chain{}}}), []string{`step "merge" (#1): of is empty: give lists of steps, each beginning with a source such as files`}},
		{steps(merge(recipe.Chain{files}, recipe.Chain{})), []string{`step "merge" (#1): of[1] is empty: it begins with a source such as files`}},
		{steps(merge(recipe.Chain{files}, recipe.Chain{decode, crop})), []string{`step "decode_image" (#3): has nothing to read: what "merge" puts together begins with a source such as files`}},
		{steps(files, merge(recipe.Chain{files})), []string{`step "merge" (#2): is a source and can only begin a recipe, or what merge puts together`}},
		{steps(merge(recipe.Chain{files, files})), []string{`step "files_2" (#3): is a source and can only begin a recipe, or what merge puts together`}},
		{steps(merge(recipe.Chain{files, decode, crop, recipe.Step{Args: &flow.Batch{Size: 2, Lists: true}}})), []string{
			`step "batch" (#5): has lists, those of a sampler, inside "merge": give size alone, or put it after "merge"`,
		}},
		{steps(merge(recipe.Chain{files, decode, crop, recipe.Step{Args: &flow.Batch{GlobalSize: 2}}})), []string{
			`step "batch" (#5): has global_size, which counts the samples of all ranks, inside "merge": give size alone, or put it after "merge"`,
		}},
		{steps(merge(recipe.Chain{files, decode, crop, recipe.Step{Args: &flow.Batch{Size: 2, MaxWait: new(0.1)}}})), []string{
			`step "batch" (#5): has max_wait, which counts samples as they arrive, inside "merge": give size alone, or put it after "merge"`,
		}},
		{steps(merge(recipe.Chain{files, decode, batch})), []string{
			`step "batch" (#4): cannot stack images of different sizes: the field "image" is uint8 [?, ?, 3]; ` +
				`put center_crop, random_resized_crop, resize to [height, width] or resize_to_bucket before it`,
		}},
		{steps(merge(recipe.Chain{files, decode, {Args: &image.ResizeToBucket{Sizes: []recipe.Size{{Height: 8}, {Height: 9}}}}, batch})), []string{
			`step "batch" (#5): cannot stack images of different sizes: the field "image" is uint8 [?, ?, 3]; put resize_to_bucket after the merge or route, and not into it`,
		}},
		{steps(merge(recipe.Chain{files, decode, crop, batch, flip})), []string{
			`step "random_flip" (#6): comes after "batch", which makes batches, and works on samples: put it before, or unbatch between them`,
		}},
		{steps(merge(recipe.Chain{files, decode, crop, batch}, recipe.Chain{files, decode, crop}), flip), []string{
			`step "merge" (#1): of[1] gives samples, but of[0] gives batches, made by "batch": end of[0] with unbatch, or of[1] with batch, too`,
			`step "random_flip" (#9): comes after "batch", which makes batches, and works on samples: put it before, or unbatch between them`,
		}},
		{steps(merge(recipe.Chain{files, {Args: &data.Select{Fields: []string{"label"}}}, batch}, recipe.Chain{files, {Args: &data.Select{Fields: []string{"label"}}}, batch}), batch), []string{
			`step "batch_3" (#8): cannot stack batches of different sizes: the field "label" is int64 [?]; give "batch" a size and drop_last, or put unbatch before "batch_3"`,
		}},
		{steps(merge(recipe.Chain{files}), recipe.Step{Op: "shuffle"}), []string{
			`step "shuffle" (#3): comes after "merge": it must directly follow the sources inside it, since it sets the order of a source`,
		}},
		{steps(merge(recipe.Chain{files, decode}, recipe.Chain{files})), []string{`step "merge" (#1): of[1] gives samples without the field "image", which of[0] has`}},
		{steps(merge(recipe.Chain{files}, recipe.Chain{unlabelled})), []string{`step "merge" (#1): of[1] gives samples without the field "label", which of[0] has`}},
		{steps(merge(recipe.Chain{unlabelled}, recipe.Chain{files})), []string{`step "merge" (#1): of[1] gives samples with the field "label", which of[0] does not have`}},
		{steps(merge(recipe.Chain{files, decode}, recipe.Chain{files, {Args: &image.DecodeImage{DType: "uint16"}}})), []string{
			`step "merge" (#1): of[1] gives the field "image" as uint16 [?, ?, 3] (HWC), but of[0] gives it as uint8 [?, ?, 3] (HWC)`,
		}},
		{steps(merge(recipe.Chain{files, decode}, recipe.Chain{files, {Args: &image.DecodeImage{Color: "gray"}}})), []string{
			`step "merge" (#1): of[1] gives the field "image" as uint8 [?, ?, 1] (HWC), but of[0] gives it as uint8 [?, ?, 3] (HWC)`,
		}},
		{steps(merge(recipe.Chain{files, decode}, recipe.Chain{files, decode, {Args: &image.Layout{Layout: "NCHW"}}})), []string{
			`step "merge" (#1): of[1] gives the field "image" as uint8 [3, ?, ?] (CHW), but of[0] gives it as uint8 [?, ?, 3] (HWC)`,
		}},
		{steps(weights(2, flow.Merge{Order: "by_weight", Until: "end"})), []string{
			`step "merge" (#1): order is "by_weight": must be "round_robin" or "arrival"`,
			`step "merge" (#1): until is "end": must be "longest" or "shortest"`,
		}},
		{steps(weights(2, flow.Merge{Until: "0"})), []string{`step "merge" (#1): until is 0: must be a number of samples, at least 1, longest or shortest`}},
		{steps(weights(2, flow.Merge{Order: "arrival", Until: recipe.UntilSamples(9)})), []string{`step "merge" (#1): until is 9, but order is "arrival", which counts nothing: use another order`}},
		{steps(weights(2, flow.Merge{Weights: []float64{1, 1}})), []string{`step "merge" (#1): weights is for mix, not merge: write mix instead of merge: its sources restart, so weights hold for the whole epoch`}},

		// route
		{steps(files, recipe.Step{Op: "route"}), []string{`step "route" (#2): lacks the argument by`, `step "route" (#2): lacks the argument branches`}},
		{steps(files, recipe.Step{Args: &flow.Route{By: "key", Branches: []flow.Branch{}}}), []string{`step "route" (#2): branches is empty: give a list like [{"when": ["*.png"], "steps": […]}, {"steps": […]}]`}},
		{steps(route("key", rest)), []string{`step "route" (#1): has nothing to read: a recipe begins with a source such as files`}},
		{steps(files, route("kye", rest)), []string{`step "route" (#2): by is "kye": the samples have the fields bytes, label, key`}},
		{steps(files, route("bytes", rest)), []string{`step "route" (#2): by is "bytes", which is bytes: must be a field of text, or of one whole number`}},
		{steps(files, decode, route("image", rest)), []string{`step "route" (#3): by is "image", which is uint8 [?, ?, 3]: must be a field of text, or of one whole number`}},
		{steps(files, route("key", rest, branch(nil, png))), []string{`step "route" (#2): branches[0] has no when, and would match everything: only the last branch may`}},
		{steps(files, route("key", flow.Branch{When: []recipe.When{}}, rest)), []string{`step "route" (#2): branches[0].when is empty, and matches nothing`}},
		{steps(files, route("key", branch(nil, number(3)), rest)), []string{`step "route" (#2): branches[0].when[0] is 3, but "key" is text`}},
		{steps(files, route("label", branch(nil, number(3), png), rest)), []string{`step "route" (#2): branches[0].when[1] is "*.png", but "label" is a number`}},
		{steps(files, route("key", branch(nil, recipe.When{}), branch(nil, recipe.When{Pattern: "a\x00"}), rest)), []string{
			`step "route" (#2): branches[0].when[0] is empty`,
			`step "route" (#2): branches[1].when[0] contains a zero byte`,
		}},
		{steps(files, route("label", branch(nil, number(3)), branch(nil, number(4), number(3)))), []string{`step "route" (#2): branches[1].when[1] is 3, which branches[0].when[0] already matches`}},
		{steps(files, route("key", branch(recipe.Chain{files}, png), rest)), []string{`step "files_2" (#3): is a source and can only begin a recipe, or what merge puts together`}},
		{steps(files, route("key", branch(recipe.Chain{{Op: "shuffle"}}, png), rest)), []string{
			`step "shuffle" (#3): comes after "route": it must directly follow the source, since it sets the source's order; no sample waits to be mixed with others`,
		}},
		{steps(files, decode, crop, route("key", branch(recipe.Chain{batch}, png), rest)), []string{
			`step "route" (#4): branches[1] gives samples, but branches[0] gives batches, made by "batch": end branches[0] with unbatch, or branches[1] with batch, too`,
		}},
		{steps(files, route("key", branch(recipe.Chain{{Args: &python.Filter{Python: recipe.Python{Function: "m:f"}, Pace: recipe.Pace{Order: "completion"}}}}, png), rest)), []string{
			`step "filter" (#3): order is "completion" inside "route", after which samples keep their order: ` +
				`put the step before or after it, or leave order out and set that of the loader`,
		}},
		{steps(files, recipe.Step{Args: &python.Filter{Python: recipe.Python{Function: "m:f"}, Pace: recipe.Pace{Order: "complete"}}}), []string{
			`step "filter" (#2): order is "complete": must be "input" or "completion"`,
		}},
		{steps(files, route("key", branch(recipe.Chain{{Args: &flow.Pack{Size: 2, Length: recipe.RowLengths{All: 5}}}}, png), rest)), []string{
			`step "pack" (#3): makes batches inside "route", where batch alone can: put it after "route"`,
		}},
		{steps(files, route("key", branch(recipe.Chain{decode}, png), rest)), []string{`step "route" (#2): branches[1] gives samples without the field "image", which branches[0] has`}},
		{steps(files, route("key", branch(recipe.Chain{{Op: "resise"}, crop}, png), branch(recipe.Chain{crop}))), []string{
			`step "resise" (#3): there is no operation "resise": did you mean "resize"?`,
			`step "center_crop_2" (#5): has no image to work on, only bytes bytes, label int64, key text; put decode_image before it`,
		}},
		// What is not known, because of a mistake, is no other one.
		{steps(recipe.Step{Op: "fiels"}, decode, route("nothing", branch(recipe.Chain{crop}))), []string{`step "fiels" (#1): there is no operation "fiels": did you mean "files"?`}},
		{steps(merge(recipe.Chain{{Op: "fiels"}, decode}, recipe.Chain{{Op: "fiels"}}), crop), []string{
			`step "fiels" (#2): there is no operation "fiels": did you mean "files"?`, `step "fiels_2" (#4): there is no operation "fiels": did you mean "files"?`,
		}},
		{steps(recipe.Step{Op: "shuffle", Args: &flow.Merge{Of: []recipe.Chain{{files, {Op: "resise"}}}}}), []string{
			`step "shuffle" (#1): has arguments of the type *flow.Merge: must be *flow.Shuffle`,
			`step "resise" (#3): there is no operation "resise": did you mean "resize"?`,
		}},

		// failures
		{steps(files, failing(decode, recipe.Failures{OnError: "skop"})), []string{`step "decode_image" (#2): failures.on_error is "skop": did you mean "skip"? must be "raise", "skip" or "replace"`}},
		{steps(files, failing(decode, recipe.Failures{OnError: "raise", MaxErrors: new(recipe.ErrorCount(1))})), []string{`step "decode_image" (#2): failures.max_errors has no meaning with on_error="raise": the first bad sample stops the run`}},
		{steps(files, failing(decode, recipe.Failures{MaxErrors: new(recipe.ErrorCount(-1))})), []string{`step "decode_image" (#2): failures.max_errors is -1: must be a number of samples, at least 0`}},
		{steps(files, failing(decode, recipe.Failures{MaxErrors: new(recipe.ErrorRate(1.5))})), []string{`step "decode_image" (#2): failures.max_errors is 1.5: a rate must be in (0, 1]`}},
		{steps(files, failing(decode, recipe.Failures{Retries: 101, Wait: new(31.0), TimeLimit: new(-1.0)})), []string{
			`step "decode_image" (#2): failures.retries is 101: must be from 0 to 100`,
			`step "decode_image" (#2): failures.wait is 31: must be from 0 to 30`,
			`step "decode_image" (#2): failures.time_limit is -1: must be from 0.001 to 86400`,
		}},
		{steps(files, failing(decode, recipe.Failures{Wait: new(1.0)})), []string{`step "decode_image" (#2): failures.wait is 1, but retries is 0: there is nothing to wait for`}},
		{steps(files, failing(recipe.Step{Op: "shuffle"}, recipe.Failures{Retries: 1})), []string{`step "shuffle" (#2): failures is given, but no sample fails in shuffle: put it at steps that read or change samples`}},
		{steps(files, decode, crop, failing(batch, recipe.Failures{Retries: 1})), []string{`step "batch" (#4): failures is given, but no sample fails in batch: put it at steps that read or change samples`}},
		{steps(failing(merge(recipe.Chain{files}), recipe.Failures{Retries: 1})), []string{`step "merge" (#1): failures is given, but no sample fails in merge: put it at steps that read or change samples`}},
		{steps(files, failing(route("key", rest), recipe.Failures{TimeLimit: new(1.0)})), []string{`step "route" (#2): failures is for samples that no branch matches: set on_error and max_errors here, and the rest at the steps of the branches`}},

		// names
		{steps(merge(recipe.Chain{files}, recipe.Chain{{Name: "files", Args: unlabelled.Args}})), []string{
			`step "files" (#3): name is that of step #2 too`,
			`step "merge" (#1): of[1] gives samples without the field "label", which of[0] has`,
		}},
		{steps(files, route("key", branch(recipe.Chain{{Op: "decode_image", Name: "a b"}}))), []string{`step "a b" (#3): name is "a b": must be letters, digits, and _ . - after the first letter`}},
	} {
		schema, err := c.r.Check()
		if err == nil {
			t.Errorf("%v\ngives %v, want the error %q", c.r, schema, c.want)
			continue
		}
		if diff := cmp.Diff(c.want, strings.Split(strings.ReplaceAll(err.Error(), "recipe: ", ""), "\n")); diff != "" {
			t.Errorf("%v:\n%s", c.r, diff)
		}
	}
}

// adding is an operation that adds a field.
type adding struct {
	Field string `json:"field" doc:"its name"`
}

func (a *adding) Check(in sample.Schema) (sample.Schema, error) {
	return in.With(a.Field, sample.TensorType(tensor.Float32)), nil
}

// Samples are stacked by the order of their fields, so that is the same everywhere.
func TestFieldsInAnotherOrder(t *testing.T) {
	if err := recipe.Register(recipe.Op{Name: "adding", Doc: "Adds a field.", New: func() recipe.Args { return new(adding) }}); err != nil {
		t.Fatal(err)
	}
	a, b := recipe.Step{Args: &adding{"a"}}, recipe.Step{Args: &adding{"b"}}
	merge := func(one, other recipe.Chain) recipe.Recipe {
		return steps(recipe.Step{Args: &flow.Merge{Of: []recipe.Chain{one, other}}})
	}
	if schema, err := merge(recipe.Chain{files, a, b}, recipe.Chain{files, a, b}).Check(); err != nil || schema.String() != "bytes bytes, label int64, key text, a float32, b float32" {
		t.Errorf("%v, %v", schema, err)
	}
	_, err := merge(recipe.Chain{files, a, b}, recipe.Chain{files, b, a}).Check()
	if want := `recipe: step "merge" (#1): of[1] gives the fields bytes, label, key, b, a, but of[0] gives them in the order bytes, label, key, a, b`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, err = merge(recipe.Chain{files}, recipe.Chain{files, {Args: &adding{"key"}}}).Check()
	if want := `recipe: step "merge" (#1): of[1] gives the field "key" as float32, but of[0] gives it as text`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, err = steps(files, a, recipe.Step{Args: &flow.Route{By: "a", Branches: []flow.Branch{{}}}}).Check()
	if want := `recipe: step "route" (#3): by is "a", which is float32: must be a field of text, or of one whole number`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// What an operation holds can be checked apart from its recipe, too.
func TestNestedOperationsAlone(t *testing.T) {
	r := treeRecipe().Complete()
	in, err := r.Steps[0].Args.Check(nil)
	if err != nil || in.String() != "image uint8 [?, ?, 3], label int64, key text" {
		t.Fatalf("%v, %v", in, err)
	}
	out, err := r.Steps[1].Args.Check(in)
	if err != nil || out.String() != "image uint8 [8, 8, 3], label int64, key text" {
		t.Errorf("%v, %v", out, err)
	}
	if _, err := r.Steps[1].Args.Check(in.Without("key")); err == nil || err.Error() != `recipe: step "route" (#1): by is "key": the samples have the fields image, label` {
		t.Errorf("without the field: %v", err)
	}
	if _, err := r.Steps[1].Args.Check(in.Without("image")); err == nil || !strings.Contains(err.Error(), `recipe: step "random_crop" (#2): has no image to work on`) {
		t.Errorf("without an image: %v", err)
	}
}

func TestMistakesInTreesHavePlaces(t *testing.T) {
	const begin = "headrace: 1\nsteps:\n"
	for _, c := range []struct{ doc, want string }{
		{begin + "  - merge: {of: 3}\n", `r:3:17: step "merge" (#1): of is 3: must be a list, each a list of steps`},
		{begin + "  - merge:\n      of:\n        - files: {pattern: a}\n", `r:5:11: step "merge" (#1): of[0] is an object: must be a list of steps`},
		{begin + "  - merge:\n      of:\n        - - files: {pattern: a}\n          - resise\n        - - files: {patern: a}\n",
			"r:6:13: step \"resise\" (#3): there is no operation \"resise\": did you mean \"resize\"?\n" +
				`r:7:21: step "files" (#4): unknown argument "patern": did you mean "pattern"? the arguments are pattern, paths, pairs, columns, metadata, fields, gives, errors, root, label, content, max_bytes`},
		{begin + "  - merge: {of: [[files]], wights: [1]}\n", `r:3:28: step "merge" (#1): unknown argument "wights": did you mean "weights"? the arguments are of, order, weights, until, fill`},
		{begin + "  - files: {pattern: a}\n  - route: {by: key, branches: {when: a}}\n", `r:4:32: step "route" (#2): branches is an object: must be a list, each an object like {when: …}`},
		{begin + "  - files: {pattern: a}\n  - route:\n      by: key\n      branches: [x, {when: a, steps: []}, {when: [true], steps: shuffle}, {wen: [], steps: []}, {when: [a]}, {when: [1.5], steps: [], steps: []}]\n",
			`r:6:18: step "route" (#2): branches[0] is "x": must be an object like {when: …}
r:6:28: step "route" (#2): branches[1].when is "a": must be a list, each text, or a whole number
r:6:51: step "route" (#2): branches[2].when[0] is true: must be text, or a whole number
r:6:65: step "route" (#2): branches[2].steps is "shuffle": must be a list of steps
r:6:76: step "route" (#2): branches[3] has an unknown key "wen": did you mean "when"? the keys are when, steps
r:6:97: step "route" (#2): branches[4] lacks the key "steps"
r:6:118: step "route" (#2): branches[5].when[0] is 1.5: must be text, or a whole number
r:6:135: step "route" (#2): branches[5] steps is given twice`},
		{begin + "  - shuffle\n  - decode_image:\n    failures: skip\n", `r:5:15: step "decode_image" (#2): failures is "skip": must be an object like {on_error: …}`},
		{begin + "  - decode_image:\n    failures: {on_eror: skip, retries: 1.5,\n     max_errors: many, wait: soon}\n",
			`r:4:16: step "decode_image" (#1): failures has an unknown key "on_eror": did you mean "on_error"? the keys are on_error, max_errors, retries, wait, time_limit
r:4:40: step "decode_image" (#1): failures.retries is 1.5: must be a whole number
r:5:18: step "decode_image" (#1): failures.max_errors is "many": must be a whole number of samples or a rate like 0.01
r:5:30: step "decode_image" (#1): failures.wait is "soon": must be a number`},
		{begin + "  - decode_image:\n      failures: {}\n", `r:4:7: step "decode_image" (#1): has the key "failures" as an argument: write it beside the operation, in YAML two spaces further out`},
		{begin + "  - files: {pattern: a}\n  - decode_image: {name: x}\n", `r:4:20: step "decode_image" (#2): has the key "name" as an argument: write it beside the operation, in YAML two spaces further out`},
		{begin + "  - decode_image:\n    failure: {}\n", `r:4:5: step "decode_image" (#1): unknown key "failure": did you mean "failures"?`},
		{begin + "  - decode_image:\n    retries: 3\n", `r:4:5: step "decode_image" (#1): has the key "retries" beside the operation: it belongs to failures: write {"failures": {"retries": …}}`},
		{begin + "  - decode_image: {on_error: skip}\n", `r:3:20: step "decode_image" (#1): has the key "on_error" as an argument: it belongs to failures, beside the operation: write {"failures": {"on_error": …}}`},
		{begin + "  - shuffle\n  - resize:\n    from: shuffle\n", `r:5:5: step "resize" (#2): unknown key "from": a step has an operation, name and failures`},

		// What only Check sees.
		{begin + "  - merge:\n      of:\n        - [decode_image]\n        - - files: {pattern: a, label: x}\n", `r:5:12: step "decode_image" (#2): has nothing to read: what "merge" puts together begins with a source such as files
r:6:40: step "files" (#3): label is "x": it must be "parent", which labels each file with the name of its folder, or left out`},
		{begin + "  - merge:\n      of:\n        - - files: {pattern: a, label: parent}\n        - - files: {pattern: a}\n          - decode_image\n", `r:6:11: step "merge" (#1): of[1] gives samples without the field "bytes", which of[0] has`},
		{begin + "  - files: {pattern: a}\n  - route:\n      by: key\n      branches:\n        - when: [a]\n          steps:\n            - shuffle\n        - when: [b, a]\n          steps: [{decode_image: , name: files}]\n",
			`r:11:42: step "files" (#4): name is that of step #1 too
r:9:15: step "shuffle" (#3): comes after "route": it must directly follow the source, since it sets the source's order; no sample waits to be mixed with others
r:10:21: step "route" (#2): branches[1].when[1] is "a", which branches[0].when[0] already matches
r:10:11: step "route" (#2): branches[1] gives samples without the field "bytes", which branches[0] has`},
		{begin + "  - files: {pattern: a}\n    failures: {retries: 101}\n", `r:4:25: step "files" (#1): failures.retries is 101: must be from 0 to 100`},
		{begin + "  - files: {pattern: a}\n  - {shuffle: , failures: {retries: 1}}\n", `r:4:27: step "shuffle" (#2): failures is given, but no sample fails in shuffle: put it at steps that read or change samples`},
	} {
		f, err := recipe.Read("r", []byte(c.doc), recipe.Variables{})
		if err == nil {
			_, err = f.Check()
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%s\ngot  %v\nwant %s", c.doc, err, c.want)
		}
	}
}

// A tree of any depth is refused before it costs anything.
func TestTreesHaveLimits(t *testing.T) {
	deep := func(n int) string {
		return wrap(strings.Repeat(`{"merge":{"of":[[`, n) + `{"files":{"pattern":"a"}}` + strings.Repeat(`]]}}`, n))
	}
	r, err := recipe.Parse([]byte(deep(15)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Check(); err != nil {
		t.Error(err)
	}
	_, err = recipe.Parse([]byte(deep(16)))
	if want := `recipe: step "merge" (#16): of[0] is nested more than 16 deep`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	start := time.Now()
	_, err = recipe.Parse([]byte(deep(2000)))
	if err == nil || !strings.Contains(err.Error(), "nested more than 16 deep") {
		t.Errorf("got  %v", err)
	}
	r = steps(files)
	for range 16 {
		r = steps(recipe.Step{Args: &flow.Merge{Of: []recipe.Chain{r.Steps}}})
	}
	if all, err := r.Schemas(); err == nil || err.Error() != "recipe: is nested more than 16 deep" || len(all) != 17 {
		t.Errorf("as a Go program has it: %v, %v", all, err)
	}
	wide := `"shuffle"` + strings.Repeat(`,"shuffle"`, 60_000)
	_, err = recipe.Parse([]byte(wrap(`{"merge":{"of":[[` + wide + `],[` + wide + `]]}}`)))
	if want := `recipe: step "merge" (#1): of[1] has more than 100000 steps, with those before`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("refusing took %v", took)
	}
	_, err = recipe.Read("r", []byte("headrace: 1\nsteps: &s\n  - merge: {of: [*s, *s]}\n"), recipe.Variables{})
	if want := "r:2:8: has an anchor: recipes have none; a value for several places is a variable"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// A variable has no steps: they would have no place in the file.
func TestVariablesAreNoSteps(t *testing.T) {
	_, err := recipe.Read("r", []byte("headrace: 1\nvars: {s: [[shuffle]], t: [shuffle]}\nsteps:\n  - merge: {of: \"${s}\"}\n  - merge: {of: [\"${t}\"]}\n"), recipe.Variables{})
	want := `r:4:17: step "merge" (#1): of[0] is ["shuffle"]: must be a list of steps
r:5:18: step "merge" (#2): of[0] is "${t}", here ["shuffle"]: must be a list of steps`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestTreesThatCannotBeWritten(t *testing.T) {
	r := treeRecipe()
	r.Steps[1].Args.(*flow.Route).Branches[1].Steps[1].Args = &image.RandomFlip{P: new(math.NaN())}
	_, err := json.Marshal(r)
	if e := (*recipe.Error)(nil); !errors.As(err, &e) || e.Step != 14 || e.Path != "args" {
		t.Errorf("NaN in a branch: %v", err)
	}
	r = treeRecipe()
	r.Steps[0].Args.(*flow.Merge).Of[0][0].Failures = &recipe.Failures{TimeLimit: new(math.Inf(1))}
	_, err = json.Marshal(r)
	if e := (*recipe.Error)(nil); !errors.As(err, &e) || e.Step != 2 || e.Path != "failures" {
		t.Errorf("an infinite limit: %v", err)
	}
}

// Completing a tree leaves the one that was given as it is, whatever the copy becomes.
func TestCompleteChangesNoTree(t *testing.T) {
	r := treeRecipe()
	before := fmt.Sprintf("%#v", r.Steps[0].Args.(*flow.Merge).Of)
	c := r.Complete()
	c.Steps[0].Args.(*flow.Merge).Of[0][0].Name = "other"
	c.Steps[1].Args.(*flow.Route).Branches[0].Steps[0].Name = "other"
	c.Steps[1].Failures.OnError = "raise"
	if after := fmt.Sprintf("%#v", r.Steps[0].Args.(*flow.Merge).Of); after != before || r.Steps[1].Failures.OnError != "skip" || r.Steps[1].Args.(*flow.Route).Branches[0].Steps[0].Name != "" {
		t.Errorf("%s\nbecame\n%s", before, after)
	}
	again := r.Complete()
	if diff := cmp.Diff(again, again.Complete(), comparable); diff != "" {
		t.Errorf("completing twice gives another recipe:\n%s", diff)
	}
}
