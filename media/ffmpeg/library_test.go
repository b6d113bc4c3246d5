//go:build cgo

package ffmpeg

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/avtest"
)

// What is missing, or is no library, is said in one line, with what to do.
func TestNoLibrary(t *testing.T) {
	folder := t.TempDir()
	program := filepath.Join(folder, "_bin/headrace")
	for name, c := range map[string]struct{ chosen, want string }{
		"none":        {"", "nothing that opens it is beside the engine"},
		"no such":     {"/nowhere", "/nowhere has no libavcodec.so.N"},
		"no library":  {folder, "file too short"},
		"another one": {filepath.Join(folder, "other"), "other/libhrav.so is of another release of Headrace"},
	} {
		t.Run(name, func(t *testing.T) {
			switch name {
			case "no library":
				if err := os.WriteFile(filepath.Join(folder, ours), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			case "another one":
				if err := os.MkdirAll(c.chosen, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(loaded(t, "/libc.so"), filepath.Join(c.chosen, ours)); err != nil {
					t.Fatal(err)
				}
			}
			_, err := open(c.chosen, program)
			if !errors.Is(err, media.ErrUnsupported) {
				t.Fatal(err)
			}
			for _, part := range []string{c.want, "decoding video and audio needs FFmpeg", "apt-get install", Variable} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q lacks %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q has several lines", err)
			}
		})
	}
}

// loaded is the path of a library that this process has.
func loaded(t *testing.T, name string) string {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		if at := strings.IndexByte(line, '/'); at >= 0 && strings.Contains(line, name) {
			return strings.TrimSpace(line[at:])
		}
	}
	t.Fatalf("this process has no %s", name)
	return ""
}

func TestLibrary(t *testing.T) {
	avtest.Library(t)
	info, err := Library()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(info.Path, "libavcodec") || !strings.Contains(info.Shim, "libhrav") || info.Version == "" || !strings.Contains(info.License, "GPL") || info.Configuration == "" || !slices.Contains(info.Decoders, "h264") {
		t.Errorf("%+v", info)
	}
}
