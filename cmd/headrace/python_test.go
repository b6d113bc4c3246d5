package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/internal/tier"
)

// Recipes in files name functions of Python, which are imported from the folder in
// which the command runs, by the interpreter of $HEADRACE_PYTHON.
func TestRunCallsFunctionsOfPython(t *testing.T) {
	folder := besidePython(t, "import logging\n\ndef darker(image):\n    print('it is dark')\n    logging.getLogger('own').error('no light')\n    return image // 2\n\ndef first(key):\n    return int(key[-7:-4]) < 6\n")
	recipeIn(t, folder, `headrace: 1
steps:
  - files: {pattern: "class*/*.jpg"}
  - filter: {function: "own:first", fields: [key], workers: 1}
  - decode_image
  - center_crop: {size: 8}
  - map: {function: "own:darker", fields: [image], workers: 1}
  - batch: {size: 4}
`)
	if got := invoke(t, folder, "run", "r.yaml", "--stats"); got.code != 0 || !strings.Contains(got.stdout, "2 batches; 6 samples in ") || !strings.Contains(got.stdout, "\nmap ") {
		t.Errorf("%+v", got)
	} else if strings.Contains(got.stdout, "dark") || !strings.Contains(got.stderr, "map: it is dark\n") || !strings.Contains(got.stderr, "map: ERROR own: no light\n") {
		t.Errorf("%+v", got)
	}
	if got := invoke(t, folder, "run", "r.yaml", "--quiet"); got.code != 0 || strings.Contains(got.stderr, "dark") {
		t.Errorf("%+v", got)
	}
	if got := invoke(t, folder, "inspect", "r.yaml", "--samples", "1"); got.code != 0 || strings.Count(got.stdout, "image uint8 [8, 8, 3]") < 2 {
		t.Errorf("%+v", got)
	}
	if got := invoke(t, folder, "profile", "r.yaml", "--workers", "1", "--items", "4"); got.code != 0 || !strings.Contains(got.stdout, "\nmap+batch ") || !strings.Contains(got.stdout, "\nfilter ") {
		t.Errorf("%+v", got)
	}
	if got := invoke(t, folder, "profile", "r.yaml", "--python", "r.yaml"); got.code != exitUsage || !strings.Contains(got.stderr, "headrace: --python: invalid character") {
		t.Errorf("%+v", got)
	}
	t.Setenv("HEADRACE_PYTHON", "/no/such/python")
	if got := invoke(t, folder, "run", "r.yaml"); got.code == 0 || !strings.Contains(got.stderr, "/no/such/python") {
		t.Errorf("%+v", got)
	}
}

// A batch that a function makes whole is run, inspected, measured and made again as
// others are. It has no samples to write.
func TestCommandsOnBatchesOfFunctions(t *testing.T) {
	folder := besidePython(t, "import numpy\n\ndef put(samples):\n    return {'image': numpy.stack([s['image'] for s in samples]), 'n': len(samples), 'names': ' '.join(s['key'] for s in samples)}\n")
	recipeIn(t, folder, `headrace: 1
steps:
  - files: {pattern: "class*/*.jpg"}
  - decode_image
  - center_crop: {size: 8}
  - batch: {size: 4, collate: {function: "own:put", workers: 1}}
`)
	_, states := trained(t, folder, headrace.Config{}, 1)
	saveJSON(t, filepath.Join(folder, "s.json"), states[0])
	for command, want := range map[string][]string{
		"run r.yaml --stats":                     {"3 batches; 10 samples in ", "\nbatch "},
		"inspect r.yaml":                         {"batch(size=4, collate=\"own:put\")\n  ▼ ?\n", "functions own:put: not imported; --samples 5 imports and calls them"},
		"inspect r.yaml --samples 1":             {"image uint8 [8, 8, 3]", "image uint8 [?, ?, ?, ?], n int64 [], names text", "3 batches of 4 samples, the last of 2"},
		"profile r.yaml --workers 1 --items 8":   {"\nbatch ", "\ngroup batch "},
		"replay r.yaml --state s.json --batch 2": {"Epoch 0, batch 2, 2 samples", "uint8 [2, 8, 8, 3]", "\n1    files   9 "},
	} {
		got := invoke(t, folder, strings.Fields(command)...)
		for _, text := range want {
			if got.code != 0 || !strings.Contains(got.stdout, text) {
				t.Errorf("%s: no %q in %+v", command, text, got)
			}
		}
	}
	if got := invoke(t, folder, "run", "r.yaml", "--out", "npy:out"); got.code == 0 || !strings.Contains(got.stderr, "collate makes whole batches") {
		t.Errorf("%+v", got)
	}
}

// besidePython is a folder of ten images and a module own, for commands that call
// functions of it by the interpreter of this repository.
func besidePython(t *testing.T, own string) (folder string) {
	t.Helper()
	tier.StartsProcesses(t)
	here, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	python := filepath.Join(here, ".venv/bin/python")
	if _, err := os.Stat(python); err != nil {
		python = "python3"
	}
	t.Setenv("HEADRACE_PYTHON", python)
	t.Setenv("PYTHONPATH", filepath.Join(here, "python/src"))
	folder = phototest.Folder(t, 10)
	if err := os.WriteFile(filepath.Join(folder, "own.py"), []byte(own), 0o644); err != nil {
		t.Fatal(err)
	}
	return folder
}
