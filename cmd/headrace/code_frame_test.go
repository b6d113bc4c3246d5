package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headrace/headrace/recipe"
)

func TestCodeFrames(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	long := "  - files: {paths: [" + strings.Repeat("aaaaaaaa.jpg, ", 20) + "b.jpg], lable: parent, root: data}"
	path := write("r.yaml", "headrace: 1\n\t- resize: {size: big, \"filter\": 'a b'}\n"+long+"\n  - é: ünd:x\x1b[2J\n  - [a]\n")
	for _, c := range []struct {
		line, column, width int
		want                string
	}{
		{1, 1, 80, "    1 | headrace: 1\n      | ^^^^^^^^\n"},
		{2, 19, 80, "    2 |  - resize: {size: big, \"filter\": 'a b'}\n      |                   ^^^\n"},
		{2, 24, 80, "    2 |  - resize: {size: big, \"filter\": 'a b'}\n      |                        ^^^^^^^^\n"},
		{2, 34, 80, "    2 |  - resize: {size: big, \"filter\": 'a b'}\n      |                                  ^^^^^\n"},
		{2, 12, 80, "    2 |  - resize: {size: big, \"filter\": 'a b'}\n      |            ^\n"},
		{4, 8, 80, "    4 |   - é: ünd:x�[2J\n      |        ^^^^^^^^^\n"},
		{3, 5, 40, "    3 |   - files: {paths: [aaaaaaaa.jp…\n      |     ^^^^^\n"},
		{3, 309, 48, "    3 | …jpg, b.jpg], lable: parent, root: data}\n      |               ^^^^^\n"},
		{5, 5, 80, "    5 |   - [a]\n      |     ^\n"},
		{5, 99, 80, ""}, {9, 1, 80, ""}, {0, 0, 80, ""}, {6, 1, 80, ""},
	} {
		err := fmt.Errorf("around: %w", &recipe.Error{Position: recipe.Position{File: path, Line: c.line, Column: c.column}, Err: os.ErrInvalid})
		got := codeFrame(err, c.width, false)
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%d:%d:\n%swant\n%s", c.line, c.column, got, c.want)
		}
		for line := range strings.Lines(got) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > c.width {
				t.Errorf("%d:%d: %d columns of %d: %s", c.line, c.column, n, c.width, line)
			}
		}
	}
	mistake := &recipe.Error{Position: recipe.Position{File: path, Line: 1, Column: 11}, Err: os.ErrInvalid}
	if got := codeFrame(mistake, 80, true); !strings.HasSuffix(got, "| "+strings.Repeat(" ", 10)+"\x1b[31m^\x1b[0m\n") {
		t.Errorf("%q", got)
	}
	for _, name := range []string{"", filepath.Join(folder, "none"), folder, "-"} {
		mistake.File = name
		if got := codeFrame(mistake, 80, false); got != "" {
			t.Errorf("%q: %q", name, got)
		}
	}
}

// A mistake of the section loader has a frame too.
func TestFramesOfCheck(t *testing.T) {
	folder := t.TempDir()
	recipeIn(t, folder, "headrace: 1\nsteps:\n  - files: {pattern: .}\n  - shufle\n  - decode_image\n  - center_crop: {size: 8}\n  - batch: {size: 4}\nloader: {on_eror: skip}\n")
	got := invoke(t, folder, "check", "r.yaml")
	want := "    4 |   - shufle\n      |     ^^^^^^\n"
	if got.code != exitUsage || !strings.Contains(got.stderr, want) {
		t.Errorf("exit code %d:\n%s", got.code, got.stderr)
	}
	recipeIn(t, folder, "headrace: 1\nsteps: [{files: {pattern: .}}, decode_image, {center_crop: {size: 8}}, {batch: {size: 4}}]\nloader: {on_eror: skip}\n")
	got = invoke(t, folder, "check", "r.yaml")
	if want := "    3 | loader: {on_eror: skip}\n      |          ^^^^^^^\n"; got.code != exitUsage || !strings.Contains(got.stderr, want) {
		t.Errorf("exit code %d:\n%s", got.code, got.stderr)
	}
}

// On a terminal nothing is wider than it is; what goes on is indented.
func TestErrorsAreFolded(t *testing.T) {
	text := "headrace: a/very/long/name.jpg: unknown image format: it begins with nothing at all\n  in decode_image, epoch 0, position 18\n  --on-error skip leaves such samples out"
	got := foldedError(text, 40)
	want := "headrace: a/very/long/name.jpg:\n    unknown image format: it begins with\n    nothing at all\n  in decode_image, epoch 0, position\n      18\n  --on-error skip leaves such\n      samples out"
	if got != want {
		t.Errorf("%s", got)
	}
	if foldedError(text, 200) != text {
		t.Error("short lines were folded")
	}
}

// Several mistakes at one place share its frame.
func TestOneFrameForAPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.yaml")
	if err := os.WriteFile(path, []byte("headrace: 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	at := func(text string) error {
		return &recipe.Error{Position: recipe.Position{File: path, Line: 1, Column: 1}, Err: errors.New(text)}
	}
	var out strings.Builder
	report(&out, errors.Join(at("one"), at("two"), at("three")))
	if frames := strings.Count(out.String(), "^^^^"); frames != 2 { // "headrace" has eight
		t.Errorf("%s", out.String())
	}
	if !strings.HasSuffix(out.String(), "three\n    1 | headrace: 1\n      | ^^^^^^^^\n") {
		t.Errorf("%s", out.String())
	}
}
