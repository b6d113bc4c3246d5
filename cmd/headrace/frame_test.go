package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/store/storetest"
)

// Wrong use ends with 2, and each mistake has a line of its own.
func TestMistakesInTheCommandLine(t *testing.T) {
	folder := t.TempDir()
	recipeIn(t, folder, `headrace: 1
vars: {root: "."}
steps:
  - files: {pattern: "${root}", label: sibling}
  - decode_imag
  - resize: {size: big}
  - batch: {size: 0}
`)
	os.WriteFile(filepath.Join(folder, "checked.yaml"), []byte(`headrace: 1
steps:
  - files: {pattern: .}
  - decode_image
  - batch: {size: 4}
loader:
  workers: 1000
  prefetch: -1
`), 0o644)
	os.Symlink(filepath.Join(phototest.Folder(t, 2), "class0", "000.jpg"), filepath.Join(folder, "photo.jpg"))
	os.WriteFile(filepath.Join(folder, "good.yaml"), []byte("headrace: 1\nsteps: [{files: {pattern: .}}, decode_image, {center_crop: {size: 8}}, {batch: {size: 4}}]\n"), 0o644)
	os.WriteFile(filepath.Join(folder, "few.yaml"), []byte("headrace: 1\nsteps: [{files: {pattern: photo.jpg}}, decode_image, {center_crop: {size: 8}}, {batch: {size: 4, drop_last: true}}]\n"), 0o644)
	for _, c := range []struct {
		args string
		want []string // one a line
	}{
		{"walk", []string{`headrace: unknown command "walk" for "headrace"`, "headrace --help tells more"}},
		{"run", []string{"headrace: give a recipe: the name of a file, or - for standard input", "headrace run --help tells more"}},
		{"bench", []string{"headrace: give a recipe: the name of a file"}},
		{"convert good.yaml good.yaml", []string{"headrace: give one recipe, not"}},
		{"inspect", []string{"headrace: give a recipe: the name of a file"}},
		{"preview -o a.png", []string{"headrace: give a recipe: the name of a file"}},
		{"run good.yaml size=3", []string{`headrace: give one recipe, not ["good.yaml" "size=3"]; set variables with --set`}},
		{"run good.yaml --speed 3", []string{"headrace: unknown flag: --speed"}},
		{"run none.yaml", []string{"headrace: the recipe none.yaml cannot be read: no such file or directory"}},
		{"run good.yaml --set size", []string{`headrace: --set is "size": must be name=value`}},
		{"run good.yaml --set size=3", []string{"good.yaml:1:1: "}},
		{"run good.yaml --epochs -1 --workers 1000 --on-error ignore", []string{"headrace: epochs is -1: must be", "headrace: workers is 1000: must be", `headrace: on_error is "ignore": must be`}},
		{"run good.yaml --max-errors few", []string{`headrace: --max-errors is "few": must be a whole number of samples or a rate like 0.01`}},
		{"run good.yaml --memory much", []string{`headrace: invalid argument "much" for "--memory" flag: must be a number of bytes, at least 1, such as`}},
		{"run good.yaml --memory 10", []string{"headrace: configuration does not fit: memory is 10 bytes"}},
		{"run r.yaml", []string{`r.yaml:5:5: step "decode_imag" (#2): `, `r.yaml:6:20: step "resize" (#3): size is "big": `}},
		{"run checked.yaml --epochs -1", []string{`checked.yaml:5:5: step "batch" (#3): `, "checked.yaml:7:12: ", "checked.yaml:8:13: "}},
		{"run good.yaml --out out", []string{`headrace: --out is "out": must be tar:PATTERN, such as tar:out/train-%06d.tar, or npy:FOLDER`}},
		{"run good.yaml --shard-size 1GB", []string{"headrace: --shard-size has no meaning without --out"}},
		{"run good.yaml --out npy:x --images png", []string{"headrace: --images has no meaning with --out npy"}},
		{"run good.yaml --out npy:x --checkpoint -1s", []string{"headrace: --checkpoint is -1s: must be a duration such as 5s"}},
		{"run good.yaml --out npy:x --order completion", []string{"headrace: --out with the order completion"}},
		{"run few.yaml", []string{"headrace: configuration does not fit: an epoch of 1 sample has no batch of 4: use a smaller batch, or drop_last=false"}},
		{"serve", []string{`headrace: required flag(s) "fd" not set`}},
	} {
		got := invoke(t, folder, strings.Fields(c.args)...)
		lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
		if got.code != exitUsage || got.stdout != "" || len(lines) < len(c.want) {
			t.Errorf("%s: exit code %d, stdout %q, stderr:\n%s", c.args, got.code, got.stdout, got.stderr)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains("\n"+got.stderr, "\n"+want) {
				t.Errorf("%s: no line begins with %q:\n%s", c.args, want, got.stderr)
			}
		}
	}
}

func TestExitCodes(t *testing.T) {
	mistake := &recipe.Error{Err: errors.New("is wrong")}
	ran := func(err error) error { return &commandError{err} }
	for _, c := range []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""},
		{errors.New("unknown flag"), 2, "headrace: unknown flag\n"},
		{ran(errors.New("disk")), 1, "headrace: disk\n"},
		{ran(fmt.Errorf("headrace: %w", errors.New("disk"))), 1, "headrace: disk\n"},
		{ran(errors.Join(errors.New("one"), fmt.Errorf("deep: %w", errors.Join(errors.New("two"), errors.New("three"))))), 1, "headrace: one\nheadrace: deep: two\nthree\n"},
		{ran(errors.Join(errors.Join(errors.New("one"), errors.New("two")), errors.New("three"))), 1, "headrace: one\nheadrace: two\nheadrace: three\n"},
		{ran(fmt.Errorf("%w and %w", errors.New("one"), errors.New("two"))), 1, "headrace: one and two\n"},
		{ran(mistake), 2, "headrace: recipe: is wrong\n"},
		{ran(&recipe.Error{Position: recipe.Position{File: "a b.yaml", Line: 3, Column: 7}, Err: errors.New("is wrong")}), 2, "a b.yaml:3:7: is wrong\n"},
		{ran(fmt.Errorf("around: %w", mistake)), 2, "headrace: around: recipe: is wrong\n"},
		{ran(wrongUse(errors.Join(errors.New("one"), errors.New("two")))), 2, "headrace: one\nheadrace: two\n"},
		{ran(&codeError{3, nil}), 3, ""},
		{ran(&codeError{130, errors.New("interrupted")}), 130, "headrace: interrupted\n"},
	} {
		var b strings.Builder
		report(&b, c.err)
		if code := exitCode(c.err); code != c.code || b.String() != c.text {
			t.Errorf("%v: exit code %d, %q", c.err, code, b.String())
		}
	}
	if wrongUse(nil) != nil {
		t.Error("no error is no wrong use")
	}
}

func TestLocated(t *testing.T) {
	for text, want := range map[string]bool{
		"r.yaml:1:2: x": true, "a/b c.yaml:10:20: x": true, "r.yaml: x:1:2:": false, "1:2": false, "": false, "r.yaml:1: x": false, "x::1:2: y": true,
	} {
		if located(text) != want {
			t.Errorf("%q", text)
		}
	}
}

// Every line of every example is run as it is, on real files, in a folder where it
// makes sense.
func TestExamplesOfCommands(t *testing.T) {
	folder := t.TempDir()
	os.MkdirAll(filepath.Join(folder, "data"), 0o755)
	for _, name := range []string{"train", "val"} {
		os.Symlink(phototest.Folder(t, 20), filepath.Join(folder, "data", name))
	}
	programs := filepath.Join(folder, "bin")
	os.Mkdir(programs, 0o755)
	os.Symlink(programWithC(t), filepath.Join(programs, "headrace"))
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	root := rootCommand()
	for _, c := range append(root.Commands(), root) {
		if slices.Contains([]string{"bench", "explain"}, c.Name()) || c.Hidden { // they take their seconds, and have tests of their own
			continue
		}
		t.Run(c.Name(), func(t *testing.T) {
			if c.Example == "" {
				t.Error("its help has no example")
			}
			runExamples(t, c, folder)
		})
	}
}

func runExamples(t *testing.T, c *cobra.Command, folder string) {
	text := `headrace: 1
vars: {root: data/train}
steps:
  - files: {pattern: "${root}/*/*.jpg", label: parent}
  - shuffle
  - decode_image
  - random_resized_crop: {size: 16}
  - batch: {size: 8}
`
	for _, name := range []string{"recipe.yaml", "train.yaml", "recipes/train.yaml"} {
		os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755)
		os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644)
	}
	if c.Name() == "inspect" || c.Name() == "index" {
		writeShard(t, filepath.Join(folder, "val-000.tar"))
		for i := range 130 {
			writeShard(t, filepath.Join(folder, fmt.Sprintf("train-%03d.tar", i)))
		}
	}
	if c.Name() == "convert" {
		out := invoke(t, folder, "convert", "recipe.yaml")
		os.WriteFile(filepath.Join(folder, "recipe.json"), []byte(out.stdout), 0o644)
	}
	if c.Name() == "index" {
		filmsIn(t, filepath.Join(folder, "films", "cat"), "bpyr.mkv")
	}
	if c.Name() == "doctor" {
		s := &storetest.Server{}
		s.Set("bucket/train", []byte("an object"))
		server := httptest.NewServer(s)
		t.Cleanup(server.Close)
		t.Setenv("AWS_ENDPOINT_URL", server.URL)
		t.Setenv("AWS_NO_SIGN_REQUEST", "yes")
	}
	if c.Name() == "replay" || c.Name() == "inspect" {
		saveExampleStates(t, folder)
	}
	if c.Name() == "top" || !c.HasParent() {
		runLoader(t, folder)
	}
	for line := range strings.Lines(c.Example) {
		line = strings.TrimSpace(strings.ReplaceAll(line, "/data/", "data/"))
		if line, _, _ = strings.Cut(line, " | jq"); !strings.HasPrefix(line, "headrace ") {
			continue
		}
		shell := exec.Command("sh", "-c", line)
		shell.Dir = folder
		if out, err := shell.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
}

// runLoader runs a loader called train, which headrace top sees, until the test ends.
func runLoader(t *testing.T, folder string) {
	t.Helper()
	c := exec.Command("headrace", "run", "train.yaml", "--page", "--epochs", "1000000000", "--quiet")
	c.Dir = folder
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	var out []byte
	for range 100 {
		var err error
		if out, err = exec.Command("headrace", "top", "train", "--once").CombinedOutput(); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("headrace top does not see it: %s", out)
}

// writeShard writes a tar file with one sample.
func writeShard(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := tar.NewWriter(f)
	w.WriteHeader(&tar.Header{Name: "one.txt", Size: 1, Mode: 0o644})
	w.Write([]byte("1"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// saveExampleStates writes the states that the examples of replay go on from.
func saveExampleStates(t *testing.T, folder string) {
	text, err := os.ReadFile(filepath.Join(folder, "recipe.yaml"))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "r.yaml"), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, one := trained(t, folder, headrace.Config{}, 1)
	saveJSON(t, filepath.Join(folder, "step-1200.json"), one[1])
	var all []headrace.State
	for rank := range 2 {
		_, states := trained(t, folder, headrace.Config{WorldSize: 2, Rank: rank}, 1)
		all = append(all, states[1])
	}
	saveJSON(t, filepath.Join(folder, "all-ranks.json"), all)
}

// Shells complete recipes, variables and what a flag takes.
func TestCompletion(t *testing.T) {
	folder := t.TempDir()
	recipeIn(t, folder, "headrace: 1\nvars: {root: null, size: 3}\nsteps: []\n")
	for _, c := range []struct {
		typed []string
		want  string
	}{
		{[]string{"run", ""}, "yaml\nyml\njson\n:8\n"},
		{[]string{"run", "r.yaml", ""}, ":4\n"},
		{[]string{"run", "r.yaml", "--set", ""}, "root=\nsize=\n:6\n"},
		{[]string{"run", "r.yaml", "--set", "root=da"}, ":0\n"},
		{[]string{"run", "--set", ""}, ":0\n"},
		{[]string{"run", "none.yaml", "--set", ""}, ":6\n"},
		{[]string{"run", "r.yaml", "--on-error", ""}, "raise\nskip\nreplace\n:4\n"},
		{[]string{"run", "r.yaml", "--order", ""}, "input\ncompletion\n:4\n"},
		{[]string{"run", "r.yaml", "--out", ""}, "arrow:\nbin:\njsonl:\nparquet:\ntar:\ntfrecord:\nnpy:\n:6\n"},
		{[]string{"run", "r.yaml", "--images", ""}, "npy\npng\njpg\nwebp\n:4\n"},
	} {
		got := invoke(t, folder, append([]string{"__complete"}, c.typed...)...)
		if diff := cmp.Diff(c.want, got.stdout); diff != "" {
			t.Errorf("%q:\n%s", c.typed, diff)
		}
	}
	if got := invoke(t, folder, "completion", "bash"); got.code != 0 || !strings.Contains(got.stdout, "__start_headrace") {
		t.Errorf("%+v", got)
	}
}
