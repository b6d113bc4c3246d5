package formats_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	_ "github.com/headrace/headrace/shard/formats"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/shardtest"
	"github.com/headrace/headrace/tensor"
)

// Every format is read through shard.Open as it is through the suite: with an index, and
// another time with the index that was kept.
func TestOpen(t *testing.T) {
	unpacked := t.TempDir()
	for _, c := range []struct {
		format, from string
		golden       []string // of the shards, one after the other
		fields       string
		most         int // samples that have these fields; 0: all
	}{
		{"tfrecord", "tfrecord/testdata/plain.tfrecord", []string{"tfrecord/testdata/plain.tfrecord"}, "image/encoded image/class score", 6},
		{"tfrecord", "tfrecord/testdata/gzip.tfrecord.gz", []string{"tfrecord/testdata/gzip.tfrecord.gz"}, "image/encoded image/class score", 6},
		{"arrayrecord", unpack(t, unpacked, "zstd"), []string{unpack(t, unpacked, "zstd.array_record.json")}, "image/encoded image/class score", 6},
		{"npy", "npy/testdata/images.npy", []string{"npy/testdata/images.npy"}, "array", 0},
		{"zip", "zipfile/testdata/stored.npz", []string{"zipfile/testdata/stored.npz"}, "images labels weights", 0},
		{"zip", "zipfile/testdata/deflated.npz", []string{"zipfile/testdata/deflated.npz"}, "images labels weights", 0},
		{"zip", "zipfile/testdata/stream.zip", []string{"zipfile/testdata/stream.zip"}, "jpg", 1},
		{"megatron", "megatron/testdata/text.bin", []string{"megatron/testdata/text.bin"}, "tokens", 0},
		{"mds", "mds/testdata/plain", []string{"mds/testdata/plain/shard.00000.mds", "mds/testdata/plain/shard.00001.mds"}, "a_bytes b_str c_int d_uint8 e_float32 i_fixed l_pil", 0},
		{"mds", "mds/testdata/zstd/index.json", []string{"mds/testdata/zstd/shard.00000.mds.zstd"}, "a_bytes b_str c_int l_pil", 0},
		{"litdata", "litdata/testdata/plain", []string{"litdata/testdata/plain/chunk-0-0.bin", "litdata/testdata/plain/chunk-0-1.bin"}, "bytes label good text pair.0 row", 0},
		{"litdata", "litdata/testdata/batch", []string{"litdata/testdata/batch/chunk-0-0.bin"}, "bytes label text row", 0},
	} {
		t.Run(strings.ReplaceAll(c.from, "/", "·"), func(t *testing.T) {
			t.Setenv(index.Variable, t.TempDir())
			var want []shardtest.Sample
			for _, name := range c.golden {
				want = append(want, shardtest.Golden(t, under(name)+".json")...)
			}
			if c.most > 0 {
				want = want[:c.most]
			}
			for range 2 {
				readAll(t, c.format, under(c.from), strings.Fields(c.fields), want)
			}
		})
	}
}

// A pattern may match what other programs have put beside shards, which is none of them.
func TestIndicesBesideShardsAreNoShards(t *testing.T) {
	t.Setenv(index.Variable, t.TempDir())
	root := t.TempDir()
	records, err := os.ReadFile(under("tfrecord/testdata/plain.tfrecord"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"train-0": records, "train-0.idx": []byte("0 1\n"), "train-0.index": []byte("0 1\n"), // not true
		"train-1.a.tfrecord": records, "train-1.idx": nil, "train-1.a.idx": nil, "train-1.a.tfrecord.idx": nil,
		"alone.idx": records, "alone-2.index": records,
	} {
		if err := os.WriteFile(filepath.Join(root, name), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string][]string{
		"train-*": {"train-0", "train-1.a.tfrecord"},
		"alone*":  {"alone-2.index", "alone.idx"},
	} {
		d, err := shard.Open(t.Context(), []string{pattern}, shard.Options{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range d.Index().Shards {
			got = append(got, s.Name)
		}
		if d.Close(); !slices.Equal(got, want) {
			t.Errorf("%s: the shards are %q, want %q", pattern, got, want)
		}
	}
}

// What says where samples are is beside the shards, and may change while they do not.
func TestWhatIsBesideShardsChanges(t *testing.T) {
	t.Setenv(index.Variable, t.TempDir())
	root := t.TempDir()
	tokens := make([]byte, 12)
	for i := range tokens {
		tokens[i] = byte(i)
	}
	write := func(name string, content []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, name), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// As Megatron writes it: documents of bytes, with these lengths.
	describe := func(lengths ...uint32) {
		t.Helper()
		idx := append([]byte("MMIDIDX\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01"), make([]byte, 16)...)
		binary.LittleEndian.PutUint64(idx[18:], uint64(len(lengths)))
		binary.LittleEndian.PutUint64(idx[26:], uint64(len(lengths)+1))
		var at uint64
		var pointers, documents []byte
		for i, n := range lengths {
			idx = binary.LittleEndian.AppendUint32(idx, n)
			pointers = binary.LittleEndian.AppendUint64(pointers, at)
			documents = binary.LittleEndian.AppendUint64(documents, uint64(i))
			at += uint64(n)
		}
		documents = binary.LittleEndian.AppendUint64(documents, uint64(len(lengths)))
		write("x.idx", slices.Concat(idx, pointers, documents))
	}
	samples := func(name string) int64 {
		t.Helper()
		d, err := shard.Open(t.Context(), []string{filepath.Join(root, name)}, shard.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		r, err := d.Select(t.Context(), shard.Column{From: map[bool]string{true: "tokens", false: "c_int"}[name == "x.bin"]})
		if err != nil {
			t.Fatal(err)
		}
		for i := range d.Len() { // the shards are as they were
			if _, err := shardtest.One(t.Context(), r, i); err != nil {
				t.Fatal(err)
			}
		}
		return d.Len()
	}

	write("x.bin", tokens)
	describe(4, 4, 4)
	if n := samples("x.bin"); n != 3 {
		t.Errorf("%d documents, want 3", n)
	}
	describe(6, 6)
	if n := samples("x.bin"); n != 2 {
		t.Errorf("%d documents, want 2", n)
	}

	for _, name := range []string{"index.json", "shard.00000.mds", "shard.00001.mds"} {
		content, err := os.ReadFile(under("mds/testdata/plain/" + name))
		if err != nil {
			t.Fatal(err)
		}
		write(name, content)
	}
	samples("index.json")
	content, err := os.ReadFile(filepath.Join(root, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	write("index.json", bytes.Replace(content, []byte(`"samples": `), []byte(`"samples": 9`), 1))
	if _, err := shard.Open(t.Context(), []string{root + "/index.json"}, shard.Options{}); !errors.Is(err, shard.ErrCorrupt) {
		t.Errorf("an index.json that lies now: %v", err)
	}
}

// Of a message of TensorFlow, a user says what a feature is, and names some that the
// first record does not have.
func TestFeaturesAsTheyAreSaid(t *testing.T) {
	t.Setenv(index.Variable, t.TempDir())
	d, err := shard.Open(t.Context(), []string{"../tfrecord/testdata/plain.tfrecord"}, shard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, c := range []struct {
		from string
		as   sample.Type
		i    int64
		want string
		says string
	}{
		{"image/class", sample.TensorType(tensor.Int8), 1, "\xff", ""},
		{"image/class", sample.TensorType(tensor.Int64, tensor.Unknown), 0, "\x01\x00\x00\x00\x00\x00\x00\x00", ""},
		{"length", sample.TensorType(tensor.Int64), 6, "\x07\x00\x00\x00\x00\x00\x00\x00", ""},
		{"box", sample.TensorType(tensor.Float32, tensor.Unknown, 4), 0, "", ""},
		{"image/class", sample.TensorType(tensor.Uint8), 1, "", "a value does not fit into uint8"},
		{"length", sample.TensorType(tensor.Int64), 0, "", "this record has none"},
		{"names", sample.BytesType, 0, "", "it has 2 values of bytes"},
	} {
		r, err := d.Select(t.Context(), shard.Column{From: c.from, Type: c.as})
		if err != nil {
			t.Fatal(err)
		}
		values, err := shardtest.One(t.Context(), r, c.i)
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s as %v: %v, want …%s…", c.from, c.as, err, c.says)
			}
			continue
		}
		if err != nil || string(values[0].Bytes) != c.want {
			t.Errorf("%s as %v: %v, %v", c.from, c.as, values, err)
		}
	}
	if _, err := d.Select(t.Context(), shard.Column{From: "image/clazz"}); !errors.Is(err, shard.ErrNoField) {
		t.Errorf("a feature that no record has: %v", err)
	}
}

func under(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join("..", name)
}

// unpack returns a file of arrayrecord's, which are compressed, or what is before .json
// of its golden.
func unpack(t *testing.T, dir, name string) string {
	t.Helper()
	if !strings.HasSuffix(name, ".json") {
		name += ".array_record"
	}
	f, err := os.Open("../arrayrecord/testdata/" + name + ".gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // it was opened for reading
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, name)
	if err := os.WriteFile(to, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(to, ".json")
}

func readAll(t *testing.T, format, from string, fields []string, want []shardtest.Sample) {
	t.Helper()
	d, err := shard.Open(t.Context(), []string{from}, shard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Format.Name() != format || d.Len() < int64(len(want)) {
		t.Fatalf("%d samples of format %s", d.Len(), d.Format.Name())
	}
	var columns []shard.Column
	for _, name := range fields {
		columns = append(columns, shard.Column{From: name})
	}
	r, err := d.Select(t.Context(), columns...)
	if err != nil {
		t.Fatal(err)
	}

	for _, i := range rand.Perm(len(want)) {
		values, err := shardtest.One(t.Context(), r, int64(i))
		if err != nil {
			t.Fatalf("sample %d: %v", i, err)
		}
		for k, name := range fields {
			value := want[i].Fields[name]
			if !bytes.Equal(values[k].Bytes, value.Bytes) {
				t.Errorf("sample %d: %q is %q, want %q", i, name, values[k].Bytes, value.Bytes)
			}
			is := r.Types()[k]
			if values[k].Shape != nil {
				is.Shape = values[k].Shape
			}
			if is.Kind == sample.Tensor && is.Shape.Fixed() && is.String() != value.Type {
				t.Errorf("sample %d: %q is %v, want %s", i, name, is, value.Type)
			}
		}
	}
}

// Blocks of neighbours end where something ends that is unpacked as one, and are as large
// as is asked for. What is not packed has none.
func TestBlocksOfNeighbours(t *testing.T) {
	root := t.TempDir()
	t.Setenv(index.Variable, t.TempDir())
	packed := func(name string, lines ...int) {
		f, err := os.Create(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range lines { // a member each
			w := gzip.NewWriter(f)
			for i := range n {
				fmt.Fprintf(w, `{"n": %d}`+"\n", i)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	packed("a-0.jsonl.gz", 10, 20, 30)
	packed("a-1.jsonl.gz")
	packed("a-2.jsonl.gz", 7)
	if err := os.WriteFile(filepath.Join(root, "a-3.jsonl"), []byte(strings.Repeat("{\"n\": 1}\n", 9)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from  string
		least int64
		want  []int64
	}{
		{"a-*.jsonl.gz", 1, []int64{0, 10, 30, 60}},
		{"a-*.jsonl.gz", 11, []int64{0, 30, 60}},
		{"a-*.jsonl.gz", 31, []int64{0, 60}},
		{"a-*.jsonl.gz", 1000, []int64{0, 60}},
		{"a-*", 4, []int64{0, 10, 30, 60, 67, 71, 75}},
		{"a-3.jsonl", 4, nil},
	} {
		d, err := shard.Open(t.Context(), []string{c.from}, shard.Options{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		r, err := d.Select(t.Context(), shard.Column{From: "n"})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Blocks(c.least); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s, at least %d: %v, %v; want %v", c.from, c.least, got, err, c.want)
		}
		d.Close()
		if _, err := r.Blocks(1); !errors.Is(err, shard.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	}
}
