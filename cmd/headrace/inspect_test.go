package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace/internal/phototest"
)

var rewrite = flag.Bool("rewrite", false, "write the expected texts again")

// outcome is what a command said and how it ended.
type outcome struct {
	stdout, stderr string
	code           int
}

// invoke runs the command in a folder.
func invoke(t *testing.T, folder string, args ...string) outcome {
	t.Helper()
	var out, words bytes.Buffer
	c := exec.Command(program(t), args...)
	c.Dir, c.Stdout, c.Stderr = folder, &out, &words
	c.Env = append(os.Environ(), "HEADRACE_TEST_SIDE=9")
	if err := c.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return outcome{out.String(), words.String(), c.ProcessState.ExitCode()}
}

// golden compares a text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *rewrite {
		os.MkdirAll("testdata", 0o755)
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (go test -rewrite, then read the diff):\n%s", file, diff)
	}
}

// recipeIn writes a recipe into a folder.
func recipeIn(t *testing.T, folder, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, "r.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The machine's own numbers do not belong into a text that is compared.
const fixed = "loader: {workers: 2, memory: 200000000, hold_limit: 300000000"

const training = `headrace: 1
vars:
  root: "."
  HEADRACE_TEST_SIDE: 16
  p: null
seed: 3
steps:
  - files: {pattern: "${root}/class*/*.jpg", label: parent}
  - shuffle
  - decode_image
  - random_resized_crop: {size: "${HEADRACE_TEST_SIDE}"}
  - {random_flip: {p: "${p}"}, name: flip}
  - normalize: {mean: 0.5, std: 0.5}
  - layout: {layout: NCHW}
  - batch: {size: 4}
` + fixed + `, epochs: 2, on_error: skip}
`

// branching holds steps in steps.
const branching = `headrace: 1
steps:
  - merge:
      of:
        - - files: {pattern: class0, label: parent}
          - shuffle
          - decode_image
        - - files: {pattern: class1, label: parent}
            failures: {retries: 2}
          - decode_image: {mode: fast}
            failures: {on_error: replace, max_errors: 0.5}
      until: longest
  - route:
      by: key
      branches:
        - when: ["**/*0.jpg", "**/*1.jpg"]
          steps:
            - random_crop: {size: 20}
            - route: {by: label, branches: [{when: [0, 7], steps: [random_flip]}, {steps: []}]}
        - steps: [{center_crop: {size: 20}}, random_flip]
    failures: {on_error: skip}
  - normalize: {mean: 0.5, std: 0.5}
  - batch: {size: 4}
` + fixed + `}
`

func TestInspectDraws(t *testing.T) {
	root := phototest.Folder(t, 21)
	phototest.Spoil(t, root, "013.jpg")
	const endless = "headrace: 1\nsteps:\n  - files: {pattern: class1}\n  - decode_image\n  - center_crop: {size: 20}\n"
	const plain = endless + "  - batch: {size: 4, drop_last: true}\n"
	for name, c := range map[string]struct {
		recipe string
		args   []string
		code   int
		words  string // on standard error
	}{
		"training": {training, []string{"--set", "p=0.25", "--samples", "8"}, 0, `^$`},
		"mermaid":  {training, []string{"--set", "p=0.25", "--mermaid"}, 0, `^$`},
		"unfused":  {training, []string{"--set", "p=0.25", "--fuse=false", "--samples", "0", "--on-error", "raise"}, 0, `^$`},
		"plain":    {plain + fixed + ", epochs: 1}\n", []string{"--samples", "2"}, 0, `^$`},
		"nowhere":  {training, []string{"--set", "p=0.25", "--set", "root=nowhere"}, 1, `^headrace: source: .*"nowhere`},
		"tree":     {branching, []string{"--samples", "4"}, 0, `^$`},
		"treemaid": {branching, []string{"--mermaid"}, 0, `^$`},
		"grouped":  {strings.Replace(endless, "center_crop: {size: 20}", "resize_to_bucket: {sizes: [[20, 30], [30, 20]]}", 1) + "  - batch: {size: 4}\n" + fixed + ", epochs: 1}\n", []string{"--samples", "1"}, 0, `^$`},
		"treeless": {strings.Replace(branching, "class1", "nowhere", 1), nil, 1, `^headrace: source: .*"nowhere`},
		"endless":  {endless + fixed + ", epochs: 1}\n", []string{"--samples", "0"}, 0, `^$`},
	} {
		t.Run(name, func(t *testing.T) {
			recipeIn(t, root, c.recipe)
			got := invoke(t, root, append([]string{"inspect", "r.yaml"}, c.args...)...)
			if got.code != c.code || !regexp.MustCompile(c.words).MatchString(got.stderr) {
				t.Errorf("exit code %d, and the last words are %q", got.code, got.stderr)
			}
			golden(t, "inspect-"+name+".txt", got.stdout)
		})
	}
}

// What cannot be drawn is reported, where it is, and nothing else is.
func TestInspectRefuses(t *testing.T) {
	root := phototest.Folder(t, 2)
	for _, c := range []struct {
		edit, to string
		args     []string
		code     int
		words    string
	}{
		{"shuffle", "shufle", nil, 2, `^r.yaml:9:5: step "shufle" \(#2\): there is no operation "shufle": did you mean "shuffle"\?\n {4}9 \|   - shufle\n {6}\|     \^{6}\n$`},
		{"size: 4}", "size: four}", nil, 2, `^r.yaml:15:19: step "batch" \(#8\): size is "four": must be a whole number\n   15 \|   - batch: {size: four}\n {6}\| {19}\^{4}\n$`},
		{"epochs: 2", "epochs: -2", nil, 2, `epochs is -2`},
		{"", "", []string{"--samples=-1"}, 2, `^headrace: --samples is -1: must be at least 0\n$`},
		{"", "", []string{"--samples=many"}, 2, `^headrace: invalid argument "many"`},
		{"", "", []string{"--json", "--mermaid"}, 2, `^headrace: .*\[json mermaid\]`},
		{"", "", []string{"--memory", "2KB"}, 2, `^headrace: .*memory is 2000 bytes, and one batch of 4 rows takes \d+: raise memory`},
		{"", "", []string{"--set", "roots=."}, 2, `roots.*root`},
	} {
		recipeIn(t, root, strings.Replace(training, c.edit, c.to, 1))
		got := invoke(t, root, append([]string{"inspect", "r.yaml", "--set", "p=0.25"}, c.args...)...)
		if got.code != c.code || !regexp.MustCompile(c.words).MatchString(got.stderr) {
			t.Errorf("%q for %q, %v: exit code %d, %q", c.to, c.edit, c.args, got.code, got.stderr)
		}
		if drawn := strings.Contains(got.stdout, "▼"); drawn != (len(c.args) > 0 && c.args[0] == "--memory") {
			t.Errorf("%q for %q, %v: it printed\n%s", c.to, c.edit, c.args, got.stdout)
		}
	}
	if got := invoke(t, root, "inspect", "missing.yaml"); got.code != 2 || !strings.Contains(got.stderr, "missing.yaml") {
		t.Errorf("%+v", got)
	}
}

// document is what inspect --json says, read by somebody else.
type document struct {
	Recipe    map[string]any
	Variables []struct{ Name, Value, From string }
	Steps     []struct {
		Name, Op, Text, Stage string
		From                  []string
		Out                   []struct {
			Name, Kind, DType string
			Shape             []int
		}
	}
	Engine *struct {
		Stages []struct {
			Name    string
			Steps   []string
			Workers int
		}
		Samples         int
		SamplesPerEpoch int `json:"samples_per_epoch"`
		BatchesPerEpoch int `json:"batches_per_epoch"`
		Classes         []string
		Rows            int
		SampleBytes     int `json:"sample_bytes"`
		BatchBytes      int `json:"batch_bytes"`
		Slots           int
		Workers         int
		Memory          int
		Epochs          int
	}
	Samples []struct {
		Key, Class, Format, Stage, Error string
		Label                            *int
		Bytes, Width, Height             int
		Values                           []struct {
			Name, DType    string
			Shape          []int
			Min, Max, Mean float64
		}
	}
}

func inspectJSON(t *testing.T, folder string, args ...string) (d document) {
	t.Helper()
	got := invoke(t, folder, append([]string{"inspect", "r.yaml", "--json"}, args...)...)
	if got.code != 0 {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	if err := json.Unmarshal([]byte(got.stdout), &d); err != nil {
		t.Fatalf("%v:\n%s", err, got.stdout)
	}
	return d
}

// Numbers are compared with what the file system and Go's own decoder say.
func TestInspectJSON(t *testing.T) {
	const photographs = 21
	root := phototest.Folder(t, photographs)
	phototest.Spoil(t, root, "005.jpg")
	recipeIn(t, root, training)
	d := inspectJSON(t, root, "--set", "p=0.25", "--samples", "100")

	e := d.Engine
	if e.Samples != photographs || e.SamplesPerEpoch != photographs || e.BatchesPerEpoch != 6 || e.Rows != 4 || e.Epochs != 2 || e.Workers != 2 || e.Memory != 200000000 {
		t.Errorf("the engine is %+v", *e)
	}
	if row := 9*9*3*4 + 8; e.SampleBytes != row || e.BatchBytes < 4*row || e.BatchBytes > 4*row+2*64 {
		t.Errorf("a sample takes %d bytes, a batch %d", e.SampleBytes, e.BatchBytes)
	}
	if !slices.Equal(e.Classes, []string{"class0", "class1"}) {
		t.Errorf("the classes are %q", e.Classes)
	}
	var carried []string
	for _, s := range e.Stages {
		carried = append(carried, s.Steps...)
	}
	var names []string
	for _, s := range d.Steps {
		names = append(names, s.Name)
	}
	if want := "files shuffle decode_image random_resized_crop flip normalize layout batch"; strings.Join(names, " ") != want || !slices.Equal(carried, names) {
		t.Errorf("the steps are %q, the stages carry out %q", names, carried)
	}
	if out := d.Steps[2].Out[0]; out.Name != "image" || out.DType != "uint8" || !slices.Equal(out.Shape, []int{-1, -1, 3}) {
		t.Errorf("decoding gives %+v", out)
	}
	if v := d.Variables; len(v) != 3 || v[0].From != "default" || v[1].From != "environment" || v[1].Value != "9" || v[2].From != "given" || v[2].Value != "0.25" {
		t.Errorf("the variables are %+v", v)
	}

	if len(d.Samples) != photographs {
		t.Fatalf("%d samples", len(d.Samples))
	}
	seen := map[string]bool{}
	for _, s := range d.Samples {
		seen[s.Key] = true
		data, err := os.ReadFile(filepath.Join(root, s.Key))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(s.Key, "005.jpg") {
			if s.Error == "" || s.Stage == "" || s.Values != nil || s.Bytes != len(data) || strings.Contains(s.Error, s.Key) {
				t.Errorf("the spoilt one is %+v", s)
			}
			continue
		}
		size, format, err := image.DecodeConfig(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if s.Bytes != len(data) || s.Format != format || s.Width != size.Width || s.Height != size.Height {
			t.Errorf("%s: %+v, and it is a %s of %d×%d in %d bytes", s.Key, s, format, size.Width, size.Height, len(data))
		}
		if s.Error != "" || s.Class != filepath.Dir(s.Key) || fmt.Sprint("class", *s.Label) != s.Class {
			t.Errorf("%s: %+v", s.Key, s)
		}
		if v := s.Values[0]; len(s.Values) != 1 || v.Name != "image" || v.DType != "float32" || !slices.Equal(v.Shape, []int{3, 9, 9}) || v.Min < -1 || v.Max > 1 || v.Mean < v.Min || v.Mean > v.Max {
			t.Errorf("%s: its values are %+v", s.Key, s.Values)
		}
	}
	if len(seen) != photographs {
		t.Errorf("%d different samples", len(seen))
	}
}

// Steps say what they read, also across merges and branches. A sample that fails is
// told of in its turn, whatever its step would do.
func TestInspectTrees(t *testing.T) {
	root := phototest.Folder(t, 21)
	phototest.Spoil(t, root, "005.jpg")
	recipeIn(t, root, branching)
	d := inspectJSON(t, root, "--samples", "100")
	reads := map[string][]string{}
	for _, s := range d.Steps {
		reads[s.Name] = s.From
	}
	want := map[string][]string{
		"merge": {"decode_image", "decode_image_2"}, "files": {}, "shuffle": {"files"}, "decode_image": {"shuffle"}, "files_2": {}, "decode_image_2": {"files_2"},
		"route": {"merge"}, "random_crop": {"route"}, "route_2": {"random_crop"}, "random_flip": {"route_2"}, "center_crop": {"route"}, "random_flip_2": {"center_crop"},
		"normalize": {"random_flip", "route_2", "random_flip_2"}, "batch": {"normalize"},
	}
	if diff := cmp.Diff(want, reads); diff != "" {
		t.Error(diff)
	}
	var second []string
	for _, s := range d.Samples {
		if filepath.Dir(s.Key) == "class1" {
			second = append(second, s.Key)
		}
		if failed := strings.HasSuffix(s.Key, "005.jpg"); failed != (s.Error != "") || failed != (s.Stage == "decode_image_2") || s.Bytes == 0 {
			t.Errorf("%+v", s)
		}
	}
	if len(d.Samples) != 21 || len(second) != 10 || !slices.IsSorted(second) {
		t.Errorf("%d samples, and of the source that is not shuffled %q", len(d.Samples), second)
	}
}

// An image of one colour has known numbers, in every type; a label, which is no
// double, has all its digits.
func TestInspectSeesNumbers(t *testing.T) {
	root := t.TempDir()
	m := image.NewRGBA(image.Rect(0, 0, 3, 2))
	for i := range 6 {
		m.Set(i%3, i/3, color.RGBA{0, 51, 255, 255})
	}
	var file bytes.Buffer
	if err := png.Encode(&file, m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "a.png"), file.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	const recipe = "headrace: 1\nsteps: [{files: {pairs: [[a.png, -9007199254740993]]}}, {decode_image: {dtype: %s}}, {center_crop: {size: [2, 3]}}%s, {batch: {size: 1}}]\n"
	for _, c := range []struct {
		decoded, more string
		want          [3]float64
	}{
		{"uint8", "", [3]float64{0, 255, 102}},
		{"uint16", "", [3]float64{0, 65535, 26214}},
		{"uint8", ", {normalize: {mean: 0.5, std: 0.5}}", [3]float64{-1, 1, -0.2}},
		{"uint8", ", {normalize: {mean: 0.5, std: 0.5, dtype: float16}}", [3]float64{-1, 1, -0.2}},
		{"uint8", ", {normalize: {mean: 0.5, std: 0.5, dtype: bfloat16}}", [3]float64{-1, 1, -0.2}},
	} {
		recipeIn(t, root, fmt.Sprintf(recipe, c.decoded, c.more))
		s := inspectJSON(t, root).Samples
		if len(s) != 1 || *s[0].Label != -9007199254740993 || s[0].Class != "" {
			t.Fatalf("%+v", s)
		}
		v := s[0].Values[0]
		for i, got := range []float64{v.Min, v.Max, v.Mean} {
			if got < c.want[i]-0.001 || got > c.want[i]+0.001 {
				t.Errorf("%s%s: %+v, want %v", c.decoded, c.more, v, c.want)
				break
			}
		}
	}
}

// Names of files come from anywhere: none of them commands the terminal.
func TestInspectShowsOddNames(t *testing.T) {
	root := t.TempDir()
	photo := phototest.Folder(t, 1)
	for i, name := range []string{"\x1b[31mred", "two\nlines", "broken\xff", "größe", "\u202eright"} {
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(photo, "class0", "000.jpg"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.jpg", i)), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	recipeIn(t, root, "headrace: 1\nsteps: [{files: {pattern: '*/*.jpg', label: parent}}, decode_image, {center_crop: {size: 9}}, {batch: {size: 1}}]\n"+fixed+"}\n")
	got := invoke(t, root, "inspect", "r.yaml")
	if got.code != 0 {
		t.Fatal(got.stderr)
	}
	golden(t, "inspect-odd.txt", got.stdout)
	for _, odd := range []string{"\x1b", "\xff", "\u202e"} {
		if strings.Contains(got.stdout, odd) {
			t.Errorf("%q", got.stdout)
		}
	}
}
