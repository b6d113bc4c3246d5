package format_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/headrace/headrace/internal/recipetest"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/recipe"
	"pgregory.net/rapid"
)

// comparable are the types with fields that cmp cannot see.
var comparable = cmpopts.EquateComparable(recipe.MaxErrors{})

// Whatever a recipe holds, all its notations mean it.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := recipetest.Recipe(t)
		wire, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		sent, err := recipe.Parse(wire)
		if err != nil {
			t.Fatalf("%s is refused: %v", wire, err)
		}
		if diff := cmp.Diff(r, sent, cmpopts.EquateEmpty(), comparable); diff != "" {
			t.Fatalf("as sent: %s\n%s", diff, wire)
		}
		loader := json.RawMessage(nil)
		if rapid.Bool().Draw(t, "loader") {
			text, _ := json.Marshal(strings.ToValidUTF8(recipetest.Text(t), ""))
			loader = json.RawMessage(`{"epochs":3,"max_errors":1.0,"order":` + string(text) + `,"memory":1e9}`)
		}
		given := recipe.File{Recipe: r, Loader: loader}
		for notation, text := range map[string][]byte{"YAML": given.YAML(), "JSON": given.JSON()} {
			f, err := recipe.Read(notation, text, recipe.Variables{})
			if err != nil {
				t.Fatalf("%s\nis refused: %v", text, err)
			}
			if diff := cmp.Diff(r, f.Recipe, cmpopts.EquateEmpty(), comparable); diff != "" {
				t.Fatalf("%s: %s\n%s", notation, diff, text)
			}
			if r.Fingerprint() != f.Recipe.Fingerprint() {
				t.Fatalf("%s: the fingerprint has changed", notation)
			}
			if f.IsYAML() != (notation == "YAML") {
				t.Fatalf("%s was read as something else", notation)
			}
			sameJSON(t, loader, f.Loader)
			if again := map[string][]byte{"YAML": f.YAML(), "JSON": f.JSON()}[notation]; string(again) != string(text) {
				t.Fatalf("%s is not written again as it was:\n%s\n%s", notation, text, again)
			}
		}
	})
}

func sameJSON(t *rapid.T, want, got json.RawMessage) {
	var a, b any
	if want == nil && got == nil {
		return
	}
	if json.Unmarshal(want, &a) != nil || json.Unmarshal(got, &b) != nil || !cmp.Equal(a, b) {
		t.Fatalf("the section loader was %s and became %s", want, got)
	}
}

// People read it: what it looks like matters.
func TestWhatIsWritten(t *testing.T) {
	r := recipe.Recipe{Seed: 7, Steps: []recipe.Step{
		{Args: &input.Files{Paths: []recipe.Path{"a.jpg", "no", "b c.jpg", "a$b", "\xff",
			recipe.Path("long/" + strings.Repeat("x", 90) + ".jpg")}, Root: "/data"}},
		{Op: "shuffle"},
		{Args: &image.Resize{Size: recipe.Size{Height: 3, Width: 4}}, Name: "small"},
		{Op: "random_flip", Args: &image.RandomFlip{P: new(1e-7)}},
		{Args: &image.Normalize{Mean: image.Channels{0.5}, Std: image.Channels{1, 2, 3}}},
	}}
	f := recipe.File{Recipe: r, Loader: json.RawMessage(`{"epochs": 1, "order": "input"}`)}
	const yaml = `headrace: 1
seed: 7
steps:
  - files:
      paths:
        - "a.jpg"
        - "no"
        - "b c.jpg"
        - "a$$b"
        - "\udcff"
        - long/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.jpg
      root: /data
      max_bytes: 1073741824
  - shuffle
  - resize: {size: [3, 4], filter: bilinear, fit: stretch}
    name: small
  - random_flip: {p: 1.0e-7}
  - normalize: {mean: 0.5, std: [1, 2, 3], dtype: float32}
loader: {epochs: 1, order: input}
`
	want := strings.Replace(yaml, `"a.jpg"`, "a.jpg", 1)
	if diff := cmp.Diff(want, string(f.YAML())); diff != "" {
		t.Error(diff)
	}
	long := recipe.File{
		Recipe: recipe.Recipe{Steps: []recipe.Step{{Args: &input.Files{Pairs: []input.Pair{{Path: "a", Label: 1},
			{Path: recipe.Path(strings.Repeat("x", 120)), Label: 2}}}}}},
		Loader: json.RawMessage(`{"on_error": "` + strings.Repeat("y", 100) + `", "deep": {"list": []}}`),
	}
	want = `headrace: 1
seed: 0
steps:
  - files:
      pairs:
        - [a, 1]
        - - ` + strings.Repeat("x", 120) + `
          - 2
      max_bytes: 1073741824
loader:
  on_error: ` + strings.Repeat("y", 100) + `
  deep: {list: []}
`
	if diff := cmp.Diff(want, string(long.YAML())); diff != "" {
		t.Error(diff)
	}
	const wantJSON = `{
  "headrace": 1,
  "seed": 0,
  "steps": [
    {"files": {"pattern": "data/*.jpg", "max_bytes": 1073741824}},
    "shuffle"
  ]
}
`
	f = recipe.File{Recipe: recipe.Recipe{Steps: []recipe.Step{{Args: &input.Files{Pattern: "data/*.jpg"}}, {Op: "shuffle"}}}}
	if diff := cmp.Diff(wantJSON, string(f.JSON())); diff != "" {
		t.Error(diff)
	}
	if got := string(recipe.Recipe{}.YAML()); got != "headrace: 1\nseed: 0\nsteps: []\n" {
		t.Errorf("an empty recipe is %q", got)
	}
}

// A file without what it should have would be worse than none.
func TestWhatCannotBeWritten(t *testing.T) {
	r := recipe.Recipe{Steps: []recipe.Step{{Args: &image.RandomFlip{P: new(math.NaN())}}}}
	if got := r.YAML(); got != nil {
		t.Errorf("NaN was written: %s", got)
	}
	if _, err := json.Marshal(r); err == nil || !strings.Contains(err.Error(), `step "random_flip" (#1)`) {
		t.Errorf("NaN: %v", err)
	}
}
