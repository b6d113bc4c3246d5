package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// An array of jobs, one of which fails and is given again.
func TestRunInParts(t *testing.T) {
	folder := photographs(t, "")
	run := func(more ...string) outcome {
		return invoke(t, folder, append([]string{"run", "r.yaml", "--out", "tar:out/train-%03d.tar"}, more...)...)
	}
	for _, part := range []string{"2/3", "0/3"} {
		if got := run("--part", part); got.code != 0 || !strings.Contains(got.stdout, "\nWrote ") {
			t.Errorf("%+v", got)
		}
	}
	if got := run("--check-parts"); got.code != exitFailed ||
		got.stderr != "headrace: --out: the parts are not whole: of 3 parts 1 are missing, or not complete: --part 1/3\n" {
		t.Errorf("%+v", got)
	}
	if got := run("--part", "1/3"); got.code != 0 || !strings.Contains(got.stdout, "out/train-00001-of-00003-000.tar\n") {
		t.Errorf("%+v", got)
	}
	got := run("--check-parts")
	if want := "All 3 parts of tar:out/train-%03d.tar are whole: 20 samples, "; got.code != 0 || !strings.HasPrefix(got.stdout, want) ||
		!strings.HasSuffix(got.stdout, " in 3 files\n") {
		t.Errorf("%+v", got)
	}
	if got := run("--check-parts", "--quiet"); got.code != 0 || got.stdout != "" {
		t.Errorf("%+v", got)
	}
	var whole map[string]int64
	got = run("--check-parts", "--json")
	if err := json.Unmarshal([]byte(got.stdout), &whole); err != nil || whole["parts"] != 3 || whole["samples"] != 20 {
		t.Errorf("%+v: %v", got, err)
	}
	if names, _ := filepath.Glob(filepath.Join(folder, "out", "*")); len(names) != 6 {
		t.Errorf("%v", names)
	}
}

func TestRunInPartsRefuses(t *testing.T) {
	folder := photographs(t, "")
	for want, args := range map[string][]string{
		`--part is "3/3": must be i/n, such as 0/16 for the first of 16 parts and 15/16 for the last`: {"--part", "3/3"},
		"--check-parts looks at all parts: leave out --part": {
			"--part", "0/3", "--check-parts", "--out", "npy:x"},
		"--check-parts has no meaning without --out": {"--check-parts"},
	} {
		got := invoke(t, folder, append([]string{"run", "r.yaml"}, args...)...)
		if got.code != exitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%q: %+v", want, got)
		}
	}
}
