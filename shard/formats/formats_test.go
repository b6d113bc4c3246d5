package formats

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/shardtest"
)

// Every file that the packages of formats are tested with is read through an index, too,
// as an independent reader reads it: found by what is in it, by number, twice.
func TestAllFormats(t *testing.T) {
	t.Setenv(index.Variable, t.TempDir())
	files, err := filepath.Glob("../*/testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, golden := range files {
		path := strings.TrimSuffix(golden, ".json")
		if s, err := os.Stat(path); err != nil || s.IsDir() || strings.HasSuffix(golden, "index.json") || strings.Contains(path, "array_record") {
			continue
		}
		tried++
		t.Run(strings.ReplaceAll(strings.TrimPrefix(path, "../"), "/testdata/", "/"), func(t *testing.T) {
			want := shardtest.Golden(t, golden)
			for range 2 {
				d, err := shard.Open(context.Background(), []string{path}, shard.Options{})
				if err != nil {
					t.Fatal(err)
				}
				compare(t, d, want)
				d.Close()
			}
		})
	}
	if tried < 10 {
		t.Errorf("%d files", tried)
	}
}

func compare(t *testing.T, d *shard.Dataset, want []shardtest.Sample) {
	t.Helper()
	if d.Len() != int64(len(want)) {
		t.Fatalf("%d samples, want %d", d.Len(), len(want))
	}
	schema, err := d.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var p shard.Place
	for _, i := range []int{len(want) - 1, 0, len(want) / 2} {
		if i < 0 {
			return
		}
		for name, value := range want[i].Fields {
			if schema.Find(name) < 0 { // the first record has other fields
				continue
			}
			c := shard.Column{From: name}
			if value.Type == "bytes" {
				c.Type = sample.BytesType
			}
			r, err := d.Select(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Locate(int64(i), &p); err != nil {
				t.Fatal(err)
			}
			got, _, err := r.Read(t.Context(), &p, make([]byte, p.Bytes))
			if err != nil {
				t.Fatal(err)
			}
			if string(got[0].Bytes) != string(value.Bytes) {
				t.Errorf("sample %d: field %q is %.40q, want %.40q", i, name, got[0].Bytes, value.Bytes)
			}
		}
	}
}
