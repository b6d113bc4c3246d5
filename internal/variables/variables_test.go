package variables_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	_ "github.com/headrace/headrace/op"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/recipe"
)

// withVars reads a recipe of one step that has arguments in it.
func withVars(vars, step string, v recipe.Variables) (recipe.File, error) {
	return recipe.Read("r", []byte("headrace: 1\nvars: "+vars+"\nsteps:\n  - "+step+"\n"), v)
}

func TestVariables(t *testing.T) {
	environment := func(name string) (string, bool) {
		value, ok := map[string]string{"HOME": "/home/me", "N": "7", "empty": "", "odd": "/d\xff"}[name]
		return value, ok
	}
	given := func(pairs ...string) map[string]string {
		m := make(map[string]string)
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	for _, c := range []struct {
		vars, step string
		given      map[string]string
		want       recipe.Args
	}{
		// Where text is taken, it stays text; anywhere else it is what it spells.
		{`{p: 12}`, `files: {pattern: "${p}"}`, nil, &input.Files{Pattern: "12"}},
		{`{p: true}`, `files: {pattern: "a${p}b${p}"}`, nil, &input.Files{Pattern: "atruebtrue"}},
		{`{l: [a, 3]}`, `files: {pattern: "${l}"}`, nil, &input.Files{Pattern: `["a",3]`}},
		{`{l: [a, b]}`, `files: {paths: "${l}"}`, nil, &input.Files{Paths: []recipe.Path{"a", "b"}}},
		{`{r: d}`, `files: {paths: ["${r}/1", "${r}"]}`, nil, &input.Files{Paths: []recipe.Path{"d/1", "d"}}},
		{`{r: 3, n: 4}`, `files: {pairs: [["${r}", 1], ["a${r}", "${n}"]]}`, nil,
			&input.Files{Pairs: []input.Pair{{Path: "3", Label: 1}, {Path: "a3", Label: 4}}}},
		{`{n: null}`, `shuffle: {seed: "${n}"}`, given("n", "18446744073709551615"), &flow.Shuffle{Seed: new(uint64(1<<64 - 1))}},
		{`{n: 3}`, `shuffle: {seed: "${n}"}`, given("n", "null"), &flow.Shuffle{}},
		{`{d: false}`, `batch: {size: "${s}", drop_last: "${d}"}`, nil, nil},
		{`{s: 8, d: true}`, `batch: {size: "${s}", drop_last: "${d}"}`, nil, &flow.Batch{Size: 8, DropLast: true}},
		{`{h: 8, w: 9}`, `resize: {size: ["${h}", "${w}"]}`, nil, &image.Resize{Size: recipe.Size{Height: 8, Width: 9}}},
		{`{s: [8, 9]}`, `resize: {size: "${s}"}`, nil, &image.Resize{Size: recipe.Size{Height: 8, Width: 9}}},
		{`{s: [8, 9]}`, `resize: {size: "${s}"}`, given("s", "5"), &image.Resize{Size: recipe.Size{Height: 5}}},
		{`{s: [[8, 9], 3]}`, `resize_to_bucket: {sizes: "${s}"}`, nil,
			&image.ResizeToBucket{Sizes: []recipe.Size{{Height: 8, Width: 9}, {Height: 3}}}},
		{`{s: 9}`, `resize_to_bucket: {sizes: [["${s}", 8]]}`, nil, &image.ResizeToBucket{Sizes: []recipe.Size{{Height: 9, Width: 8}}}},
		{`{x: 0.5}`, `random_resized_crop: {size: 9, scale: ["${x}", 1.0]}`, nil,
			&image.RandomResizedCrop{Size: recipe.Size{Height: 9}, Scale: &[2]float64{0.5, 1}}},
		{`{x: [0.5, 0.6, 0.7]}`, `normalize: {mean: "${x}", std: 1}`, nil,
			&image.Normalize{Mean: image.Channels{0.5, 0.6, 0.7}, Std: image.Channels{1}}},
		{`{p: 3}`, `pad: {padding: "${p}", fill: ["${p}", 0, 1]}`, nil,
			&image.Pad{Padding: &image.Padding{Left: 3, Top: 3, Right: 3, Bottom: 3}, Fill: image.Fill{3, 0, 1}}},

		// Dollar signs.
		{`{a: x}`, `files: {pattern: "$a $$a $${a} $$${a} $"}`, nil, &input.Files{Pattern: "$a $a ${a} $x $"}},
		{`{a: "$$"}`, `files: {pattern: "${a}{b}"}`, nil, &input.Files{Pattern: "${b}"}},
		// what is given is no text of the file
		{`{a: "x"}`, `files: {pattern: "${a}"}`, given("a", "${b}$$"), &input.Files{Pattern: "${b}$$"}},

		// Where values come from.
		{`{N: 3, HOME: null}`, `files: {pattern: "${HOME}/${N}"}`, nil, &input.Files{Pattern: "/home/me/7"}},
		{`{N: 3}`, `files: {pattern: "${HOME}/${N}"}`, given("N", "é"), &input.Files{Pattern: "/home/me/é"}},
		{`{empty: x}`, `files: {pattern: "a${empty}"}`, nil, &input.Files{Pattern: "a"}},
		{`{root: "${HOME}/data", deep: "${root}/x"}`, `files: {pattern: "${deep}/*"}`, nil, &input.Files{Pattern: "/home/me/data/x/*"}},
		{`{}`, `files: {pattern: "${odd}/*"}`, nil, &input.Files{Pattern: "/d\xff/*"}},
	} {
		f, err := withVars(c.vars, c.step, recipe.Variables{Given: c.given, Environment: environment})
		if c.want == nil {
			if err == nil || !strings.Contains(err.Error(), `names the unknown variable "s"`) {
				t.Errorf("%s: %v", c.step, err)
			}
			continue
		}
		want := recipe.Recipe{Steps: []recipe.Step{{Args: c.want}}}.Complete()
		if err != nil {
			t.Errorf("%s with %s: %v", c.step, c.vars, err)
		} else if diff := cmp.Diff(want, f.Recipe); diff != "" {
			t.Errorf("%s with %s: %s", c.step, c.vars, diff)
		}
	}
}

// Everything that is text may have variables in it, but no key, and nothing beyond text.
func TestWhereVariablesStand(t *testing.T) {
	const doc = `{"headrace": 1, "seed": "${n}", "vars": {"n": 5, "op": "shuffle", "name": "mixed", "skip": "skip", "rate": 0.50, "size": "2GiB", "no": null},
		"steps": [{"files": {"pattern": "a"}}, "${op}", {"decode_image": {}, "name": "${name}", "failures": {"on_error": "${skip}", "max_errors": "${rate}", "retries": "${n}"}}, {"rotate90": {}}],
		"loader": {"epochs": "${n}", "on_error": "${skip}", "max_errors": "${rate}", "memory": "${size}", "deep": [{"x": "${n}"}, "a${n}"], "e": true, "f": null}}`
	f, err := recipe.Read("r", []byte(doc), recipe.Variables{Given: map[string]string{"no": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	want := recipe.Recipe{Seed: 5, Steps: []recipe.Step{
		{Args: &input.Files{Pattern: "a"}}, {Op: "shuffle"},
		{Op: "decode_image", Name: "mixed", Failures: &recipe.Failures{OnError: "skip",
			MaxErrors: new(recipe.ErrorRate(0.5)), Retries: 5}}, {Op: "rotate90"},
	}}.Complete()
	if diff := cmp.Diff(want, f.Recipe, cmpopts.EquateComparable(recipe.MaxErrors{})); diff != "" {
		t.Error(diff)
	}
	const loader = `{"epochs":5,"on_error":"skip","max_errors":0.50,"memory":"2GiB","deep":[{"x":5},"a5"],"e":true,"f":null}`
	if string(f.Loader) != loader {
		t.Errorf("the section loader is %s", f.Loader)
	}
	if _, err := recipe.Parse([]byte(`{"headrace": 1, "steps": [{"files": {"pattern": "${HOME}$$"}}]}`)); err != nil {
		t.Errorf("what a program sends has no variables: %v", err)
	}
}

func TestMistakesWithVariables(t *testing.T) {
	for _, c := range []struct{ vars, step, want string }{
		{`{size: 3}`, `resize: {size: "${siz}"}`,
			`r:4:20: step "resize" (#1): size is "${siz}", which names the unknown variable "siz"; did you mean "size"?`},
		{`{}`, `resize: {size: "${big}"}`,
			`r:4:20: step "resize" (#1): size is "${big}", which names the unknown variable "big": declare it in the section "vars", or set it in the environment`},
		{`{size: big}`, `resize: {size: "${size}"}`,
			`r:4:20: step "resize" (#1): size is "${size}", here "big": must be a whole number, or [height, width]`},
		{`{size: 3.5}`, `resize: {size: "${size}"}`,
			`r:4:20: step "resize" (#1): size is "${size}", here 3.5: must be a whole number, or [height, width]`},
		{`{size: 3}`, `resize: {size: "${size}px"}`,
			`r:4:20: step "resize" (#1): size is "${size}px", here "3px": must be a whole number, or [height, width]`},
		{`{size: 3}`, `resize: {size: ["${size}", "a${size}"]}`,
			`r:4:20: step "resize" (#1): size is ["${size}","a${size}"], here [3,"a3"]: must be a whole number, or [height, width]`},
		{`{l: [a, 3]}`, `files: {paths: "${l}"}`, `r:4:20: step "files" (#1): paths[1] is 3: must be text`},
		{`{a: 1}`, `files: {pattern: "${a"}`,
			`r:4:22: step "files" (#1): pattern is "${a", which has a "${" that is not a variable: write ${name}, or "$$" for a dollar sign`},
		{`{a: 1}`, `files: {pattern: "${a b}"}`,
			`r:4:22: step "files" (#1): pattern is "${a b}", which has a "${" that is not a variable: write ${name}, or "$$" for a dollar sign`},
		{`{a: 1}`, `files: {pattern: "${}"}`,
			`r:4:22: step "files" (#1): pattern is "${}", which has a "${" that is not a variable: write ${name}, or "$$" for a dollar sign`},
		{`[a]`, `shuffle`, `r:2:7: vars is ["a"]: must be an object of variables and their defaults, like {"root": "data", "size": 224}`},
		{`{a-b: 1}`, `shuffle`, `r:2:8: vars has the name "a-b": must be letters, digits and _ after the first letter`},
		{`{a: 1, a: 2}`, `shuffle`, `r:2:14: vars has a twice`},
		{`{a: {b: 1}}`, `shuffle`,
			`r:2:11: vars.a is an object: must be text, a number, true, false, a list, or null where there is no default`},
		{`{a: null}`, `shuffle: {seed: "${a}"}`,
			`r:2:11: vars.a has no value: give it by --set a=…, in Python by a=…, or in the environment`},
		{`{a: , b: "${a}"}`, `shuffle: {seed: "${b}"}`,
			`r:2:10: vars.a has no value: give it by --set a=…, in Python by a=…, or in the environment`},
		{`{a: "${b}", b: 1}`, `shuffle: {seed: "${a}"}`,
			`r:2:11: vars.a names the unknown variable "b": declare it in the section "vars", or set it in the environment`},
		{`{a: "${a}"}`, `shuffle`,
			`r:2:11: vars.a names the unknown variable "a": declare it in the section "vars", or set it in the environment`},
	} {
		f, err := withVars(c.vars, c.step, recipe.Variables{})
		if fmt.Sprint(err) != c.want {
			t.Errorf("%s with %s:\ngot  %v\nwant %s", c.step, c.vars, err, c.want)
		}
		if f.Recipe.Steps != nil {
			t.Errorf("%s with %s: a recipe came with the error", c.step, c.vars)
		}
	}
	_, err := withVars(`{root: data, size: 3}`, "shuffle", recipe.Variables{Given: map[string]string{"rot": "", "width": ""}})
	want := `r:2:7: vars declares no variable "rot" that could be given: did you mean "root"? it declares root, size
r:2:7: vars declares no variable "width" that could be given: it declares root, size`
	if fmt.Sprint(err) != want {
		t.Errorf("given, but not declared:\ngot  %v\nwant %s", err, want)
	}
	_, err = recipe.Read("r", []byte("headrace: 1\nsteps: [shuffle]\nloader: {epochs: 1, workers: \"${n}\"}"), recipe.Variables{})
	if want := `r:3:30: loader.workers names the unknown variable "n": declare it in the section "vars", or set it in the environment`; fmt.Sprint(err) != want {
		t.Errorf("in the section loader: %v", err)
	}
}

// Ten lines that double each other must not fill the memory.
func TestVariablesAreBounded(t *testing.T) {
	var vars strings.Builder
	vars.WriteString("{v0: " + strings.Repeat("x", 1000))
	for i := range 40 {
		fmt.Fprintf(&vars, `, v%d: "${v%d}${v%d}"`, i+1, i, i)
	}
	_, err := withVars(vars.String()+"}", `files: {pattern: "${v40}"}`, recipe.Variables{})
	if err == nil || !strings.Contains(err.Error(), "is too much: a variable may have 1048576 bytes, and all of them together 16777216") {
		t.Errorf("%.300v", err)
	}
	if len(err.Error()) > 10_000 {
		t.Errorf("the message has %d bytes", len(err.Error()))
	}
	long := strings.Repeat("x", 1<<20)
	_, err = withVars("{a: b}", `files: {paths: [`+strings.Repeat(`"${a}",`, 17)+`]}`,
		recipe.Variables{Given: map[string]string{"a": long}})
	if err == nil || !strings.Contains(err.Error(), "paths[16] is \"${a}\", which is too much") || strings.Contains(err.Error(), "paths[15] ") {
		t.Errorf("%.300v", err)
	}
}
