package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/headrace/headrace/internal/testvideo"
	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media/video"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/storetest"
)

// toy is a store in memory, all of which is in this file. It counts what is read of it,
// and fails if it is told to.
type toy struct {
	mu      sync.Mutex
	objects map[string][]byte
	read    map[string]int64              // bytes, by object
	asked   int                           // calls
	fails   func(call, name string) error // nil: nothing does
}

// begin is the beginning of a call.
func (s *toy) begin(ctx context.Context, call, name string) error {
	s.asked++
	if s.fails != nil {
		if err := s.fails(call, name); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (s *toy) stat(name string) (store.Object, error) {
	content, ok := s.objects[name]
	if !ok {
		return store.Object{}, fmt.Errorf("toy: %q: %w", name, fs.ErrNotExist)
	}
	sum := sha256.Sum256(content)
	return store.Object{Name: name, Size: int64(len(content)), Version: hex.EncodeToString(sum[:6])}, nil
}

// Objects implements [store.Store].
func (s *toy) Objects(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		s.mu.Lock()
		names := slices.Sorted(maps.Keys(s.objects))
		err := s.begin(ctx, "list", prefix)
		s.mu.Unlock()
		if err != nil {
			yield(store.Object{}, err)
			return
		}
		for _, name := range names {
			s.mu.Lock()
			o, err := s.stat(name)
			s.mu.Unlock()
			if strings.HasPrefix(name, prefix) && !yield(o, err) {
				return
			}
		}
	}
}

// Stat implements [store.Store].
func (s *toy) Stat(ctx context.Context, name string) (o store.Object, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err = s.begin(ctx, "stat", name); err == nil {
		o, err = s.stat(name)
	}
	return o, err
}

// ReadAt implements [store.Store].
func (s *toy) ReadAt(ctx context.Context, o store.Object, p []byte, at int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(ctx, "read", o.Name); err != nil {
		return err
	}
	now, err := s.stat(o.Name)
	if err != nil {
		return err
	}
	if now != o {
		return fmt.Errorf("%w: %q", store.ErrChanged, o.Name)
	}
	n := copy(p, s.objects[o.Name][min(at, o.Size):])
	s.read[o.Name] += int64(n)
	if n < len(p) {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// Put implements [store.Writer].
func (s *toy) Put(ctx context.Context, name string, content io.ReaderAt, size int64, c store.Condition) (store.Object, error) {
	all := make([]byte, size)
	if n, err := content.ReadAt(all, 0); int64(n) < size {
		return store.Object{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(ctx, "put", name); err != nil {
		return store.Object{}, err
	}
	if err := c.Check(s.stat(name)); err != nil {
		return store.Object{}, err
	}
	s.objects[name] = all
	return s.stat(name)
}

// Remove implements [store.Writer].
func (s *toy) Remove(ctx context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(ctx, "remove", name); err != nil {
		return err
	}
	_, err := s.stat(name)
	delete(s.objects, name)
	return err
}

// set makes objects of the files below a folder.
func (s *toy) set(folder string) {
	s.objects, s.read, s.asked, s.fails = map[string][]byte{}, map[string]int64{}, 0, nil
	if folder == "" {
		return
	}
	filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(folder, path)
		s.objects[name], err = os.ReadFile(path)
		return err
	})
}

// names returns the objects below a prefix.
func (s *toy) names(prefix string) (all []string) {
	for name := range maps.Keys(s.objects) {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			all = append(all, rest)
		}
	}
	slices.Sort(all)
	return all
}

// toys has the scheme toy, for all tests.
var toys = sync.OnceValue(func() *toy {
	s := new(toy)
	s.set("")
	store.Register("toy", s)
	return s
})

// toyVariable makes this test binary the engine, with a folder as the content of its toy.
const toyVariable = "HEADRACE_TEST_TOY"

func beToy(folder string) {
	os.Unsetenv(toyVariable)
	toys().set(folder)
	main()
}

func TestToyIsAStore(t *testing.T) {
	s := toys()
	s.set("")
	storetest.Contract(t, s, func(name string, content []byte) {
		if _, err := store.Put(context.Background(), "toy://"+name, content, store.Condition{}); err != nil {
			t.Fatal(err)
		}
	})
}

// command runs a command line in this process, whose stores it has.
func command(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	root := rootCommand()
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	root.SetArgs(args)
	err = root.ExecuteContext(t.Context())
	return stdout.String() + stderr.String(), err
}

// bucket is a toy that has images in folders, with a recipe.
func bucket(t *testing.T) *toy {
	t.Helper()
	s := toys()
	t.Setenv("HEADRACE_CACHE", t.TempDir())
	folder := photographs(t, "")
	s.set(folder)
	s.objects["r.yaml"] = bytes.ReplaceAll(s.objects["r.yaml"], []byte(`"class*/*.jpg"`), []byte(`"toy://class*/*.jpg"`))
	return s
}

// TestCommandsOnAStore: recipes, data, shards and what is written are all objects, and
// the same as of files.
func TestCommandsOnAStore(t *testing.T) {
	s := bucket(t)
	folder := photographs(t, "")
	t.Chdir(folder)
	recipe, err := os.ReadFile("r.yaml")
	if err != nil {
		t.Fatal(err)
	}
	drop := func(text []byte) []byte { // keys have the scheme
		return bytes.Replace(text, []byte("  - decode_image\n"), []byte("  - drop: {fields: [key]}\n  - decode_image\n"), 1)
	}
	if err := os.WriteFile("nokeys.yaml", drop(recipe), 0o666); err != nil {
		t.Fatal(err)
	}
	s.objects["nokeys.yaml"] = drop(s.objects["r.yaml"])
	if out, err := command(t, "run", "nokeys.yaml", "--out", "tar:out/train-%03d.tar", "--shard-samples=8"); err != nil {
		t.Fatalf("%s %v", out, err)
	}

	out, err := command(t, "run", "toy://nokeys.yaml", "--out", "tar:toy://out/new/train-%03d.tar", "--shard-samples=8")
	if err != nil || !strings.Contains(out, "20 samples") || !strings.Contains(out, "toy://out/new/train-000.tar … train-002.tar") {
		t.Fatalf("%s %v", out, err)
	}
	if got := s.names("out/new/"); !slices.Equal(got, []string{"train-000.tar", "train-001.tar", "train-002.tar", "train.manifest.json"}) {
		t.Errorf("there are %q", got)
	}
	for name, want := range tree(t, filepath.Join(folder, "out")) {
		if got := string(s.objects["out/new/"+name]); got != want && !strings.Contains(name, "manifest") {
			t.Errorf("%s is another than on disk: %d bytes and %d", name, len(got), len(want))
		}
	}
	if out, err := command(t, "run", "toy://nokeys.yaml", "--out", "tar:toy://out/new/train-%03d.tar", "--shard-samples=8"); err != nil {
		t.Errorf("what is complete: %s %v", out, err)
	}
	if out, err := command(t, "run", "toy://nokeys.yaml", "--out", "tar:toy://out/new/train-%03d.tar", "--shard-samples=9"); err == nil || !strings.Contains(err.Error(), "toy://out/new/train.manifest.json") {
		t.Errorf("another run: %s %v", out, err)
	}

	for line, want := range map[string]string{
		"inspect toy://out/new/train-{000..002}.tar": "tar: 20 samples in 3 shards",
		"inspect toy://out/new/*.tar":                "tar: 20 samples in 3 shards",
		"inspect toy://r.yaml":                       "20 samples",
		"index toy://out/new/*.tar --beside --force": "20 samples, 3 shards of tar: toy://out/new/_headrace/",
		"preview toy://r.yaml -o toy://sheet.png":    "toy://sheet.png: 20 samples",
		"convert toy://r.yaml --to json":             `"toy://class*/*.jpg"`,
		"check toy://r.yaml":                         "",
		"list toy://class0/*.jpg":                    `"toy://class0/000.jpg"`,
		"doctor toy://out/new/train-{000..002}.tar":  "the last of 3 names",
	} {
		if out, err := command(t, strings.Fields(line)...); err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %s, %v", line, out, err)
		}
	}
	if !bytes.HasPrefix(s.objects["sheet.png"], []byte("\x89PNG")) || len(s.names("out/new/_headrace/")) != 1 {
		t.Errorf("there are %q", s.names(""))
	}

	out, err = command(t, "doctor", "toy://out/new/train-{000..003}.tar")
	if err == nil || !strings.Contains(out, "toy://out/new/train-003.tar") {
		t.Errorf("a shard is missing: %s, %v", out, err)
	}

	// The index beside the shards is found by those who have none.
	t.Setenv("HEADRACE_CACHE", t.TempDir())
	clear(s.read)
	if out, err := command(t, "inspect", "toy://out/new/*.tar"); err != nil || s.read["out/new/train-001.tar"] != 0 {
		t.Errorf("%s, %v; %v", out, err, s.read)
	}
}

// TestRunGoesOnInAStore: a run that fails at any call of the store is gone on with, and
// ends with the same objects.
func TestRunGoesOnInAStore(t *testing.T) {
	s := bucket(t)
	for _, c := range []struct {
		out    string
		flags  []string
		prefix string
	}{
		{"tar:toy://o/t-%02d.tar", []string{"--shard-samples=3"}, "o/"},
		{"parquet:toy://p/t-%02d.parquet", []string{"--shard-samples=7"}, "p/"},
		{"npy:toy://n", nil, "n/"},
	} {
		line := append([]string{"run", "toy://r.yaml", "--out", c.out}, c.flags...)
		if out, err := command(t, line...); err != nil {
			t.Fatalf("%s %v", out, err)
		}
		want := map[string]string{}
		for _, name := range s.names(c.prefix) {
			want[name] = string(s.objects[c.prefix+name])
			delete(s.objects, c.prefix+name)
		}

		failures := 0
		for n := 0; ; n++ { // each time, one call more is answered
			left := n
			s.fails = func(call, name string) error {
				if call != "put" && call != "remove" || !strings.HasPrefix(name, c.prefix) {
					return nil
				}
				if left--; left < 0 {
					return fmt.Errorf("toy: %w", syscall.EACCES)
				}
				return nil
			}
			_, err := command(t, line...)
			if err == nil {
				break
			}
			if !strings.Contains(err.Error(), "toy://"+c.prefix) {
				t.Fatalf("the error names no object: %v", err)
			}
			if failures++; failures > 60 {
				t.Fatalf("it gets nowhere: %v", err)
			}
		}
		s.fails = nil
		if out, err := command(t, line...); err != nil {
			t.Errorf("%s %v", out, err)
		}
		got := map[string]string{}
		for _, name := range s.names(c.prefix) {
			got[name] = string(s.objects[c.prefix+name])
		}
		sameTree(t, got, want)
		for name := range got {
			if _, ok := want[name]; !ok {
				t.Errorf("%s is left", name)
			}
		}
		if failures == 0 {
			t.Errorf("%s: no call has failed", c.out)
		}
	}

	// Another run that began meanwhile is told.
	s.objects["b/t.journal.json"] = []byte("{}")
	if _, err := command(t, "run", "toy://r.yaml", "--out", "tar:toy://b/t-%d.tar"); err == nil || !strings.Contains(err.Error(), "toy://b/t.journal.json is not a journal") {
		t.Error(err)
	}
	if _, err := command(t, "run", "toy://r.yaml", "--out", "tar:ftp://b/t-%d.tar"); !errors.Is(err, store.ErrScheme) {
		t.Error(err)
	}
}

// TestSamplesOfAStoreThatFails: the sample is named, and others come.
func TestSamplesOfAStoreThatFails(t *testing.T) {
	s := bucket(t)
	s.fails = func(call, name string) error {
		if call == "read" && strings.HasSuffix(name, "003.jpg") {
			return errors.New("toy: the line is cut")
		}
		return nil
	}
	_, err := command(t, "run", "toy://r.yaml", "--quiet")
	if err == nil || !strings.Contains(err.Error(), "003.jpg") || !strings.Contains(err.Error(), "toy: the line is cut") {
		t.Error(err)
	}
	out, err := command(t, "run", "toy://r.yaml", "--on-error", "skip", "--dead-letters", "toy://letters.jsonl")
	if err == nil || err.Error() != "exit code 3" || !strings.Contains(out, "19 samples") {
		t.Errorf("%s %v", out, err)
	}
	if lines := string(s.objects["letters.jsonl"]); strings.Count(lines, "\n") != 1 || !strings.Contains(lines, "003.jpg") {
		t.Errorf("the dead letters are %q", lines)
	}
	s.fails = func(call, name string) error {
		if call == "list" {
			return errors.New("toy: no rights")
		}
		return nil
	}
	if _, err := command(t, "run", "toy://r.yaml"); err == nil || !strings.Contains(err.Error(), `"toy://class*/*.jpg": toy: no rights`) {
		t.Error(err)
	}
}

// counted is a file whose reads are counted.
type counted struct {
	video.Bytes
	read int64
}

// ReadAt implements [io.ReaderAt].
func (c *counted) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.Bytes.ReadAt(p, at)
	c.read += int64(n)
	return n, err
}

// TestVideosOfAStore: of MP4, and of other files with an index, no more is read than the
// header and the packets of the frames.
func TestVideosOfAStore(t *testing.T) {
	s := bucket(t)
	filmsIn(t, t.TempDir())
	s.objects["v/cluster.mkv"] = testvideo.Read(t, testvideo.Names(".mkv")[0])
	s.objects["v/intra.mp4"] = testvideo.Read(t, "intra.mp4")
	for _, name := range []string{"v/intra.mp4", "v/cluster.mkv"} {
		if out, err := command(t, "index", "toy://"+name, "--beside"); err != nil {
			t.Fatalf("%s %v", out, err)
		}
		s.objects["v.yaml"] = []byte("headrace: 1\nsteps:\n  - files: {pattern: \"toy://" + name + "\", content: false}\n" +
			"  - decode_video: {frames: 2}\n  - resize: {size: [16, 16]}\n  - batch: {size: 1}\n")
		content := &counted{Bytes: s.objects[name]}
		v, err := video.Open(content, -1)
		if err != nil {
			t.Fatal(err)
		}
		header, most := content.read, int64(0)
		if strings.HasSuffix(name, ".mkv") {
			header = 64 // its kind; the rest is in the index
		}
		for i := range v.Table.Packets {
			most += int64(v.Table.Packets[i].Size)
		}
		clear(s.read)
		if out, err := command(t, "run", "toy://v.yaml"); err != nil {
			t.Fatalf("%s %v", out, err)
		}
		if strings.HasSuffix(name, "intra.mp4") {
			var largest int64
			for i := range v.Table.Packets {
				largest = max(largest, int64(v.Table.Packets[i].Size))
			}
			most = 2 * largest
		}
		if got := s.read[name]; got == 0 || got > header+most {
			t.Errorf("%s: %d bytes are read, header %d and frames %d, of %d", name, got, header, most, content.Size())
		}
	}
	if got := s.names("v/"); !slices.Contains(got, "cluster.mkv.hri") {
		t.Errorf("there are %q", got)
	}
}

// TestAFilmThatIsReplaced: a film is read in the version that its source has found, and
// not looked for again. One that is replaced ends the run, whatever is done about
// samples.
func TestAFilmThatIsReplaced(t *testing.T) {
	s := bucket(t)
	s.objects["v/intra.mp4"] = testvideo.Read(t, "intra.mp4")
	s.objects["v.yaml"] = []byte("headrace: 1\nsteps:\n  - files: {pattern: \"toy://v/*.mp4\", content: false}\n" +
		"  - decode_video: {frames: 2}\n  - resize: {size: [16, 16]}\n  - batch: {size: 1}\n")
	calls := map[string]int{}
	replace := func(call string, n int) {
		clear(calls)
		s.fails = func(is, name string) error {
			if name != "v/intra.mp4" {
				return nil
			}
			if calls[is]++; is == call && calls[is] == n {
				s.objects[name] = append(slices.Clone(s.objects[name]), 0)
			}
			return nil
		}
	}
	of := func(epochs string) map[string]int {
		replace("", 0)
		if out, err := command(t, "run", "toy://v.yaml", "--epochs", epochs); err != nil {
			t.Fatalf("%s %v", out, err)
		}
		return maps.Clone(calls)
	}
	one, two := of("1"), of("2")
	if n := two["stat"] - one["stat"]; n != 1 {
		t.Errorf("it is looked for %d times in an epoch", n)
	}
	for call, last := range map[string]int{"read": one["read"] + 1, "stat": one["stat"] + 1} {
		replace(call, last)
		out, err := command(t, "run", "toy://v.yaml", "--epochs", "9", "--on-error", "skip")
		if err == nil || !strings.Contains(err.Error(), "changed") || strings.Contains(err.Error(), "exit code") {
			t.Errorf("replaced before a %s: %v\n%s", call, err, out)
		}
		s.objects["v/intra.mp4"] = testvideo.Read(t, "intra.mp4")
	}
}

// TestPythonOnAStore runs a client whose engine is this binary, which has a toy.
func TestPythonOnAStore(t *testing.T) {
	tier.StartsProcesses(t)
	own := besidePython(t, toyProgram)
	filmsIn(t, t.TempDir())
	os.Mkdir(filepath.Join(own, "v"), 0o777)
	for path, content := range map[string][]byte{
		"v/a.mp4":        testvideo.Read(t, "intra.mp4"),
		"metadata.jsonl": toyTable(t, own),
	} {
		if err := os.WriteFile(filepath.Join(own, path), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(os.Getenv("HEADRACE_PYTHON"), "own.py")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.Dir, c.Env = own, append(os.Environ(), toyVariable+"="+own, "HEADRACE_ENGINE="+self, "HEADRACE_CACHE="+t.TempDir())
	if out, err := c.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), "all is well\n") {
		t.Errorf("%s\n%v", out, err)
	}
}

// toyTable is metadata of the images in a folder.
func toyTable(t *testing.T, folder string) []byte {
	all, err := filepath.Glob(filepath.Join(folder, "class*/*.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for i, path := range all {
		name, _ := filepath.Rel(folder, path)
		fmt.Fprintf(&b, "{\"file_name\": %q, \"caption\": \"n%d\"}\n", name, i)
	}
	return b.Bytes()
}

const toyProgram = `
import glob
import numpy
import headrace as hr

local = sorted(glob.glob("class*/*.jpg"))


def loop(described):
    with described.loader() as loader:
        return list(loader), getattr(loader, "classes", None)


def images(described):
    return described.decode_image().resize((8, 8)).batch(100)


ours, classes = loop(images(hr.files("toy://class*/*.jpg", label="parent")))
theirs, same = loop(images(hr.files("class*/*.jpg", label="parent")))
assert list(ours[0]["key"]) == ["toy://" + name for name in local], list(ours[0]["key"])
assert (ours[0]["image"] == theirs[0]["image"]).all() and (ours[0]["label"] == theirs[0]["label"]).all() and classes == same

mixed, _ = loop(images(hr.files([("toy://" + local[0], 1), (local[1], 2)])))
assert mixed[0]["label"].tolist() == [1, 2]
table, _ = loop(images(hr.files("toy://", metadata="metadata.jsonl")))
assert list(table[0]["caption"]) == [f"n{i}" for i in range(len(local))]
assert (table[0]["image"] == theirs[0]["image"]).all()

lines, _ = loop(hr.read("toy://metadata.jsonl").batch(100))
assert len(lines[0]["caption"]) == len(local)

clips, _ = loop(hr.files("toy://v/*.mp4", content=False).decode_video(2).resize((8, 8)).batch(1))
again, _ = loop(hr.files("v/*.mp4", content=False).decode_video(2).resize((8, 8)).batch(1))
assert (clips[0]["video" if "video" in clips[0] else "image"] == again[0]["video" if "video" in again[0] else "image"]).all()

assert (hr.io.load_image("toy://" + local[0]) == hr.io.load_image(local[0])).all()
assert (hr.io.load_video("toy://v/a.mp4", start=0.1, duration=0.2) == hr.io.load_video("v/a.mp4", start=0.1, duration=0.2)).all()
with hr.io.stream_video("toy://v/a.mp4") as stream, hr.io.stream_video("v/a.mp4") as other:
    for a, b in zip(stream, other):
        assert (numpy.asarray(a.frames if hasattr(a, "frames") else a) == numpy.asarray(b.frames if hasattr(b, "frames") else b)).all()
sound = (numpy.arange(8000) % 251).astype(numpy.int16).reshape(-1, 1)
hr.io.save_audio("toy://new/a.wav", sound, 8000)
assert hr.io.audio_info("toy://new/a.wav").samples == 8000
hr.io.save_image("toy://new/a.png", numpy.full((4, 4, 3), 7, numpy.uint8))
assert (hr.io.load_image("toy://new/a.png") == 7).all()
try:
    hr.io.load_image("toy://none.jpg")
except FileNotFoundError as error:
    assert "toy://none.jpg" in str(error)
else:
    raise AssertionError
with images(hr.files("toy://class*/*.jpg")).loader() as loader:
    loader.preview(4).save("toy://new/sheet.png")
assert hr.io.load_image("toy://new/sheet.png").ndim == 3
hr.io.close()
print("all is well")
`
