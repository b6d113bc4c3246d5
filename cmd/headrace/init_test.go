package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/recipe"
)

// touch makes empty files below a folder.
func touch(t *testing.T, folder string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(folder, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The recipe that init writes for each kind of file is one without mistakes, about most
// of what is there.
func TestInit(t *testing.T) {
	folder := t.TempDir()
	touch(t, folder, "photos/cat/1.jpg", "photos/cat/2.JPEG", "photos/dog/3.png", "photos/dog/notes.txt", "flat/1.webp", "flat/2.gif", "one/class/1.bmp",
		"talks/a.wav", "talks/b.flac", "films/x/1.mp4", "films/y/2.mkv", "films/y/cover.jpg", "3 odd: #names/1.tiff", "none/readme.txt")
	os.Mkdir(filepath.Join(folder, "arrays"), 0o755)
	header := "\x93NUMPY\x01\x00\x76\x00{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }"
	array := header + strings.Repeat(" ", 127-len(header)) + "\n" + strings.Repeat("x", 12)
	os.WriteFile(filepath.Join(folder, "arrays/1.npy"), []byte(array), 0o644)
	for _, c := range []struct{ folder, source, step, summary string }{
		{"photos", "files: {pattern: photos, label: parent}", "random_resized_crop", "3 images in 2 classes"},
		{"flat", "files: {pattern: flat}", "decode_image", "2 images"},
		{"one", "files: {pattern: one}", "decode_image", "1 image"},
		{"talks", "files: {pattern: talks}", "decode_audio", "2 recordings"},
		{"films", "files: {pattern: films, label: parent, content: false}", "decode_video", "2 videos in 2 classes; left out: 1 image"},
		{"arrays", "files: {pattern: arrays}", "decode_npy: {dtype: int16, shape: [2, 3]}", "1 array"},
		{"3 odd: #names", `files: {pattern: "3 odd: #names"}`, "decode_image", "1 image"},
		{"photos/*/*", `files: {pattern: "photos/*/*", label: parent}`, "random_resized_crop", "3 images in 2 classes"},
		{"photos/cat/*.[jJ]*", `files: {pattern: "photos/cat/*.[jJ]*"}`, "decode_image", "2 images"},
		{"f*/**", `files: {pattern: "f*/**", label: parent}`, "decode_image", "3 images in 2 classes; left out: 2 videos"},
	} {
		made := invoke(t, folder, "init", c.folder)
		if made.code != 0 || !strings.Contains(made.stdout, c.source+"\n") || !strings.Contains(made.stdout, c.step) || made.stderr != c.summary+"\n" {
			t.Errorf("%s: exit code %d\n%s%s", c.folder, made.code, made.stdout, made.stderr)
		}
		os.WriteFile(filepath.Join(folder, "made.yaml"), []byte(made.stdout), 0o644)
		if checked := invoke(t, folder, "check", "made.yaml"); checked.code != 0 || !strings.HasSuffix(checked.stdout, " steps, no mistakes\n") {
			t.Errorf("%s: %s%s", c.folder, checked.stdout, checked.stderr)
		}
	}
	for args, want := range map[string]string{
		"init none":    "none has no images, arrays, archives, recordings or videos",
		"init none/*":  "none/* has no images, arrays, archives, recordings or videos",
		"init nowhere": "nowhere\" does not exist",
		"init":         "accepts 1 arg(s), received 0",
	} {
		if got := invoke(t, folder, strings.Fields(args)...); got.code == 0 || got.stdout != "" || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: exit code %d\n%s%s", args, got.code, got.stdout, got.stderr)
		}
	}
}

// Every recipe is checked, whatever is wrong with the others.
func TestCheck(t *testing.T) {
	folder := t.TempDir()
	for name, step := range map[string]string{"good.yaml": "batch: {size: 4}", "bad.yaml": "batch: {size: 0}", "worse.yaml": "bach: {size: 4}"} {
		os.WriteFile(filepath.Join(folder, name), []byte("headrace: 1\nsteps:\n  - files: {pattern: nowhere}\n  - decode_image\n  - center_crop: {size: 8}\n  - "+step+"\n"), 0o644)
	}
	got := invoke(t, folder, "check", "bad.yaml", "good.yaml", "worse.yaml")
	if got.code != exitUsage || got.stdout != "good.yaml: 4 steps, no mistakes\n" {
		t.Errorf("exit code %d, %q", got.code, got.stdout)
	}
	for _, want := range []string{`bad.yaml:6:5: step "batch" (#4): `, `worse.yaml:6:5: step "bach" (#4): `} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("no %q in\n%s", want, got.stderr)
		}
	}
}

// All operations are listed once, and each explains all its arguments.
func TestOps(t *testing.T) {
	all := invoke(t, t.TempDir(), "ops").stdout
	for _, op := range recipe.Ops() {
		lines := slices.DeleteFunc(strings.Split(all, "\n"), func(l string) bool { return !strings.HasPrefix(l, "  "+op.Name+" ") })
		if len(lines) != 1 {
			t.Errorf("%s has %d lines", op.Name, len(lines))
		}
	}
	if got := invoke(t, t.TempDir(), "ops", "color_jitter"); !strings.Contains(got.stdout, "\n  hue: ") || !strings.Contains(got.stdout, "\n  brightness: ") {
		t.Error(got.stdout)
	}
	for _, op := range recipe.Ops() {
		got := invoke(t, t.TempDir(), "ops", op.Name).stdout
		for _, a := range op.Arguments() {
			if !strings.Contains(got, "\n  "+a.Name+": ") {
				t.Errorf("%s: nothing about %s", op.Name, a.Name)
			}
		}
		for _, code := range op.Example {
			if line, _, _ := strings.Cut(code, "\n"); !strings.Contains(got, "\n      "+line+"\n") {
				t.Errorf("%s: not the example %s", op.Name, line)
			}
		}
		if words := strings.Fields(op.More); len(words) > 0 && !strings.Contains(got, words[0]+" "+words[1]) {
			t.Errorf("%s: not what else there is to know", op.Name)
		}
		if testing.Short() {
			break
		}
	}
	if got := invoke(t, t.TempDir(), "ops", "resise"); got.code != exitUsage || got.stderr != "headrace: there is no operation \"resise\": did you mean \"resize\"?\n" {
		t.Errorf("exit code %d, %s", got.code, got.stderr)
	}
}

// A flag or a file that is not there is probably one that is.
func TestMeant(t *testing.T) {
	folder := t.TempDir()
	os.WriteFile(filepath.Join(folder, "train.yaml"), nil, 0o644)
	for args, want := range map[string]string{
		"run train.yaml --epoch 1":        "headrace: unknown flag: --epoch: did you mean --epochs?\n",
		"run train.yaml --xyzzy 1":        "headrace: unknown flag: --xyzzy\n",
		"check train.yml":                 "no such file or directory: did you mean train.yaml?\n",
		"check " + folder + "/trian.yaml": "did you mean " + folder + "/train.yaml?\n",
		"check recipes/train.yml":         "no such file or directory\n",
	} {
		if got := invoke(t, folder, strings.Fields(args)...); got.code != exitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: exit code %d, %s", args, got.code, got.stderr)
		}
	}
	if got := invoke(t, folder, "--version"); got.code != 0 || !strings.HasPrefix(got.stdout, "headrace 0.") {
		t.Errorf("exit code %d, %s", got.code, got.stdout)
	}
}
