package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/headrace/headrace/internal/testvideo"
)

// filmsIn writes videos into a folder.
func filmsIn(t *testing.T, folder string, names ...string) {
	t.Helper()
	if os.Getenv("HEADRACE_FFMPEG") == "" {
		system, err := filepath.Abs("../../python/src/headrace/_av/system")
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("HEADRACE_FFMPEG", system)
	}
	t.Setenv("HEADRACE_CACHE", t.TempDir())
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(folder, name), testvideo.Read(t, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
