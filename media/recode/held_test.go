//go:build cgo

package recode

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/media/internal/avtest"
)

// allPlayed are all samples of a file, one after the other.
func allPlayed(t *testing.T, file []byte) ([]float32, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := OpenSamples(opened(t, path), SamplesOptions{})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var all []float32
	for to := make([]float32, 1000*s.Channels()); ; {
		n, err := s.Next(context.Background(), to)
		if n == 0 || err != nil {
			return all, err
		}
		all = append(all, to[:n*s.Channels()]...)
	}
}

// A file of frames that is too large to be held in memory goes through FFmpeg, and has
// the same samples, or is refused with the reason.
func TestFramesThatAreNotHeld(t *testing.T) {
	avtest.Library(t)
	defer func(most int64) { mostHeld = most }(mostHeld)
	tone := "-f lavfi -i aevalsrc=0.3*sin(700*t*t)|0.2*sin(900*t):s=44100:d=0.7 "
	read := func(name, how string) []byte {
		b, err := os.ReadFile(avtest.Cached(t, name, strings.Fields(tone+how)...))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	lame := read("lame.mp3", "-c:a libmp3lame -id3v2_version 0")
	bare := read("bare.mp3", "-c:a libmp3lame -id3v2_version 0 -write_xing 0")
	aac := read("a.aac", "-c:a aac")
	tag := append([]byte("TAG"), make([]byte, 125)...)
	for name, c := range map[string]struct {
		file []byte
		not  string // why it is refused when it is not held
	}{
		"mp3 with a tag":    {lame, ""},
		"mp3":               {bare, ""},
		"aac":               {aac, ""},
		"flac":              {read("a.flac", "-c:a flac"), ""},
		"a tag at its end":  {slices.Concat(lame, tag), ""},
		"a tag within":      {slices.Concat(bare, tag, bare), "was joined from parts, which load_audio may read"},
		"bytes before":      {slices.Concat(make([]byte, 1000), lame), "load_audio leaves them out"},
		"a part of a frame": {bare[:len(bare)-50], "it ends after"},
	} {
		t.Run(name, func(t *testing.T) {
			mostHeld = 64 << 20
			want, heldErr := allPlayed(t, c.file)
			mostHeld = 0
			got, err := allPlayed(t, c.file)
			if c.not != "" {
				if err == nil || !strings.Contains(err.Error(), c.not) {
					t.Errorf("%v, want an error that says %q", err, c.not)
				}
				return
			}
			if err != nil || heldErr != nil {
				t.Fatal(err, heldErr)
			}
			if !slices.Equal(got, want) || len(got) == 0 {
				t.Errorf("%d samples, not the %d of a file that is held", len(got), len(want))
			}
		})
	}
}
