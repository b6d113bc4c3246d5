package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"headrace/internal/phototest"
)

// Recipes in files name functions of Python, which are imported from the folder in which the command runs, by the interpreter of $HEADRACE_PYTHON.
func TestRunCallsFunctionsOfPython(t *testing.T) {
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
	folder := phototest.Folder(t, 10)
	functions := "def darker(image):\n    return image // 2\n\ndef first(key):\n    return int(key[-7:-4]) < 6\n"
	if err := os.WriteFile(filepath.Join(folder, "own.py"), []byte(functions), 0o644); err != nil {
		t.Fatal(err)
	}
	recipeIn(t, folder, `headrace: 1
steps:
  - files: {pattern: "class*/*.jpg"}
  - filter: {function: "own:first", fields: [key], workers: 1}
  - decode_image
  - center_crop: {size: 8}
  - map: {function: "own:darker", fields: [image], workers: 1}
  - batch: {size: 4}
`)
	if got := invoke(t, folder, "run", "r.yaml"); got.code != 0 || !strings.Contains(got.stdout, "2 batches; 6 samples in ") || !strings.Contains(got.stdout, "\nmap ") {
		t.Errorf("%+v", got)
	}
	if got := invoke(t, folder, "inspect", "r.yaml", "--samples", "1"); got.code != 0 || strings.Count(got.stdout, "image uint8 [8, 8, 3]") < 2 {
		t.Errorf("%+v", got)
	}
	t.Setenv("HEADRACE_PYTHON", "/no/such/python")
	if got := invoke(t, folder, "run", "r.yaml"); got.code == 0 || !strings.Contains(got.stderr, "/no/such/python") {
		t.Errorf("%+v", got)
	}
}
