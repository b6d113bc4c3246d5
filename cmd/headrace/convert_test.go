package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/recipe"

	"github.com/google/go-cmp/cmp"
)

const convertible = `headrace: 1
vars: {root: null, size: 8}
steps:
  - files: {pattern: "${root}/*.jpg"}
  - decode_image: {mode: "$${x}"}
  - center_crop: {size: "${size}"}
loader: {epochs: 2, memory: 1 GiB}
`

func TestConvert(t *testing.T) {
	folder := t.TempDir()
	recipeIn(t, folder, strings.Replace(convertible, `"$${x}"`, "fast", 1))
	const decoded = `{"field": "bytes", "to": "image", "mode": "fast", "orient": true, "color": "rgb", "dtype": "uint8"}`
	wantJSON := `{
  "headrace": 1,
  "seed": 0,
  "steps": [
    {"files": {"pattern": "data/*.jpg", "max_bytes": 1073741824}},
    {"decode_image": ` + decoded + `},
    {"center_crop": {"size": 9}}
  ],
  "loader": {"epochs": 2, "memory": "1 GiB"}
}
`
	wantYAML := `headrace: 1
seed: 0
steps:
  - files: {pattern: "data/*.jpg", max_bytes: 1073741824}
  - decode_image: ` + strings.ReplaceAll(decoded, `"`, "") + `
  - center_crop: {size: 9}
loader: {epochs: 2, memory: "1 GiB"}
`
	given := []string{"--set", "root=data", "-s", "size=9"}
	for _, c := range []struct {
		args []string
		want string
	}{
		{append(given, "r.yaml"), wantJSON},
		{append(given, "--to", "json", "r.yaml"), wantJSON},
		{append(given, "--to", "yaml", "r.yaml"), wantYAML},
	} {
		got := invoke(t, folder, append([]string{"convert"}, c.args...)...)
		if diff := cmp.Diff(outcome{stdout: c.want}, got, cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("%v: %s", c.args, diff)
		}
	}

	// And back, from standard input; JSON becomes YAML.
	c := exec.Command(program(t), "convert", "-")
	c.Stdin = strings.NewReader(wantJSON)
	if out, err := c.Output(); err != nil || string(out) != wantYAML {
		t.Errorf("%v\n%s", err, cmp.Diff(wantYAML, string(out)))
	}

	// The environment has values, too.
	c = exec.Command(program(t), "convert", "--to=yaml", "r.yaml")
	c.Dir, c.Env = folder, append(os.Environ(), "root=elsewhere")
	if out, err := c.Output(); err != nil || !strings.Contains(string(out), `"elsewhere/*.jpg"`) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestConvertRefuses(t *testing.T) {
	folder := t.TempDir()
	recipeIn(t, folder, convertible)
	var list strings.Builder
	for range 40_000 {
		list.WriteString(`"data/train/n01440764/n01440764_10026.JPEG",`)
	}
	long := `{"headrace": 1, "steps": [{"files": {"paths": [` + list.String() + `"x"]}}]}`
	if err := os.WriteFile(filepath.Join(folder, "long.json"), []byte(long), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"r.yaml"}, 2, "r.yaml:2:14: vars.root has no value: give it by --set root=…, in Python by root=…, or in the environment\n"},
		{[]string{"r.yaml", "--set", "root=d", "--set", "siz=3"}, 2, `r.yaml:2:7: vars declares no variable "siz" that could be given: did you mean "size"? it declares root, size` + "\n"},
		{[]string{"r.yaml", "--set", "root=d"}, 2, `r.yaml:5:26: step "decode_image" (#2): mode is "${x}": must be "exact" or "fast"` + "\n"},
		{[]string{"r.yaml", "--to", "toml"}, 2, `headrace: --to is "toml": must be yaml or json` + "\n"},
		{[]string{"none.yaml"}, 2, "headrace: the recipe none.yaml cannot be read: no such file or directory\n"},
		{[]string{"long.json"}, 2, "headrace: the recipe would be 2080091 bytes of YAML, more than the 1048576 that are read again: use --to json\n"},
		{nil, 2, "headrace: "},
	} {
		got := invoke(t, folder, append([]string{"convert"}, c.args...)...)
		if got.code != c.code || got.stdout != "" || !strings.HasPrefix(got.stderr, c.want) {
			t.Errorf("%v: %+v\nwant %d, %s", c.args, got, c.code, c.want)
		}
	}
	if got := invoke(t, folder, "convert", "--to", "json", "long.json"); got.code != 0 || len(got.stdout) < len(long) {
		t.Errorf("a long list in JSON: %d, %d bytes, %s", got.code, len(got.stdout), got.stderr)
	}
}

func TestSchema(t *testing.T) {
	got := invoke(t, t.TempDir(), "schema")
	if got.code != 0 || got.stderr != "" || got.stdout != string(recipe.Schema(headrace.ConfigSchema())) {
		t.Errorf("%d, %s, %.200s", got.code, got.stderr, got.stdout)
	}
	var schema map[string]any
	if err := json.Unmarshal([]byte(got.stdout), &schema); err != nil || schema["$schema"] != "https://json-schema.org/draft/2020-12/schema" {
		t.Errorf("%v, %v", err, schema["$schema"])
	}
	if got := invoke(t, t.TempDir(), "schema", "x"); got.code != 2 {
		t.Errorf("%+v", got)
	}
}
