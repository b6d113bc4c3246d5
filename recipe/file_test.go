package recipe_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/recipe"
)

const train = `# what all recipes of this file begin with
headrace: 1
vars:
  root: data/train
  size: 224
  flips: null
seed: 3
steps:
  - files: {pattern: "${root}/*/*.JPEG", label: parent}
  - shuffle
  - decode_image:
  - resize:
      size: 256   # the shorter edge
      filter: >-
        bicubic
  - center_crop: {"size": "${size}",}
  - {random_flip: {p: "${flips}"}, name: flip}
  - pad: {padding: [1, +2], fill: ~}
  - batch: {size: 32, drop_last: True}
loader:
  epochs: "${size}"
  on_error: skip
  max_errors: .5
`

func TestRead(t *testing.T) {
	environment := func(name string) (string, bool) {
		value, ok := map[string]string{"flips": "0.25", "root": "elsewhere"}[name]
		return value, ok
	}
	f, err := recipe.Read("train.yaml", []byte(train), recipe.Variables{Given: map[string]string{"root": "/data"}, Environment: environment})
	if err != nil {
		t.Fatal(err)
	}
	want := recipe.Recipe{Seed: 3, Steps: []recipe.Step{
		{Args: &input.Files{Pattern: "/data/*/*.JPEG", Label: "parent"}},
		{Op: "shuffle"},
		{Op: "decode_image"},
		{Args: &image.Resize{Size: recipe.Size{Height: 256}, Filter: "bicubic"}},
		{Args: &image.CenterCrop{Size: recipe.Size{Height: 224}}},
		{Name: "flip", Args: &image.RandomFlip{P: new(0.25)}},
		{Args: &image.Pad{Padding: &image.Padding{Left: 1, Top: 2, Right: 1, Bottom: 2}}},
		{Args: &flow.Batch{Size: 32, DropLast: true}},
	}}.Complete()
	if diff := cmp.Diff(want, f.Recipe); diff != "" {
		t.Error(diff)
	}
	if got := string(f.Loader); got != `{"epochs":224,"on_error":"skip","max_errors":0.5}` {
		t.Errorf("the section loader is %s", got)
	}
	vars := []recipe.Var{{Name: "root", Value: "/data", From: "given"}, {Name: "size", Value: "224", From: "default"}, {Name: "flips", Value: "0.25", From: "environment"}}
	if diff := cmp.Diff(vars, f.Vars); diff != "" {
		t.Error(diff)
	}
	if schema, err := f.Check(); err != nil || schema.String() != "image uint8 [228, 226, 3], label int64, key text" {
		t.Errorf("%v, %v", schema, err)
	}
}

// Every mistake learns where it is, whichever notation it is made in.
func TestMistakesHavePlaces(t *testing.T) {
	const steps = "headrace: 1\nsteps:\n"
	for _, c := range []struct{ doc, want string }{
		// Syntax.
		{"", "r:1:1: is empty: a recipe begins with headrace: 1"},
		{"# nothing\n", "r:1:1: is empty: a recipe begins with headrace: 1"},
		{"headrace: 1\nsteps: [\n", "r:2:8: is not valid YAML: sequence end token ']' not found"},
		{"headrace: 1\n\tsteps: []\n", "r:2:1: is not valid YAML: found character '\t' that cannot start any token"},
		{"headrace: 1\nseed: \"é\n", "r:2:7: is not valid YAML: could not find end character of double-quoted text"},
		{"{\"headrace\": 1,\n \"steps\": [}", "r:2:12: invalid character '}' looking for beginning of value"},
		{"{headrace: 1, steps: [}", "r:1:23: is not valid YAML: could not find '{' character corresponding to '}'"},
		{"headrace: 1\nseed: \"\xff\"\n", "r:2:8: is not valid UTF-8"},

		// Shape.
		{"a recipe", `r:1:1: is "a recipe": must be an object like {"headrace": 1, "steps": […]}`},
		{"[1]", `r:1:1: is [1]: must be an object like {"headrace": 1, "steps": […]}`},
		{"seed: 3\n", "r:1:1: lacks the version of its notation: \"headrace\": 1\nr:1:1: lacks the key \"steps\""},
		{"headrace: 2\nstep: []\n", "r:1:11: headrace is 2: this engine reads version 1 of recipes"},
		{"headrace: \"1\"\nsteps: []\n", `r:1:11: headrace is "1": this engine reads version 1 of recipes`},
		{"headrace: 1\nsteps: {files: {}}\n", "r:2:8: steps is an object: must be a list of steps"},
		{"headrace: 1\nsteps: []\nstps: []\n", `r:3:1: unknown key "stps": did you mean "steps"? the keys are headrace, vars, seed, steps, loader`},
		{"headrace: 1\nsteps: []\nseed: 1\nseed: 2\n", "r:4:1: seed is given twice"},
		{"headrace: 1\nsteps: []\nseed: -1\n", "r:3:7: seed is -1: must be a whole number, at least 0"},
		{"headrace: 1\nloader: 3\nsteps: []\n", `r:2:9: loader is 3: must be an object like {"epochs": 1, "workers": 4}`},
		{steps + "  - 3\n", `r:3:5: step #1: is 3: must be the name of an operation, or an object like {"resize": {"size": 256}}`},
		{steps + "  - name: a\n", `r:3:5: step "a" (#1): has no operation: write an object like {"resize": {"size": 256}}`},
		{steps + "  - resise: {}\n", `r:3:5: step "resise" (#1): there is no operation "resise": did you mean "resize"?`},
		{steps + "  - shufle\n", `r:3:5: step "shufle" (#1): there is no operation "shufle": did you mean "shuffle"?`},
		{steps + "  - shuffle\n  - resize:\n    size: 256\n", `r:5:5: step "resize" (#2): has the key "size" beside resize, but it is an argument of resize: write {"resize": {"size": …}}, in YAML two spaces further in`},
		{steps + "  - {shuffle: , nam: b}\n", `r:3:17: step "shuffle" (#1): unknown key "nam": did you mean "name"?`},
		{steps + "  - {shuffle: {}, resize: {}}\n", `r:3:19: step "shuffle" (#1): has the operations "shuffle" and "resize": each is a step of its own`},
		{steps + "  - resize: 256\n", `r:3:13: step "resize" (#1): give its arguments by name, as in {size: …}, not 256`},

		// Arguments.
		{steps + "  - resize: {size: 3,\n      siz: 4}\n", `r:4:7: step "resize" (#1): unknown argument "siz": did you mean "size"? the arguments are size, max_size, filter, fit, anchor, fill, field, fields`},
		{steps + "  - resize: {size: big}\n", `r:3:20: step "resize" (#1): size is "big": must be a whole number, or [height, width]`},
		{steps + "  - resize: {size: 3, interpolation: cubic}\n", `r:3:23: step "resize" (#1): interpolation is not an argument: it is called filter`},
		{steps + "  - resize: {size: 3, size: 4}\n", `r:3:23: step "resize" (#1): size is given twice`},
		{steps + "  - batch: {drop_last: yes}\n", `r:3:24: step "batch" (#1): drop_last is "yes": must be true or false`},
		{steps + "  - batch: {size: 256.0}\n", `r:3:19: step "batch" (#1): size is 256.0: must be a whole number`},
		{steps + "  - batch: {size: 1_000}\n", `r:3:19: step "batch" (#1): size is "1_000": must be a whole number`},
		{steps + "  - files:\n      paths:\n        - é\n        - 3\n", `r:6:11: step "files" (#1): paths[1] is 3: must be text`},
		{steps + "  - files:\n      pairs: [[é, 1], [a, b]]\n", `r:4:23: step "files" (#1): pairs[1] is ["a","b"]: must be a [path, label] pair`},
		{steps + "  - random_resized_crop: {size: 9, scale: [0.5, x]}\n", `r:3:49: step "random_resized_crop" (#1): scale[1] is "x": must be a number`},
		{steps + "  - {shuffle: , name: [a]}\n", `r:3:23: step "shuffle" (#1): name is ["a"]: must be text`},

		// What YAML has and recipes have not.
		{"headrace: &a 1\nseed: *a\n", "r:1:11: has an anchor: recipes have none; a value for several places is a variable"},
		{"headrace: 1\nseed: *a\n", "r:2:7: has an alias: recipes have none; a value for several places is a variable, and text that begins with * must be quoted"},
		{"headrace: 1\n<<: {seed: 1}\n", "r:2:1: has a merge key: recipes have none; write it out at each place"},
		{"headrace: !!int 1\n", "r:1:11: has a tag: recipes have none; text that begins with ! must be quoted"},
		{"? headrace\n: 1\n", "r:1:1: has a key after a question mark: write keys like size:"},
		{"%YAML 1.1\n---\nheadrace: 1\n", "r:1:1: has a directive: recipes have none; text that begins with % must be quoted"},
		{"headrace: 1\nsteps: []\n---\nheadrace: 1\n", "r:4:9: has a second document: a file has one recipe"},
		{"headrace: 1\nseed: 010\n", `r:2:7: has the number 010, which some read as octal: must be 10, or "010" as text`},
		{"headrace: 1\nseed: [00, 0o17, 0x1F, .inf, -.INF, .nan]\n", `r:2:8: has the number 00, which some read as octal: must be 0, or "00" as text
r:2:12: has the number 0o17: must be finite decimal numbers, or text in quotes
r:2:18: has the number 0x1F: must be finite decimal numbers, or text in quotes
r:2:24: has the number .inf: must be finite decimal numbers, or text in quotes
r:2:30: has the number -.INF: must be finite decimal numbers, or text in quotes
r:2:37: has the number .nan: must be finite decimal numbers, or text in quotes`},

		// What only Check sees.
		{steps + "  - decode_image\n", `r:3:5: step "decode_image" (#1): has nothing to read: a recipe begins with a source such as files`},
		{steps + "  - files: {}\n", `r:3:5: step "files" (#1): has nothing to read: give pattern, paths or pairs`},
		{steps + "  - files: {pattern: a}\n  - decode_image: {color: grey}\n", `r:4:27: step "decode_image" (#2): color is "grey": did you mean "gray"? must be "rgb", "rgba", "gray" or "mask"`},
		{steps + "  - files: {pattern: a, label: x,\n            max_bytes: -1}\n", "r:3:32: step \"files\" (#1): label is \"x\": it must be \"parent\", which labels each file with the name of its folder, or left out\nr:4:24: step \"files\" (#1): max_bytes is -1: must be at least 1"},
		{steps + "  - files:\n      paths: [a, \"\"]\n", `r:4:18: step "files" (#1): paths[1] is empty`},
		{steps + "  - files: {pattern: a}\n  - {shuffle: , name: files}\n", `r:4:23: step "files" (#2): name is that of step #1 too`},
		{steps + "  - files: {pattern: a}\n  - decode_image\n  - center_crop\n", `r:5:5: step "center_crop" (#3): lacks the argument size`},
		{"headrace: 1\nsteps: []\n", `r:1:1: has no steps: it begins with a source such as files`},
		{"{\"headrace\": 1, \"steps\": [\n  {\"files\": {\"pattern\": \"é\",   \"label\": \"x\"}}]}", `r:2:41: step "files" (#1): label is "x": it must be "parent", which labels each file with the name of its folder, or left out`},
		{"\ufeff{\"headrace\": 1,\n  \"stps\": [], \"steps\": []}", `r:2:3: unknown key "stps": did you mean "steps"?`},
		{"\ufeffheadrace: 1\r\nsteps:\r\n  - shufle\r\n", `r:3:5: step "shufle" (#1): there is no operation "shufle"`},
	} {
		f, err := recipe.Read("r", []byte(c.doc), recipe.Variables{})
		if err == nil {
			_, err = f.Check()
		}
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || len(c.want) < 40 && err.Error() != c.want {
			t.Errorf("%q:\ngot  %v\nwant %s", c.doc, err, c.want)
		}
		if e := (*recipe.Error)(nil); !errors.As(err, &e) || e.File != "r" || e.Line < 1 || e.Column < 1 {
			t.Errorf("%q: the error is %+v", c.doc, e)
		}
	}
}

// A million wrong lines are one mistake to whoever made them.
func TestMistakesAreCounted(t *testing.T) {
	doc := "headrace: 1\nsteps: [" + strings.Repeat("3, ", 1000) + "]\n"
	_, err := recipe.Read("r", []byte(doc), recipe.Variables{})
	lines := strings.Split(fmt.Sprint(err), "\n")
	if len(lines) != 51 || lines[50] != "r:1:1: has 950 mistakes more" {
		t.Errorf("%d lines, the last is %s", len(lines), lines[len(lines)-1])
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.yaml")
	if err := os.WriteFile(path, []byte(train), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := recipe.ReadFile(path, recipe.Variables{Given: map[string]string{"flips": "1"}})
	if err != nil || f.Name != path || len(f.Recipe.Steps) != 8 {
		t.Errorf("%+v, %v", f, err)
	}
	f, err = recipe.ReadFile(path, recipe.Variables{})
	if err == nil || err.Error() != path+`:6:10: vars.flips has no value: give it by --set flips=…, in Python by flips=…, or in the environment` {
		t.Errorf("without a value: %v", err)
	}
	if len(f.Vars) != 3 || f.Name != path || f.Recipe.Steps != nil {
		t.Errorf("with the error came %+v", f)
	}
	for _, missing := range []string{filepath.Join(t.TempDir(), "none"), t.TempDir()} {
		if _, err := recipe.ReadFile(missing, recipe.Variables{}); err == nil || !strings.HasPrefix(err.Error(), "the recipe "+missing+" cannot be read: ") {
			t.Errorf("%s: %v", missing, err)
		}
	}
}

func TestReadStandardInput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	if err := os.WriteFile(path, []byte(`{"headrace": 1, "steps": ["files"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer func(before *os.File) { os.Stdin = before }(os.Stdin)
	os.Stdin = in
	f, err := recipe.ReadFile("-", recipe.Variables{})
	if err != nil || f.Name != "stdin" {
		t.Fatalf("%+v, %v", f, err)
	}
	if _, err := f.Check(); err == nil || err.Error() != `stdin:1:27: step "files" (#1): has nothing to read: give pattern, paths or pairs` {
		t.Errorf("%v", err)
	}
}

// A key for editors is nobody's mistake.
func TestSchemaKey(t *testing.T) {
	if _, err := recipe.Read("r", []byte(`{"$schema": "recipe.schema.json", "headrace": 1, "steps": ["shuffle"]}`), recipe.Variables{}); err != nil {
		t.Error(err)
	}
	if _, err := recipe.Parse([]byte(`{"$schema": "recipe.schema.json", "headrace": 1, "steps": ["shuffle"]}`)); err == nil {
		t.Error("a program sent a key for editors")
	}
}

// What wraps an error keeps its text, with the place in it; what is not of a recipe
// stays as it is.
func TestLocate(t *testing.T) {
	f, err := recipe.Read("r", []byte("headrace: 1\nsteps:\n  - files: {pattern: a}\nloader:\n  workers: 3\n"), recipe.Variables{})
	if err != nil {
		t.Fatal(err)
	}
	mistake := &recipe.Error{Step: 1, Name: "files", Path: "args.pattern", Err: errors.New("is wrong")}
	other := errors.New("other")
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, "<nil>"},
		{other, "other"},
		{mistake, `r:3:22: step "files" (#1): pattern is wrong`},
		{errors.Join(mistake, other), "r:3:22: step \"files\" (#1): pattern is wrong\nother"},
		{fmt.Errorf("opening: %w", mistake), `opening: r:3:22: step "files" (#1): pattern is wrong`},
		{fmt.Errorf("opening: %w (%w)", other, mistake), `opening: other (r:3:22: step "files" (#1): pattern is wrong)`},
		{fmt.Errorf("opening: %w", other), "opening: other"},
		{fmt.Errorf("opening: %w", error(nil)), "opening: %!w(<nil>)"},
		{&recipe.Error{Step: 9, Path: "args.x[3]", Err: other}, "r:3:3: step #9: x[3] other"},
		{&recipe.Error{Path: "loader.workers.much[", Err: other}, "r:5:12: loader.workers.much[ other"},
		{&recipe.Error{Position: recipe.Position{File: "q", Line: 7, Column: 8}, Err: other}, "q:7:8: other"},
		{&recipe.Error{Position: recipe.Position{Line: 7, Column: 8}, Err: other}, "r:7:8: other"},
	} {
		got := f.Locate(c.err)
		if fmt.Sprint(got) != c.want {
			t.Errorf("%v:\ngot  %v\nwant %s", c.err, got, c.want)
		}
		if errors.Is(c.err, other) != errors.Is(got, other) {
			t.Errorf("%v: what it wraps is lost", c.err)
		}
		if e := (*recipe.Error)(nil); errors.As(got, &e) && e.Line == 0 {
			t.Errorf("%v: what is found first has no place", c.err)
		}
	}
	if mistake.Line != 0 {
		t.Error("the error that was given has changed")
	}
	if got := (recipe.File{}).Locate(mistake).Error(); got != mistake.Error() {
		t.Errorf("no file: %s", got)
	}
	if got := (recipe.File{Name: "r"}).Locate(mistake).Error(); got != `r: step "files" (#1): pattern is wrong` {
		t.Errorf("no text: %s", got)
	}
}
