package mds_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/mds"
	"github.com/headrace/headrace/shard/shardtest"
	"github.com/headrace/headrace/tensor"
)

// golden are the shards of a set of testdata, which Streaming has written, and the
// samples that it reads in them: scripts/shard_goldens.py.
func golden(t testing.TB, name string) (all []shardtest.Case) {
	folder := shardtest.Load(t, "testdata/"+name)
	files := shardtest.Folder{}
	for file, data := range folder {
		if !strings.HasSuffix(file, ".json") || file == "index.json" {
			files[file] = data
		}
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if file == "index.json" {
			continue
		}
		all = append(all, shardtest.Case{
			Opener: mds.Opener{}, Index: "index.json", File: file, Folder: shardtest.Folder{file: files[file], "index.json": files["index.json"]},
			Want: shardtest.Golden(t, "testdata/"+name+"/"+file+".json"), Room: 300 << 20, // windows of zstd and brotli
		})
	}
	return all
}

func TestSetsOfStreaming(t *testing.T) {
	for _, name := range []string{"plain", "zstd", "gz", "br", "bz2", "snappy"} {
		for i, c := range golden(t, name) {
			if name == "plain" {
				c.Room = 0
			}
			if i == 0 && (name == "plain" || name == "zstd") {
				t.Run(name, c.Run)
			} else {
				t.Run(name+"/"+c.File, c.Read)
			}
		}
	}
}

func open(t *testing.T, index []byte, others ...string) (shard.Set, error) {
	t.Helper()
	folder := shardtest.Folder{"index.json": index}
	for _, name := range others {
		folder[name] = nil
	}
	f, err := folder.Open("index.json")
	if err != nil {
		t.Fatal(err)
	}
	return mds.Opener{}.Open(t.Context(), f)
}

func TestOpener(t *testing.T) {
	index := shardtest.Load(t, "testdata/plain")["index.json"]
	if o := (mds.Opener{}); !o.Begins(index[:512]) || o.Begins([]byte(`{"chunks": []}`)) || o.Begins(nil) {
		t.Error("Begins is wrong")
	}
	set, err := open(t, index)
	if err != nil || len(set.Shards()) < 2 || set.Shards()[0] != "shard.00000.mds" {
		t.Fatalf("%v, %v", set, err)
	}
	if empty, err := open(t, []byte(`{"shards": [], "version": 2}`)); err != nil || len(empty.Shards()) != 0 {
		t.Errorf("%v, %v", empty, err)
	}

	// What Streaming has unpacked beside an index of compressed shards.
	packed := shardtest.Load(t, "testdata/zstd")["index.json"]
	for want, others := range map[string][]string{
		"shard.00000.mds.zstd": {"shard.00000.mds.zstd", "shard.00000.mds"}, "shard.00000.mds": {"shard.00000.mds"},
	} {
		if set, err := open(t, packed, others...); err != nil || set.Shards()[0] != want {
			t.Errorf("%v: %v, %v", others, set, err)
		}
	}
}

// edited is the index of a set with other values of one shard.
func edited(t *testing.T, edit func(shard map[string]any, all map[string]any)) []byte {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(shardtest.Load(t, "testdata/plain")["index.json"], &all); err != nil {
		t.Fatal(err)
	}
	edit(all["shards"].([]any)[0].(map[string]any), all)
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestIndexesThatAreRefused(t *testing.T) {
	type object = map[string]any
	for _, c := range []struct {
		edit func(shard, all object)
		kind error
		says string
	}{
		{func(_, all object) { all["version"] = 3 }, shard.ErrUnsupported, "MDS version 3: must be 2"},
		{func(_, all object) { delete(all, "shards") }, shard.ErrUnsupported, "version 2"},
		{func(_, all object) { all["shards"] = 1 }, shard.ErrCorrupt, "cannot unmarshal"},
		{func(s, _ object) { s["format"] = "json" }, shard.ErrUnsupported, `format "json" version 2: must be "mds"`},
		{func(s, _ object) { s["version"] = 1 }, shard.ErrUnsupported, "version 1"},
		{func(s, _ object) { s["raw_data"] = nil }, shard.ErrCorrupt, "shard 0 has no size"},
		{func(s, _ object) { s["samples"] = -1 }, shard.ErrCorrupt, "shard 0 has no size"},
		{func(s, _ object) { s["raw_data"].(object)["bytes"] = -1 }, shard.ErrCorrupt, "shard 0 has no size"},
		{func(s, _ object) { s["raw_data"].(object)["basename"] = "../../etc/passwd" }, shard.ErrCorrupt, `"../../etc/passwd" is not the name of a shard`},
		{func(s, _ object) { s["raw_data"].(object)["basename"] = "/etc/passwd" }, shard.ErrCorrupt, "is not the name of a shard"},
		{func(s, _ object) { s["raw_data"].(object)["basename"] = "" }, shard.ErrCorrupt, "is not the name of a shard"},
		{func(s, _ object) { s["raw_data"].(object)["basename"] = "shard.00001.mds" }, shard.ErrCorrupt, `two shards have the name "shard.00001.mds"`},
		{func(s, _ object) { s["compression"] = "lzma" }, shard.ErrUnsupported, `the compression "lzma"`},
		{func(s, _ object) { s["compression"] = "zstd" }, shard.ErrUnsupported, `the compression "zstd"`},
		{func(s, _ object) { s["column_names"].([]any)[0] = "other" }, shard.ErrUnsupported, "have other columns"},
	} {
		_, err := open(t, edited(t, c.edit))
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "index.json") {
			t.Errorf("%v, want …%s…", err, c.says)
		}
	}
}

// one is an index of a shard of these columns, and the error that it gives.
func one(t *testing.T, names, encodings, sizes string) error {
	t.Helper()
	_, err := open(t, []byte(`{"version": 2, "shards": [{"format": "mds", "version": 2, "samples": 0, "raw_data": {"basename": "a.mds", "bytes": 8},
		"column_names": `+names+`, "column_encodings": `+encodings+`, "column_sizes": `+sizes+`}]}`))
	return err
}

func TestColumnsThatAreRefused(t *testing.T) {
	for _, c := range []struct{ names, encodings, sizes, says string }{
		{`["a"]`, `["int", "int"]`, `[8]`, "1 columns have 2 encodings and 1 sizes"},
		{`["a", "a"]`, `["int", "int"]`, `[8, 8]`, `column "a" of 8 bytes`},
		{`[""]`, `["int"]`, `[8]`, `column "" of 8 bytes`},
		{`["a"]`, `["int"]`, `[-8]`, `column "a" of -8 bytes`},
		{`["a"]`, `["int"]`, `[99999999999]`, `column "a" of 99999999999 bytes`},
		{`["a"]`, `["float128"]`, `[16]`, `the encoding "float128"`},
		{`["a"]`, `["ndarray:complex64"]`, `[null]`, `arrays of "complex64"`},
		{`["a"]`, `["ndarray:int8:2,x"]`, `[null]`, `arrays of shape "2,x"`},
		{`["a"]`, `["ndarray:int8:0"]`, `[null]`, `arrays of shape "0"`},
		{`["a"]`, `["ndarray:int8:4294967296,4294967296"]`, `[null]`, "2⁶³"},
	} {
		if err := one(t, c.names, c.encodings, c.sizes); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s of %s: %v, want …%s…", c.names, c.encodings, err, c.says)
		}
	}
	if err := one(t, `["a", "b"]`, `["pkl", "jpeg:90"]`, `[null, null]`); err != nil {
		t.Error(err)
	}
}

func TestShardsThatAreRefused(t *testing.T) {
	c := golden(t, "plain")[0]
	name := c.File
	good := c.Folder[name]
	change := func(at int, with ...byte) []byte {
		other := bytes.Clone(good)
		copy(other[at:], with)
		return other
	}
	for _, r := range []struct {
		data []byte
		kind error
		says string
	}{
		{good[:len(good)-1], shard.ErrTruncated, name + ": cut off: the shard has"},
		{change(0, 255), shard.ErrCorrupt, "as the file that names it says"},
		{change(4, 0, 0, 0, 0), shard.ErrCorrupt, "damaged: the first sample begins at byte 0"},
		{change(8, 0, 0, 0, 0), shard.ErrCorrupt, "damaged: sample 0 is from byte"},
		{change(8, 0xff, 0xff, 0xff, 0xff), shard.ErrCorrupt, "to 4294967295"},
	} {
		c.Refused(t, name, r.data, r.kind, r.says)
	}

	// The lengths of values in the first sample.
	begin := int(good[4]) | int(good[5])<<8
	c.Refused(t, name, change(begin, 0xff, 0xff, 0xff, 0xff), shard.ErrCorrupt, `sample 0: damaged: "a_bytes" has 4294967295 bytes`)
	c.Refused(t, name, change(begin, 1), shard.ErrCorrupt, "sample 0")
	c.File = "other.mds"
	c.Refused(t, "other.mds", good, shard.ErrCorrupt, "the set has no shard of this name")
}

func TestParse(t *testing.T) {
	c := golden(t, "plain")[0]
	set, err := open(t, c.Folder["index.json"])
	if err != nil {
		t.Fatal(err)
	}
	data := c.Folder[c.File]
	at := func(i int) int { return int(data[4+4*i]) | int(data[5+4*i])<<8 }
	record := data[at(1):at(2)]
	p := set.(shard.Parser)
	for _, w := range []struct {
		name string
		as   sample.Type
		says string
	}{
		{"b_str", sample.BytesType, ""},
		{"g_ndarray", sample.TensorType(tensor.Float16, 2, 2), ""},
		{"l_pil", sample.Type{Kind: sample.Tensor, DType: tensor.Uint8, Shape: tensor.Shape{-1, 4, 3}}, ""},
		{"c_int", sample.TensorType(tensor.Int32), `"c_int": not supported: it is int64, not int32`},
		{"g_ndarray", sample.TensorType(tensor.Float16, 3, 2), "its shape is [2, 2], not [3, 2]"},
		{"b_str", sample.ObjectType, "it is text, not object"},
		{"p_pkl", sample.BytesType, "it is a pickle"},
		{"nothing", sample.BytesType, `no such field: "nothing"`},
	} {
		_, err := p.Parse(record, []sample.Field{{Name: w.name, Type: w.as}}, make([]shard.Value, 1), nil)
		if (err == nil) != (w.says == "") || err != nil && !strings.Contains(err.Error(), w.says) {
			t.Errorf("%s as %v: %v, want …%s…", w.name, w.as, err, w.says)
		}
	}
}

func FuzzSet(f *testing.F) {
	c := golden(f, "plain")[0]
	c.Fuzz(f)
}
