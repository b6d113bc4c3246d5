package litdata_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/litdata"
	"github.com/headrace/headrace/shard/shardtest"
	"github.com/headrace/headrace/tensor"
)

// golden are the chunks of a set of testdata, which LitData has written, and the samples
// that it reads in them: scripts/shard_goldens.py.
func golden(t testing.TB, name string) (all []shardtest.Case) {
	files := shardtest.Load(t, "testdata/"+name)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(file, ".bin") {
			continue
		}
		all = append(all, shardtest.Case{
			Opener: litdata.Opener{}, Index: "index.json", File: file, Folder: shardtest.Folder{file: files[file], "index.json": files["index.json"]},
			Want: shardtest.Golden(t, "testdata/"+name+"/"+file+".json"),
		})
	}
	return all
}

func TestSetsOfLitData(t *testing.T) {
	for _, name := range []string{"plain", "chunk", "batch", "sample", "tokens"} {
		for i, c := range golden(t, name) {
			if name == "chunk" {
				c.Room = 300 << 20 // windows
			}
			if i == 0 {
				t.Run(name, c.Run)
			} else {
				t.Run(name+"/"+c.File, c.Read)
			}
		}
	}
}

func open(t *testing.T, index string) (shard.Set, error) {
	t.Helper()
	f, err := shardtest.Folder{"index.json": []byte(index)}.Open("index.json")
	if err != nil {
		t.Fatal(err)
	}
	return litdata.Opener{}.Open(t.Context(), f)
}

func TestOpener(t *testing.T) {
	index := shardtest.Load(t, "testdata/plain")["index.json"]
	if o := (litdata.Opener{}); !o.Begins(index[:min(512, len(index))]) || o.Begins([]byte(`{"shards": []}`)) || o.Begins(nil) {
		t.Error("Begins is wrong")
	}
}

// config is an index without chunks.
func config(rest string) string { return `{"chunks": [], "config": {` + rest + `}}` }

const leaf = `{\"type\": null, \"context\": null, \"children_spec\": []}`

func TestNamesOfLeaves(t *testing.T) {
	for spec, want := range map[string]string{
		leaf: "value int64",
		`{\"type\": \"builtins.list\", \"context\": \"null\", \"children_spec\": [` + leaf + `]}`:                                                                                    "0 int64",
		`{\"type\": \"builtins.dict\", \"context\": \"[\\\"a b\\\"]\", \"children_spec\": [` + leaf + `]}`:                                                                           "a b int64",
		`{\"type\": \"collections.OrderedDict\", \"context\": \"[7]\", \"children_spec\": [` + leaf + `]}`:                                                                           "7 int64",
		`{\"type\": \"collections.defaultdict\", \"context\": \"[null, [\\\"x\\\"]]\", \"children_spec\": [` + leaf + `]}`:                                                           "0 int64",
		`{\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [{\"type\": \"builtins.dict\", \"context\": \"[\\\"k\\\"]\", \"children_spec\": [` + leaf + `]}]}`: "0.k int64",
	} {
		set, err := open(t, config(`"data_format": ["int"], "data_spec": "[1, `+spec+`]"`))
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		s, err := set.(shard.Parser).Schema([]byte{8, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8})
		if err != nil || s.String() != want {
			t.Errorf("%s: %v, %v", spec, s, err)
		}
	}
}

func TestIndexesThatAreRefused(t *testing.T) {
	pair := `{\"type\": \"builtins.list\", \"context\": null, \"children_spec\": [` + leaf + `, ` + leaf + `]}`
	same := `{\"type\": \"builtins.dict\", \"context\": \"[\\\"1\\\", 1]\", \"children_spec\": [` + leaf + `, ` + leaf + `]}`
	nameless := `{\"type\": \"builtins.dict\", \"context\": \"[\\\"\\\"]\", \"children_spec\": [{\"type\": \"builtins.list\", \"children_spec\": []}]}`
	for _, c := range []struct{ index, says string }{
		{`{`, "damaged"},
		{config(`"compression": "lz4"`), `the compression "lz4" of a "": must be zstd`},
		{config(`"compression": "zstd", "compression_level": "bit"`), `the compression "zstd" of a "bit": must be zstd`},
		{config(`"encryption": {"algorithm": "fernet"}`), "the chunks are encrypted: read them by hr.source(litdata"},
		{config(`"item_loader": "ParquetLoader"`), `chunks of LitData's ParquetLoader, which are Parquet files: read them as such, hr.read("*.parquet")`},
		{config(`"item_loader": "MyLoader"`), "chunks of LitData's MyLoader: read them by hr.source(litdata.StreamingDataset(…))"},
		{config(`"data_format": ["int"], "data_spec": "x"`), "data_spec is not one"},
		{config(`"data_format": ["int"], "data_spec": "[1]"`), "data_spec is not one"},
		{config(`"data_format": ["int"], "data_spec": "[1, ` + pair + `]"`), "data_spec has 2 leaves, and data_format 1"},
		{config(`"data_format": ["int", "int"], "data_spec": "[1, ` + same + `]"`), `two leaves of a sample would be field "1"`},
		{config(`"data_format": ["int"], "data_spec": "[1, ` + nameless + `]"`), "data_spec has 0 leaves"},
		{config(`"item_loader": "TokensLoader", "data_format": ["int"]`), "tokens are of format"},
		{config(`"item_loader": "TokensLoader", "data_format": ["no_header_tensor:4"]`), "arrays of 4 are of no known type"},
		{`{"chunks": [{"filename": "a.bin", "chunk_bytes": -1, "chunk_size": 1}]}`, "-1 bytes"},
		{`{"chunks": [{"filename": "../a.bin", "chunk_bytes": 1, "chunk_size": 1}]}`, `"../a.bin" is not the name of a shard`},
	} {
		if _, err := open(t, c.index); err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "index.json") {
			t.Errorf("%v, want …%s…", err, c.says)
		}
	}
}

// value is a set of one leaf, and what it makes of a value.
func value(t *testing.T, format, data string) (sample.Schema, error) {
	t.Helper()
	set, err := open(t, config(`"data_format": ["`+format+`"], "data_spec": "[1, `+leaf+`]"`))
	if err != nil {
		t.Fatal(err)
	}
	return set.(shard.Parser).Schema([]byte(string([]byte{byte(len(data)), 0, 0, 0}) + data))
}

func TestSerializers(t *testing.T) {
	for _, c := range []struct{ format, data, want string }{
		{"bytes", "x", "value bytes"}, {"jpeg", "x", "value bytes"}, {"image:png", "x", "value bytes"}, {"file:txt", "x", "value bytes"},
		{"video:mp4", "x", "value bytes"}, {"audio:wav", "x", "value bytes"}, {"tiff", "x", "value bytes"}, {"str", "x", "value text"}, {"text", "", "value text"},
		{"bool", "\x01", "value bool"}, {"float", "12345678", "value float64"},
		{"no_header_tensor:10", "1234", "value bfloat16 [?]"}, {"no_header_numpy:3", "12345678", "value int64 [?]"},
		{"no_header_numpy:13", "\x01", "value bool [?]"}, {"tensor", "\x00\x00\x00\x14\x00\x00\x00\x00ab", "value uint16"},
		{"numpy", "\x04\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00ab", "value uint8 [?, ?]"},
		{"pil", "\x01\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00Lab", "value uint8 [?, ?, 1]"},
		{"pickle", "x", ""}, {"jpeg_array", "x", ""}, {"mine", "x", ""},
	} {
		if s, err := value(t, c.format, c.data); err != nil || s.String() != c.want {
			t.Errorf("%s: %v, %v, want %s", c.format, s, err, c.want)
		}
	}
	for n := range uint32(30) {
		format := "no_header_tensor:" + string([]byte{'0' + byte(n/10), '0' + byte(n%10)})
		s, err := value(t, format, "")
		if err != nil || len(s) > 0 && s[0].Type.DType == tensor.Invalid {
			t.Errorf("%s: %v, %v", format, s, err)
		}
	}
	for _, c := range []struct{ format, data, says string }{
		{"int", "1234", "int64 [] has 8 bytes, and there are 4"}, {"bool", "\x02", "neither 0 nor 1"}, {"bool", "", "neither 0 nor 1"},
		{"no_header_tensor:0", "123", "float32 [0] has 0 bytes, and there are 3"},
		{"tensor", "1234", "an array of 4 bytes"}, {"tensor", "\x00\x00\x00\x04\x00\x00\x00\x00", "an array of type 4"},
		{"tensor", "\x00\x00\x00\x00\xff\xff\xff\xff", "an array of 4294967295 axes"}, {"tensor", "\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00", "an array of 2 axes"},
		{"tensor", "\x00\x00\x00\x0b\x00\x00\x00\x01\xff\xff\xff\xff", "has 4294967295 bytes, and there are 0"},
		{"numpy", "\x0b\x00\x00\x00\x00\x00\x00\x00", "an array of type 11"},
		{"pil", "123", "an image of 3 bytes"}, {"pil", "\x01\x00\x00\x00\x01\x00\x00\x00\xff\xff\xff\xff", "an image's mode has 4294967295 bytes"},
		{"pil", "\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00P1", `Pillow's mode "P"`},
		{"pil", "\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00\x00L1", "more than 2⁶³-1 elements"}, {"pil", "\x01\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00L1", "and there are 1"},
	} {
		if s, err := value(t, c.format, c.data); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s of %q: %v, %v, want …%s…", c.format, c.data, s, err, c.says)
		}
	}
}

func FuzzSet(f *testing.F) { golden(f, "plain")[0].Fuzz(f) }
