package shard_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/tensor"
)

// Files of the same rows, with lists and texts of any length, also none.
const rowsOfAnyLength = `
import gzip, io, json, random
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

def write(args):
    rng = random.Random(0)
    n = args["rows"]
    lists = [[rng.randrange(1000) for _ in range(rng.choice([0, 1, 3, 40]))] for _ in range(n)]
    texts = ["ü" * rng.choice([0, 1, 7, 300]) + str(i) for i in range(n)]
    four = [[float(i), 1.5, -2.0, rng.random()] for i in range(n)]
    table = pa.table({
        "list": pa.array(lists, pa.list_(pa.int32())), "text": texts, "n": range(n), "four": pa.array(four, pa.list_(pa.float32(), 4)),
    })
    files = {}
    def parquet(name, **how):
        out = io.BytesIO()
        pq.write_table(table, out, row_group_size=n // 3, data_page_size=2000, **how)
        files[name] = out.getvalue()
    parquet("plain.parquet", use_dictionary=False, compression="none")
    parquet("zstd.parquet", compression="zstd", data_page_version="2.0")
    parquet("summed.parquet", write_page_checksum=True)
    for name, codec in (("plain.arrow", None), ("lz4.arrow", "lz4")):
        out = io.BytesIO()
        with pa.ipc.new_file(out, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as w:
            w.write_table(table, max_chunksize=n // 4)
        files[name] = out.getvalue()
    lines = [(json.dumps({"list": l, "text": t, "n": i, "four": f}, ensure_ascii=False) + "\n").encode() for i, (l, t, f) in
             enumerate(zip(lists, texts, four))]
    files["plain.jsonl"] = b"".join(lines)
    files["packed.jsonl.gz"] = b"".join(gzip.compress(b"".join(lines[i:i + 50])) for i in range(0, n, 50))
    return list(files), *files.values()
`

// A gather of columns is what the samples are one by one, in whatever order they are
// asked for, twice as well.
func TestGathersAreTheSamples(t *testing.T) {
	const rows = 600
	root := t.TempDir()
	t.Setenv(index.Variable, t.TempDir())
	var names []string
	for i, blob := range oracle.Run(t, rowsOfAnyLength, "write", map[string]any{"rows": rows}, &names) {
		if err := os.WriteFile(filepath.Join(root, names[i]), blob, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	some := func(n int) (all []int64) {
		for range n {
			all = append(all, r.Int64N(rows))
		}
		return all
	}
	few := some(200)
	slices.Sort(few)
	all := make([]int64, rows)
	for i := range all {
		all[i] = int64(i)
	}
	orders := [][]int64{all, some(1000), few, {599, 0}, {7, 7, 7}, {}}

	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			d, err := shard.Open(t.Context(), []string{name}, shard.Options{Root: root})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			reader, err := d.Select(t.Context(),
				shard.Column{From: "list", Type: sample.TensorType(tensor.Int32, tensor.Unknown)},
				shard.Column{From: "text"}, shard.Column{From: "n"},
				shard.Column{From: "four", Type: sample.TensorType(tensor.Float32, 4)})
			if err != nil {
				t.Fatal(err)
			}
			g, err := reader.Gatherer([]int{0, 1, 2, 3, shard.Keys}, 1<<20, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, samples := range orders {
				lists, texts, keys := &sample.Texts{}, &sample.Texts{}, &sample.Texts{}
				numbers, fours := make([]byte, 8*len(samples)), make([]byte, 16*len(samples))
				into := []shard.Target{{Texts: lists}, {Texts: texts}, {Data: numbers}, {Data: fours}, {Texts: keys}}
				if _, err := g.Gather(t.Context(), samples, into); err != nil {
					t.Fatal(err)
				}
				if len(keys.Bytes) > 0 {
					t.Fatal("names of rows are written")
				}
				var p shard.Place
				for row, i := range samples {
					if err := reader.Locate(i, &p); err != nil {
						t.Fatal(err)
					}
					want, _, err := reader.Read(t.Context(), &p, make([]byte, p.Bytes))
					if err != nil {
						t.Fatal(err)
					}
					got := [][]byte{lists.At(row), texts.At(row), numbers[8*row:][:8], fours[16*row:][:16]}
					for k := range want {
						if !bytes.Equal(got[k], want[k].Bytes) {
							t.Fatalf("row %d, sample %d, column %d: %q, want %q", row, i, k, got[k], want[k].Bytes)
						}
					}
					if got, want := string(keys.At(row)), d.Key(i); got != want {
						t.Fatalf("row %d has the name %q, want %q", row, got, want)
					}
				}
			}
		})
	}
}
