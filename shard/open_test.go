package shard_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	_ "github.com/headrace/headrace/shard/formats"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/shardtest"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/tensor"
)

// caption is what a sample of a shard has as JSON.
func caption(shard, i int) string {
	return fmt.Sprintf(`{"text": "sample %d of %d", "size": {"w": %d}, "score": 0.5, "good": true, "tags": ["a", %d]}`, i, shard, i, shard)
}

func picture(shard, i int) []byte {
	return bytes.Repeat([]byte{byte(shard), byte(i)}, 300*(i%5)+1)
}

// write writes a shard of n samples.
func write(t testing.TB, path string, number, n int) {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	add := func(name string, body []byte) {
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(body)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		key := fmt.Sprintf("%02d/%05d", number, i)
		suffix := "jpg"
		if i%7 == 3 {
			suffix = "png"
		}
		add(key+"."+suffix, picture(number, i))
		add(key+".cls", fmt.Appendf(nil, "%d\n", i%10))
		add(key+".json", []byte(caption(number, i)))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// set writes shards with so many samples, and keeps indices in a folder of their own.
func set(t testing.TB, counts ...int) (root string) {
	t.Helper()
	t.Setenv(index.Variable, t.TempDir())
	root = t.TempDir()
	for k, n := range counts {
		write(t, filepath.Join(root, fmt.Sprintf("train-%03d.tar", k)), k, n)
	}
	return root
}

func open(t testing.TB, root, from string, o shard.Options) *shard.Dataset {
	t.Helper()
	o.Root = root
	d, err := shard.Open(context.Background(), []string{from}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// Samples are read by number, whatever the order, by several goroutines at once.
func TestRead(t *testing.T) {
	counts := []int{40, 0, 1, 300}
	d := open(t, set(t, counts...), "train-{000..003}.tar", shard.Options{})
	r, err := d.Select(t.Context(),
		shard.Column{From: "jpg;png"}, shard.Column{From: "cls"}, shard.Column{From: "json.text"}, shard.Column{From: "json.size.w"}, shard.Column{From: "json.score"},
		shard.Column{From: "json.good"}, shard.Column{From: "json.tags.1"}, shard.Column{From: "cls", Type: sample.TextType}, shard.Column{From: "__key__"},
		shard.Column{From: "cls", Type: sample.TensorType(tensor.Uint8)}, shard.Column{From: "json.size"}, shard.Column{From: "json", Type: sample.BytesType})
	if err != nil {
		t.Fatal(err)
	}
	types := fmt.Sprint(r.Types())
	if want := "[bytes int64 text int64 float64 bool int64 text text uint8 text bytes]"; types != want {
		t.Errorf("%s, want %s", types, want)
	}
	if d.Len() != 341 || d.Format.Name() != "tar" {
		t.Fatalf("%d samples", d.Len())
	}

	var all sync.WaitGroup
	for range 4 {
		order := rand.Perm(341)
		all.Go(func() {
			var p shard.Place
			for _, i := range order {
				number, in := 0, i
				for in >= counts[number] {
					in -= counts[number]
					number++
				}
				if err := r.Locate(int64(i), &p); err != nil {
					t.Error(err)
					return
				}
				values, read, err := r.Read(t.Context(), &p, make([]byte, p.Bytes))
				if err != nil {
					t.Error(err)
					return
				}
				key := fmt.Sprintf("%02d/%05d", number, in)
				for k, want := range []string{
					string(picture(number, in)), numbers(in % 10), fmt.Sprintf("sample %d of %d", in, number), numbers(in), "\x00\x00\x00\x00\x00\x00\xe0\x3f", "\x01", numbers(number),
					fmt.Sprintf("%d\n", in%10), key, string(rune(in % 10)), fmt.Sprintf(`{"w": %d}`, in), caption(number, in),
				} {
					if string(values[k].Bytes) != want {
						t.Errorf("sample %d: value %d is %q, want %q", i, k, values[k].Bytes, want)
					}
				}
				if k := d.Key(int64(i)); k != key {
					t.Errorf("key %q, want %q", k, key)
				}
				if read != p.Bytes {
					t.Errorf("%d bytes were read, and there was room for %d", read, p.Bytes)
				}
			}
		})
	}
	all.Wait()
	if n := testing.AllocsPerRun(100, func() {
		one, err := d.Select(context.Background(), shard.Column{From: "json"})
		if err != nil {
			t.Fatal(err)
		}
		var p shard.Place
		if err := one.Locate(5, &p); err != nil {
			t.Fatal(err)
		}
	}); n > 40 {
		t.Errorf("%v allocations", n)
	}
}

func numbers(v int) string {
	b := make([]byte, 8)
	for i := range b {
		b[i] = byte(v >> (8 * i))
	}
	return string(b)
}

// Names that there are not are refused with those that there are, and so are types.
func TestFieldsThatAreNotThere(t *testing.T) {
	d := open(t, set(t, 10), "train-000.tar", shard.Options{})
	for _, c := range []struct {
		column shard.Column
		says   string
	}{
		{shard.Column{From: "jpeg"}, `did you mean "jpg"? The samples have jpg, cls, json, png, __key__`},
		{shard.Column{From: "zzzzz"}, `"zzzzz"; the samples have jpg`},
		{shard.Column{From: "json.none"}, `it has no member "none"`},
		{shard.Column{From: "json.text.a"}, "damaged"},
		{shard.Column{From: "a;b"}, `"a;b"; the samples have`},
		{shard.Column{From: "cls;json"}, "give their type"},
	} {
		if _, err := d.Select(t.Context(), c.column); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want …%s…", c.column, err, c.says)
		}
	}

	r, err := d.Select(t.Context(), shard.Column{From: "png"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shardtest.One(t.Context(), r, 0); !errors.Is(err, shard.ErrNoField) || !strings.Contains(err.Error(), `"png"; sample 0 of train-000.tar has jpg, cls, json`) {
		t.Error(err)
	}
	for _, c := range []shard.Column{{From: "json", Type: sample.TensorType(tensor.Int64)}, {From: "cls", Type: sample.TensorType(tensor.Float32, 2)}, {From: "json.text", Type: sample.TensorType(tensor.Int32)}} {
		r, err := d.Select(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := shardtest.One(t.Context(), r, 1); !errors.Is(err, shard.ErrCorrupt) || !strings.Contains(err.Error(), "in train-000.tar, sample 1") {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// The index is the same with any number of workers, and is found again; what has changed
// is indexed again, and nothing else.
func TestIndexIsKept(t *testing.T) {
	root := set(t, 30, 20, 10)
	var scanned []int
	o := shard.Options{Scanned: func(done, all int) { scanned = append(scanned, all) }}
	opened := func(o shard.Options) (string, []byte) {
		t.Helper()
		scanned = nil
		d := open(t, root, "train-*.tar", o)
		data, err := os.ReadFile(d.Kept())
		if err != nil {
			t.Fatal(err)
		}
		return d.Kept(), data
	}
	at, first := opened(o)
	if len(scanned) != 3 || !strings.HasPrefix(at, os.Getenv(index.Variable)) {
		t.Errorf("%v shards were scanned, and the index is %s", scanned, at)
	}
	if _, again := opened(o); len(scanned) != 0 || !bytes.Equal(first, again) {
		t.Errorf("%v shards were scanned again", scanned)
	}
	o.Force, o.Jobs = true, 8
	if _, again := opened(o); len(scanned) != 3 || !bytes.Equal(first, again) {
		t.Error("another index with 8 jobs")
	}
	o.Force, o.Jobs = false, 0

	// Replaced by one of the same size, within the same second.
	path := filepath.Join(root, "train-001.tar")
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path+".new", 1, 20)
	if err := errors.Join(os.Chtimes(path+".new", before.ModTime(), before.ModTime()), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
	if _, again := opened(o); len(scanned) != 1 || bytes.Equal(first, again) {
		t.Errorf("%v shards were scanned", scanned)
	}
	write(t, path, 1, 21) // appended
	if opened(o); len(scanned) != 1 {
		t.Errorf("%v shards were scanned", scanned)
	}
	write(t, filepath.Join(root, "train-003.tar"), 3, 5) // one more: another set, another index
	if opened(o); len(scanned) != 4 {
		t.Errorf("%v shards were scanned", scanned)
	}

	// Beside the shards.
	o.Beside = true
	if at, _ := opened(o); len(scanned) != 0 {
		t.Errorf("%s: %v shards were scanned", at, scanned)
	}
	o.Force = true
	if at, _ := opened(o); filepath.Dir(at) != filepath.Join(root, "_headrace") {
		t.Errorf("the index is %s", at)
	}
	o = shard.Options{Scanned: o.Scanned}
	t.Setenv(index.Variable, t.TempDir())
	if at, _ := opened(o); len(scanned) != 0 || filepath.Dir(at) != filepath.Join(root, "_headrace") {
		t.Errorf("%s: %v shards were scanned", at, scanned)
	}
}

// A damaged index is made again, whenever that is found.
func TestDamagedIndex(t *testing.T) {
	root := set(t, 30, 20)
	d := open(t, root, "train-*.tar", shard.Options{})
	at := d.Kept()
	whole, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	for i := 18; i < len(whole); i += 11 {
		bad := bytes.Clone(whole)
		bad[i] ^= 1
		if err := os.WriteFile(at+".bad", bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(at+".bad", at); err != nil { // as d has the other one mapped
			t.Fatal(err)
		}
		other := open(t, root, "train-*.tar", shard.Options{})
		for n := range d.Len() {
			if other.Key(n) != d.Key(n) {
				t.Fatalf("byte %d of the index: sample %d is %q, want %q", i, n, other.Key(n), d.Key(n))
			}
		}
	}
	if err := os.WriteFile(at, []byte("x"), 0o644); err == nil {
		if open(t, root, "train-*.tar", shard.Options{}).Len() != 50 {
			t.Error("other samples")
		}
	}

	// Where nothing can be written, the index stays in memory.
	t.Setenv(index.Variable, filepath.Join(root, "train-000.tar"))
	if d := open(t, root, "train-*.tar", shard.Options{}); d.Kept() != "" || d.Len() != 50 {
		t.Errorf("%q", d.Kept())
	}
}

// A shard that changes meanwhile is named.
func TestShardThatChanges(t *testing.T) {
	root := set(t, 30, 20)
	d := open(t, root, "train-*.tar", shard.Options{})
	r, err := d.Select(t.Context(), shard.Column{From: "cls"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "train-001.tar"), 1, 25)
	var p shard.Place
	if err := r.Locate(40, &p); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Read(t.Context(), &p, make([]byte, p.Bytes)); !errors.Is(err, shard.ErrChanged) || !strings.Contains(err.Error(), "train-001.tar") {
		t.Error(err)
	}
	d.Close()
	if err := r.Locate(0, &p); !errors.Is(err, shard.ErrClosed) {
		t.Error(err)
	}
	if d.Key(0) == "" {
		t.Error("no key")
	}
}

// A set is known again wherever it is, and a shard that is another one is named.
func TestDigest(t *testing.T) {
	root := set(t, 3, 4, 5, 6, 7)
	was := open(t, root, "train-*.tar", shard.Options{}).Digest()
	changed := func(root string) error {
		d := open(t, root, "train-*.tar", shard.Options{})
		return d.Changed(was)
	}
	moved := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.CopyFS(moved, os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	if err := changed(moved); err != nil {
		t.Error(err)
	}
	for i := range 5 {
		other := filepath.Join(t.TempDir(), "other")
		if err := os.CopyFS(other, os.DirFS(root)); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("train-%03d.tar", i)
		write(t, filepath.Join(other, name), i, 9)
		if err := changed(other); !errors.Is(err, shard.ErrChanged) || !strings.Contains(err.Error(), name) {
			t.Error(err)
		}
		if err := os.Rename(filepath.Join(other, name), filepath.Join(other, name[:9]+"x.tar")); err != nil {
			t.Fatal(err)
		}
		if err := changed(other); !errors.Is(err, shard.ErrChanged) {
			t.Error(err)
		}
	}
	write(t, filepath.Join(moved, "train-000.tar"), 0, 9)
	write(t, filepath.Join(moved, "train-003.tar"), 3, 9)
	if err := changed(moved); !errors.Is(err, shard.ErrChanged) || !strings.Contains(err.Error(), "several shards") {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(moved, "train-004.tar")); err != nil {
		t.Fatal(err)
	}
	if err := changed(moved); !errors.Is(err, shard.ErrChanged) || !strings.Contains(err.Error(), "there were 5 shards, and now there are 4") {
		t.Error(err)
	}
	for _, bad := range []string{"", "5", "5:x:1:1:1", "x:1"} {
		if err := open(t, root, "train-*.tar", shard.Options{}).Changed(bad); !errors.Is(err, shard.ErrCorrupt) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestWhatIsNotRead(t *testing.T) {
	root := set(t, 2, 2)
	if err := os.WriteFile(filepath.Join(root, "words.dat"), []byte("words"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"empty", "photos"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "photos/cat.jpg"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from, format string
		kind         error
		says         string
	}{
		{"train-{000..009}.tar", "", fs.ErrNotExist, "train-002.tar"},
		{"train-{000..009}.tar", "", fs.ErrNotExist, "(and so are 8 of 10 shards)"},
		{"none-*.tar", "", nil, "matches nothing"},
		{"empty", "", nil, `no files: the folder "empty" holds no shards, such as .tar`},
		{"photos", "", nil, `images, recordings and videos are read by files("photos"), for which headrace init prints a recipe`},
		{"photos", "tar", nil, `the folder "photos" holds no file that ends in ".tar"`},
		{"words.dat", "", shard.ErrUnsupported, "words.dat: not supported: neither its first bytes nor its name show a format"},
		{"words.dat", "tar", shard.ErrTruncated, "words.dat at byte 0"},
		{"train-000.tar", "none", shard.ErrUnsupported, `there is no format "none", but tar`},
		{"pipe:cat train-000.tar", "", shard.ErrUnsupported, "is a command"},
		{"s3://bucket/train-{000..001}.tar", "", store.ErrScheme, "unknown scheme"},
		{"train-{0..99999999}.tar", "", nil, "more than 4194304 names"},
	} {
		_, err := shard.Open(t.Context(), []string{c.from}, shard.Options{Root: root, Format: c.format})
		if err == nil || c.kind != nil && !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want …%s…", c.from, err, c.says)
		}
	}
	if _, err := shard.Open(t.Context(), nil, shard.Options{}); !errors.Is(err, shard.ErrNoShards) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := shard.Open(ctx, []string{"train-*.tar"}, shard.Options{Root: root}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	d := open(t, root, root, shard.Options{}) // a folder
	if d.Len() != 4 {
		t.Errorf("%d samples", d.Len())
	}
	if err := os.WriteFile(filepath.Join(root, "train-{000..001}.tar"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := shard.Open(t.Context(), []string{"train-{000..001}.tar"}, shard.Options{Root: root}); !errors.Is(err, shard.ErrTruncated) {
		t.Errorf("a file whose name has braces: %v", err)
	}
}

// More shards than may be open at once are read all the same, and a hundred thousand are
// listed, indexed and found again.
func TestManyShards(t *testing.T) {
	t.Setenv(index.Variable, t.TempDir())
	root := t.TempDir()
	shards := tier.Cases(1500, 100_000)
	for i := range shards {
		if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("train-%06d.jsonl", i)), fmt.Appendf(nil, `{"n": %d}`, i), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, from := range []string{"train-*.jsonl", fmt.Sprintf("train-{000000..%06d}.jsonl", shards-1)} {
		begin := time.Now()
		d := open(t, root, from, shard.Options{})
		t.Log(from, "is open after", time.Since(begin))
		if d.Len() != int64(shards) {
			t.Fatalf("%d samples", d.Len())
		}
		r, err := d.Select(t.Context(), shard.Column{From: "n"})
		if err != nil {
			t.Fatal(err)
		}

		for _, i := range append(rand.Perm(shards)[:1500], 0, shards-1) {
			values, err := shardtest.One(t.Context(), r, int64(i))
			if err != nil {
				t.Fatal(err)
			}
			if string(values[0].Bytes) != numbers(i) {
				t.Errorf("sample %d is %q", i, values[0].Bytes)
			}
		}
	}
}
