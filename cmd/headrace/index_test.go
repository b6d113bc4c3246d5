//go:build cgo

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/testvideo"
)

// here runs a command in this program, which can decode videos: the one that invoke runs
// may have been built without C.
func here(t *testing.T, folder string, args ...string) outcome {
	t.Helper()
	t.Chdir(folder)
	var out, words bytes.Buffer
	c := rootCommand()
	watch(c)
	c.SetArgs(args)
	c.SetOut(&out)
	c.SetErr(&words)
	err := c.ExecuteContext(t.Context())
	if decided := (*codeError)(nil); err != nil && (!errors.As(err, &decided) || decided.cause != nil) {
		fmt.Fprintln(&words, err)
	}
	return outcome{out.String(), words.String(), exitCode(err)}
}

func TestIndex(t *testing.T) {
	folder := t.TempDir()
	filmsIn(t, folder, "bpyr.mp4", "bpyr.mkv", "vp9.webm")
	const all = "3 videos, 150 frames, 6s\n"
	for _, c := range []struct{ args, stdout string }{
		{".", all + "  2 indexed\n  1 MP4 or MOV, which have one of their own\n"},
		{"*.mkv bpyr.mp4 vp9.webm --jobs 1", all + "  2 had an index that fits\n  1 MP4 or MOV, which have one of their own\n"},
		{". --beside", all + "  2 indexed\n  1 MP4 or MOV, which have one of their own\n"},
		{". --force", all + "  2 indexed\n  1 MP4 or MOV, which have one of their own\n"},
	} {
		if got := here(t, folder, append([]string{"index"}, strings.Fields(c.args)...)...); got != (outcome{stdout: c.stdout}) {
			t.Errorf("%s: %+v", c.args, got)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "vp9.webm.hri")); err != nil {
		t.Error(err)
	}

	if err := os.WriteFile(filepath.Join(folder, "words.mkv"), []byte("no video, but words"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := here(t, folder, "index", ".")
	if got.code != exitFailed || !strings.HasPrefix(got.stderr, "✗ "+folder+"/words.mkv: media: corrupt video") || strings.Count(got.stderr, "\n") != 1 ||
		!strings.HasSuffix(got.stdout, "  1 could not be indexed\n") {
		t.Errorf("%+v", got)
	}
	for args, says := range map[string]string{"none": "none", ". --jobs -1": "--jobs is -1", "": "requires at least 1 arg"} {
		if got := here(t, folder, append([]string{"index"}, strings.Fields(args)...)...); got.code == exitDone || !strings.Contains(got.stderr, says) {
			t.Errorf("%q: %+v", args, got)
		}
	}
}

// Data instead of a recipe is named, with what shows it.
func TestInspectOfDataSaysWhatItIs(t *testing.T) {
	folder := t.TempDir()
	filmsIn(t, folder, "sound.mp4", "bpyr.mkv")
	zeros := make([]byte, 600)
	for name, data := range map[string]string{
		"a.flac": "fLaC\x00\x00\x00\x22", "a.wav": "RIFF\x00\x00\x00\x00WAVEfmt ", "a.jpg": "\xff\xd8\xff\xe0\x00\x10JFIF", "a.png": "\x89PNG\r\n\x1a\n\x00",
		"a.blob": "\x00\x01\x02", "a.data": "PAR1\x15\x00", "long.yaml": strings.Repeat("# ä\n", 200) + "steps: 1", "a.thing": string(zeros[:257]) + "ustar" + string(zeros),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, says := range map[string]string{
		"bpyr.mkv":  `bpyr.mkv: is a Matroska or WebM video, and no recipe (YAML or JSON)`,
		"sound.mp4": `headrace.io.video_info("sound.mp4") in Python`,
		"a.flac":    `is a FLAC file, and no recipe`,
		"a.wav":     `headrace.io.audio_info("a.wav") in Python`,
		"a.jpg":     `is a JPEG image`,
		"a.png":     `is a PNG image`,
		"a.blob":    `is a binary file`,
		"a.data":    `headrace inspect --format parquet a.data`,
		"a.thing":   `headrace inspect --format tar a.thing`,
		"long.yaml": `steps`,
	} {
		for _, command := range []string{"inspect", "check"} {
			if command == "inspect" && isMedia(name) { // which it tells of
				continue
			}
			got := here(t, folder, command, name)
			if got.code != exitUsage || !strings.Contains(got.stderr, says) || strings.Contains(got.stderr, "UTF-8") {
				t.Errorf("%s %s: %+v", command, name, got)
			}
		}
	}
}

// inspect tells of files, without a recipe, what they are, and whether they have an end.
func TestInspectMedia(t *testing.T) {
	folder := t.TempDir()
	filmsIn(t, folder, "sound.mp4", "bpyr.mkv")
	film, err := os.ReadFile(filepath.Join(folder, "bpyr.mkv"))
	if err != nil {
		t.Fatal(err)
	}
	// The segment's size becomes unknown, as in what is written to a pipe.
	at := bytes.Index(film, []byte("\x18\x53\x80\x67\x01")) + 4
	live := slices.Concat(film[:at], []byte("\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF"), film[at+8:])
	wave := slices.Concat([]byte("RIFF\xFF\xFF\xFF\xFFWAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1F\x00\x00\x80\x3E\x00\x00\x02\x00\x10\x00data\xFF\xFF\xFF\xFF"), make([]byte, 8000))
	for name, data := range map[string][]byte{"live.mkv": live, "live.wav": wave, "cut.mkv": film[:len(film)-1]} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	const noEnd = "a live recording: the file has no end"
	for name, says := range map[string]string{"bpyr.mkv": "50 frames in 2.00 s", "live.mkv": noEnd, "live.wav": "4,000 samples in 0.50 s, 8000 a second, 1 channel · " + noEnd, "sound.mp4": "streams video h264, audio aac"} {
		got := here(t, folder, "inspect", name)
		text := strings.Join(strings.Fields(got.stdout), " ") // of any width
		if got.code != exitDone || !strings.Contains(text, says) || strings.Contains(text, noEnd) != strings.HasPrefix(name, "live") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := here(t, folder, "inspect", "live.mkv", "--json"); !strings.Contains(got.stdout, `"live": true`) {
		t.Errorf("%+v", got)
	}
	if got := here(t, folder, "inspect", "cut.mkv"); got.code == exitDone || !strings.Contains(got.stderr, "the file ends after") {
		t.Errorf("%+v", got)
	}
}

// inspect tells what a video is, from its index alone; ffprobe says the same.
func TestInspectVideos(t *testing.T) {
	folder := t.TempDir()
	filmsIn(t, folder, "sound.mp4", "rot90.mp4", "bpyr.mkv")
	recipeIn(t, folder, `{"headrace": 1, "steps": [{"files": {"pattern": ".", "content": false}}, {"video_clips": {"frames": 4, "clips": 1}}]}`)
	var told struct {
		Samples []struct {
			Key, Format                string
			Width, Height, Orientation int
			Video                      struct {
				Codec     string
				Frames    int
				Duration  float64
				FPS       float64
				KeyFrames int `json:"key_frames"`
				Decodes   float64
				Streams   []string
			}
		} `json:"samples"`
	}
	got := here(t, folder, "inspect", "r.yaml", "--json")
	if err := json.Unmarshal([]byte(got.stdout), &told); err != nil || got.code != 0 || len(told.Samples) != 3 {
		t.Fatalf("%v: %+v", err, got)
	}
	for i, name := range []string{"bpyr.mkv", "rot90.mp4", "sound.mp4"} {
		s, p := told.Samples[i], testvideo.Probe(t, name)
		keys, frames := 0, 0
		for _, f := range p.Frames {
			if f.Stream == 0 {
				frames++
				keys += f.Key
			}
		}
		v := s.Video
		if filepath.Base(s.Key) != name || s.Width != p.Streams[0].Width || s.Height != p.Streams[0].Height || v.Codec != p.Streams[0].CodecName || v.Frames != frames || v.KeyFrames != keys ||
			len(v.Streams) != len(p.Streams) || v.FPS < 24.9 || v.FPS > 25.1 || v.Duration < 1.99 || v.Duration > 2.01 || v.Decodes < 1 || v.Decodes > float64(frames) {
			t.Errorf("%s: %+v", name, s)
		}
		if turned := s.Orientation > 1; turned != (name == "rot90.mp4") || (s.Format == "mp4") != strings.HasSuffix(name, ".mp4") {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if got := here(t, folder, "inspect", "r.yaml"); !strings.Contains(got.stdout, "h264 · 50 frames in 2.00 s, 25 a second · ") || !strings.Contains(got.stdout, "streams video h264, audio aac") {
		t.Errorf("%+v", got)
	}
}
