package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The command becomes python -m headrace.ray, which here is a program that prints what it
// is given.
func TestRunOnRay(t *testing.T) {
	folder := t.TempDir()
	python := func(text string) {
		if err := os.WriteFile(filepath.Join(folder, "python"), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HEADRACE_PYTHON", filepath.Join(folder, "python"))
	python("if [ \"$1\" = -c ]; then exit 0; fi\nprintf '%s\\n' \"$@\"\nexit 7\n")
	got := invoke(t, folder, "run", "r.yaml", "--ray", "8", "-o", "npy:x", "-s", "root=a b", "-s", "n=1",
		"--on-error", "skip", "--workers", "3", "--overwrite")
	want := "-m headrace.ray run r.yaml --parts 8 --out npy:x --set root=a b --set n=1 --cpus 3 -- " +
		"--on-error=skip --overwrite=true --workers=3"
	if lines := strings.Split(strings.TrimSpace(got.stdout), "\n"); got.code != 7 || strings.Join(lines, " ") != want {
		t.Errorf("%+v, want %q", got, want)
	}

	python("echo Traceback >&2\necho \"ModuleNotFoundError: No module named 'headrace'\" >&2\nexit 1\n")
	got = invoke(t, folder, "run", "r.yaml", "--ray", "8", "--out", "npy:x")
	if got.code != exitFailed || !strings.Contains(got.stderr, "cannot import headrace.ray: "+
		"ModuleNotFoundError: No module named 'headrace'\ninstall it there with pip install 'headrace[ray]'") {
		t.Errorf("%+v", got)
	}
	t.Setenv("HEADRACE_PYTHON", filepath.Join(folder, "none"))
	if got = invoke(t, folder, "run", "r.yaml", "--ray", "8", "--out", "npy:x"); got.code != exitFailed ||
		!strings.Contains(got.stderr, "--ray needs a Python with headrace[ray]") {
		t.Errorf("%+v", got)
	}

	for want, args := range map[string][]string{
		"--ray is 0: must be at least 1": {"--ray", "0", "--out", "npy:x"},
		"--ray needs --out":              {"--ray", "2"},
		"--trace has no meaning with --ray: each part is a run of its own on some machine": {
			"--ray", "2", "--out", "npy:x", "--trace", "t.json"},
	} {
		got := invoke(t, folder, append([]string{"run", "r.yaml"}, args...)...)
		if got.code != exitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%q: %+v", want, got)
		}
	}
}
