package recipe_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/headrace/headrace/recipe"
)

func TestHostileYAML(t *testing.T) {
	var deep strings.Builder
	for i := range 1000 {
		deep.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	if _, err := recipe.Read("r", []byte(deep.String()), recipe.Variables{}); err == nil {
		t.Error("no recipe was read")
	}
}

func TestHostileJSON(t *testing.T) {
	for _, text := range []string{strings.Repeat("[", 200_000), strings.Repeat(`{"a":`, 200_000), `{"headrace":1,"steps":[` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `]}`} {
		if _, err := recipe.Read("r", []byte(text), recipe.Variables{}); err == nil || len(err.Error()) > 1000 {
			t.Errorf("%.10s…: %.200v", text, err)
		}
	}
	// A long list, all of it wrong.
	_, err := recipe.Read("r", []byte(`{"headrace":1,"steps":[{"files":{"paths":[`+strings.Repeat("3,", 200_000)+`3]}}]}`), recipe.Variables{})
	if err == nil || !strings.HasSuffix(err.Error(), "r:1:1: has 199951 mistakes more") {
		t.Errorf("%.200v", err)
	}
}

func FuzzRead(f *testing.F) {
	for _, doc := range []string{
		"headrace: 1\nvars: {a: 1, b: \"${a}x\"}\nseed: 3\nsteps:\n  - files: {pattern: \"${b}/*\", root: /}\n  - shuffle\n  - decode_image:\n  - {resize: {size: [3, \"${a}\"]}, name: r}\n  - batch: {size: 4}\nloader: {epochs: \"${a}\"}\n",
		"headrace: 1\nvars: {a: 1}\nsteps:\n  - merge:\n      of:\n        - - files: {pattern: a}\n            failures: {retries: \"${a}\"}\n        - [files: {pattern: \"${a}\"}]\n      until: \"${a}\"\n" +
			"  - route: {by: key, branches: [{when: [\"${a}\", 2], steps: [decode_image]}, {steps: [shuffle, {merge: {of: [[files]]}}]}]}\n    name: r\n",
		`{"headrace": 1, "steps": [{"files": {"paths": ["a", "\udcff", "$${x}"]}}, "decode_image"]}`,
		"headrace: 1\nsteps: [resise, {a: b}, 3, {resize: {siz: 3}}]\n",
		"headrace: 1\nsteps:\n- files:\n    pattern: >-\n      a\n      b\n- rotate90: {turns: +.5}\n",
		`{"headrace": 1, "steps": [{"files": {"paths": ["a"], "columns": ` +
			`{"boxes": {"shape": [null, 2305843009213693952], "int64": [[1]]}}}}]}`,
		`{"headrace": 1, "steps": [{"files": {"paths": [], "columns": ` +
			`{"boxes": {"shape": [null, 3000000000], "int64": []}}}}]}`,
		"{a: b: c", "%", "---\n...", "\"\\udcff", "a: |\n\tb", "- - - [", "&a *a", "key: !!x 1", "? a", "'", "# x", "\ufeff", "a:\r\n  b: \r",
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		file, err := recipe.Read("r", doc, recipe.Variables{Given: map[string]string{}, Environment: func(name string) (string, bool) { return "7", name == "e" }})
		if err != nil {
			for _, e := range flat(err) {
				if m := (*recipe.Error)(nil); !errors.As(e, &m) || m.File != "r" || m.Line < 1 || m.Column < 1 {
					t.Fatalf("%q: a mistake without a place: %#v", doc, e)
				}
			}
			return
		}
		if _, err := file.Check(); err != nil {
			for _, e := range flat(err) {
				if m := (*recipe.Error)(nil); !errors.As(e, &m) || m.Line < 1 {
					t.Fatalf("%q: a mistake without a place: %#v", doc, e)
				}
			}
		}
		for _, text := range [][]byte{file.YAML(), file.JSON()} {
			again, err := recipe.Read("again", text, recipe.Variables{})
			if err != nil || again.Recipe.Fingerprint() != file.Recipe.Fingerprint() || string(again.YAML()) != string(file.YAML()) {
				t.Fatalf("%q was written as\n%s\nwhich is read as\n%s%v", doc, text, again.YAML(), err)
			}
		}
	})
}

func flat(err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return many.Unwrap()
	}
	return []error{err}
}
