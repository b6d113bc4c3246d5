//go:build cgo

package index

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/testvideo"
	"github.com/headrace/headrace/internal/tier"
	_ "github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/media/internal/avtest"
	"github.com/headrace/headrace/media/video"
)

// reading is a file that counts what is read of it, and cannot be mapped.
type reading struct {
	*os.File
	size, bytes int64
}

func (r *reading) Size() int64 { return r.size }

func (r *reading) ReadAt(p []byte, at int64) (int, error) {
	n, err := r.File.ReadAt(p, at)
	r.bytes += int64(n)
	return n, err
}

func open(t *testing.T, path string) *reading {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	s, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return &reading{File: f, size: s.Size()}
}

// place copies files of testvideo into a folder, and has indices written to another.
func place(t *testing.T, names ...string) string {
	t.Helper()
	avtest.Library(t)
	t.Setenv(Variable, t.TempDir())
	root := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(root, name), testvideo.Read(t, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func built(t *testing.T, o Options, paths ...string) map[string]Result {
	t.Helper()
	all := map[string]Result{}
	if err := Build(t.Context(), paths, o, func(r Result) { all[filepath.Base(r.Path)] = r }); err != nil {
		t.Fatal(err)
	}
	return all
}

// With an index, the packets of a clip are all that is read of a file, and they are those
// that were found without.
func TestClipsReadTheirPacketsAlone(t *testing.T) {
	names := []string{"bpyr.mkv", "hevc.ts", "vp9.webm", "mpeg4.avi"}
	for _, beside := range []bool{false, true} {
		root := place(t, names...)
		var paths []string
		for _, name := range names {
			paths = append(paths, filepath.Join(root, name))
		}
		for name, r := range built(t, Options{Beside: beside}, paths...) {
			if r.Outcome != Written || r.Frames == 0 || r.Seconds < 1.9 || r.Seconds > 2.1 {
				t.Errorf("%s: %+v", name, r)
			}
		}
		for _, path := range paths {
			if _, err := os.Stat(path + Suffix); (err == nil) != beside {
				t.Error(err)
			}
			f := open(t, path)
			plain, err := video.Open(f, -1)
			if err != nil || f.bytes < f.size {
				t.Fatalf("%s: %d of %d bytes were read without an index: %v", path, f.bytes, f.size, err)
			}
			f.bytes = 0
			v, err := video.Open(Of(f, path, nil), -1)
			if err != nil {
				t.Fatal(err)
			}
			if f.bytes > 4096 {
				t.Errorf("%s: opening reads %d of %d bytes", path, f.bytes, f.size)
			}
			if !slices.Equal(v.Table.Packets, plain.Table.Packets) || v.Stream.Codec != plain.Stream.Codec || !slices.Equal(v.Stream.Config, plain.Stream.Config) ||
				v.Stream.Reorder != plain.Stream.Reorder || v.Format != plain.Format {
				t.Errorf("%s: another table", path)
			}
			c, err := v.Clip([]int{30})
			if err != nil {
				t.Fatal(err)
			}
			f.bytes = 0
			if err := c.Decode(t.Context(), func(int, *video.Frame) error { return nil }); err != nil || f.bytes > c.Bytes() {
				t.Errorf("%s: %d bytes for packets of %d: %v", path, f.bytes, c.Bytes(), err)
			}
			c.Close()
		}
	}
}

// An index that does not fit, or is damaged, is not used, and written again.
func TestIndicesThatDoNotFit(t *testing.T) {
	root := place(t, "bpyr.mkv", "vp9.webm")
	path := filepath.Join(root, "bpyr.mkv")
	frames := func() int {
		t.Helper()
		v, err := video.Open(Of(open(t, path), path, nil), -1)
		if err != nil {
			t.Fatal(err)
		}
		return v.Table.Line.Len()
	}
	outcome := func(o Options) Outcome { t.Helper(); return built(t, o, path)["bpyr.mkv"].Outcome }

	if got := []Outcome{outcome(Options{}), outcome(Options{}), outcome(Options{Force: true})}; !slices.Equal(got, []Outcome{Written, UpToDate, Written}) {
		t.Fatal(got)
	}
	at := placesOf(path)[0]
	whole, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}

	// Another video in the same place.
	if err := os.WriteFile(path, testvideo.Read(t, "odd.mp4"), 0o644); err != nil {
		t.Fatal(err)
	}
	if n := frames(); n != 10 {
		t.Errorf("%d frames of the other video", n)
	}
	if err := os.WriteFile(path, testvideo.Read(t, "bpyr.mkv"), 0o644); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
	if _, err := load(at, path, open(t, path)); !errors.Is(err, errStale) {
		t.Errorf("of another time: %v", err)
	}
	if got := outcome(Options{}); got != Written {
		t.Error(got)
	}

	// Every byte counts, and none makes a reader fail.
	for i := range whole {
		bad := slices.Clone(whole)
		bad[i] ^= 0x20
		if _, err := decode(bad); err == nil {
			t.Fatalf("byte %d may be anything", i)
		}
	}
	for _, bad := range [][]byte{nil, whole[:7], whole[:len(whole)/2], []byte(strings.Repeat("x", 1000))} {
		if err := os.WriteFile(at, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if n := frames(); n != 50 {
			t.Errorf("%d frames with a damaged index", n)
		}
		if got := outcome(Options{}); got != Written {
			t.Error(got)
		}
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(at), "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("files are left: %v %v", left, err)
	}
}

// A copy keeps its index, though it is another file; one that was written again, with as
// many bytes and the time that it had, does not.
func TestCopiesAndFilesWrittenAgain(t *testing.T) {
	root := place(t, "bpyr.mkv")
	path := filepath.Join(root, "bpyr.mkv")
	if r := built(t, Options{Beside: true}, path)["bpyr.mkv"]; r.Outcome != Written {
		t.Fatalf("%+v", r)
	}
	whole := testvideo.Read(t, "bpyr.mkv")
	s, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(to string, data []byte) {
		t.Helper()
		if err := errors.Join(os.WriteFile(to, data, 0o644), os.Chtimes(to, s.ModTime(), s.ModTime())); err != nil {
			t.Fatal(err)
		}
	}
	other := filepath.Join(root, "copy.mkv")
	write(other, whole)
	index, err := os.ReadFile(path + Suffix)
	if err != nil {
		t.Fatal(err)
	}
	write(other+Suffix, index)
	if _, err := load(other+Suffix, other, open(t, other)); err != nil {
		t.Errorf("of a copy: %v", err)
	}
	again := slices.Clone(whole)
	copy(again[len(again)/2:], whole[len(again)/2+1:])
	write(path, again)
	if _, err := load(path+Suffix, path, open(t, path)); !errors.Is(err, errStale) {
		t.Errorf("of a file that was written again: %v", err)
	}
}

// An index that somebody else has put beside a file is not used, and this user's own is
// written, once.
func TestAPlantedIndex(t *testing.T) {
	tier.GivesFilesAway(t)
	root := place(t, "bpyr.mkv", "vp9.webm")
	path, at := filepath.Join(root, "bpyr.mkv"), filepath.Join(root, "bpyr.mkv")+Suffix
	built(t, Options{Beside: true}, path)
	const ann, bob = 48001, 48002 // whom no file of the machine belongs to
	if err := errors.Join(os.Chmod(root, os.ModeSticky|0o777), os.Chown(path, ann, ann), os.Chown(at, bob, bob)); err != nil {
		t.Fatal(err)
	}
	var said []string
	for range 3 {
		f := open(t, path)
		if _, err := video.Open(Of(f, path, func(message string) { said = append(said, message) }), -1); err != nil {
			t.Fatal(err)
		}
		if own := placesOf(path)[0]; len(said) != 1 || !strings.Contains(said[0], at+" could have been written by user 48002") || !strings.Contains(said[0], own) {
			t.Errorf("said %q", said)
		}
	}
	if r := built(t, Options{}, path)["bpyr.mkv"]; r.Outcome != UpToDate {
		t.Errorf("%+v", r)
	}
	if err := os.Chown(at, ann, ann); err != nil {
		t.Fatal(err)
	}
	if _, err := load(at, path, open(t, path)); err != nil {
		t.Errorf("of the file's owner: %v", err)
	}
}

func TestWhatIsNotIndexed(t *testing.T) {
	root := place(t, "bpyr.mp4", "alac.m4a", "cover.jpg")
	words := filepath.Join(root, "words.mkv")
	if err := os.WriteFile(words, []byte("no video, but words"), 0o644); err != nil {
		t.Fatal(err)
	}
	all := built(t, Options{Jobs: 3}, filepath.Join(root, "bpyr.mp4"), filepath.Join(root, "alac.m4a"), words, filepath.Join(root, "none.mkv"))
	for name, c := range map[string]struct {
		outcome Outcome
		says    string
	}{
		"bpyr.mp4": {Needless, ""}, "alac.m4a": {Failed, "sound alone"}, "words.mkv": {Failed, "words.mkv: media: corrupt video"}, "none.mkv": {Failed, "no such file"},
	} {
		r := all[name]
		if r.Outcome != c.outcome || c.says == "" && r.Err != nil || c.says != "" && (r.Err == nil || !strings.Contains(r.Err.Error(), c.says)) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if left, err := os.ReadDir(Folders()[0]); err == nil && len(left) > 0 {
		t.Errorf("%v", left)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Build(ctx, make([]string, 100), Options{Jobs: 1}, func(Result) {}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	t.Setenv(Variable, words) // a file where the folder should be
	if r := built(t, Options{}, filepath.Join(root, "bpyr.mp4"))["bpyr.mp4"]; r.Outcome != Needless {
		t.Errorf("%+v", r)
	}
}

// Whatever an index says, with a right checksum or without, nothing panics.
func FuzzDecode(f *testing.F) {
	whole, err := encode(&content{Of: identity{Format: format}, Container: video.Container{Format: "avi", Tracks: make([]video.Track, 2)}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, false)
	f.Fuzz(func(t *testing.T, all []byte, sealed bool) {
		if sealed && len(all) >= len(magic)+4 {
			all = seal(slices.Clone(all))
		}
		c, err := decode(all)
		if err != nil {
			return
		}
		if v, err := video.Open(known{video.Bytes(make([]byte, 100)), &c.Container}, -1); err == nil && v.Table.Line.Len() > 0 {
			clip, err := v.Clip([]int{0})
			if err == nil {
				clip.Bytes()
				clip.Close()
			}
		}
	})
}
