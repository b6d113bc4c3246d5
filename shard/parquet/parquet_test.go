package parquet

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
)

var refusedColumns = []string{"l_blobs", "l_deeper_texts", "l_ragged", "l_null_in", "l_map", "l_null"}

// TestPyarrowMatrix is F9: what pyarrow writes in every way is read as pyarrow reads it.
func TestPyarrowMatrix(t *testing.T) {
	for _, codec := range []string{"none", "snappy", "gzip", "zstd", "brotli"} {
		for _, version := range []string{"1.0", "2.0"} {
			for _, encoding := range []string{"dictionary", "plain", "delta"} {
				for pages, more := range map[string]map[string]any{
					"one page":   {},
					"index":      {"write_page_index": true, "data_page_size": 4096, "write_batch_size": 16},
					"by content": {"use_content_defined_chunking": true, "write_page_checksum": true},
				} {
					t.Run(strings.Join([]string{codec, version, encoding, pages}, "/"), func(t *testing.T) {
						options := map[string]any{"compression": codec, "data_page_version": version, "row_group_size": 40}
						if codec == "brotli" {
							options["compression_level"] = 3
						}
						for k, v := range more {
							options[k] = v
						}
						data, want := written(t, map[string]any{"rows": 60, "largest": 1500, "encoding": encoding, "options": options})
						b := check(t, data, want)
						for _, name := range refusedColumns {
							if b.Refused[name] == "" {
								t.Errorf("%s is not refused: %v", name, b.Refused)
							}
						}
						if len(b.Refused) != len(refusedColumns) {
							t.Errorf("refused: %v", b.Refused)
						}
						for name, want := range map[string]string{"small": "int8", "u32": "uint32", "u64": "uint64", "flag": "bool", "f16": "float16",
							"f32": "float32", "f64": "float64", "day": "int64 date32[day]", "when": "int64 timestamp[us]",
							"money": "int64 decimal128(10, 2)", "sparse": "int32",
							"l_nested": "int64 [?, 2]", "l_structs.a": "int64 [?]", "l_nan": "float32 [?]", "l_deep": "float64 [?, 2, 3]",
							"l_fixed": "float32 [4]", "l_array": "float16 [2, 3]", "l_texts": "text [?]", "l_deep_texts": "text [?, ?]", "l_structs.t": "text [?]"} {
							if got := b.Types[name]; got.String() != want {
								t.Errorf("%s is %v, want %s", name, got, want)
							}
						}
						if b.Types["text"].Kind != sample.Text || b.Types["none"].Kind != sample.Text || b.Types["image.bytes"].Kind != sample.Bytes {
							t.Errorf("types: %v", b.Types)
						}
					})
				}
			}
		}
	}
}

// Images are read by pieces of pages, so that a row costs little more than its bytes.
func TestSnappyPagesAreReadInPieces(t *testing.T) {
	args := map[string]any{"rows": 16, "largest": 200_000, "columns": []string{"image"}, "options": map[string]any{"compression": "snappy"}}
	for _, encoding := range []string{"dictionary", "plain"} {
		data, want := written(t, merged(args, "encoding", encoding))
		b := check(t, data, want)
		for i, k := range b.Blocks {
			if k.Codec != index.Stored && k.Size > fragment {
				t.Errorf("%s: block %d has %d bytes", encoding, i, k.Size)
			}
		}
		r := newReader(file{data}, b)
		used := int64(0)
		for _, p := range b.Parts {
			if b.Fields[p.Field] != "image.bytes" {
				continue
			}
			used += p.Len
			if _, err := r.part(nil, p); err != nil {
				t.Fatal(err)
			}
		}
		if float64(r.read) > 1.7*float64(used) {
			t.Errorf("%s: %d bytes read for %d", encoding, r.read, used)
		}
	}
}

func merged(all map[string]any, key string, value any) map[string]any {
	m := map[string]any{key: value}
	for k, v := range all {
		if k != key {
			m[k] = v
		}
	}
	return m
}

func TestRandomTables(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 12 {
		args := map[string]any{"rows": 1 + random.IntN(400), "seed": i, "largest": 1 + random.IntN(500),
			"encoding": []string{"dictionary", "plain", "delta"}[random.IntN(3)],
			"options": map[string]any{
				"compression":       []string{"none", "snappy", "zstd"}[random.IntN(3)],
				"data_page_version": []string{"1.0", "2.0"}[random.IntN(2)],
				"row_group_size":    1 + random.IntN(300), "data_page_size": 1 + random.IntN(5000),
				"write_batch_size": 1 + random.IntN(100), "dictionary_pagesize_limit": 1 + random.IntN(5000),
			}}
		t.Run(fmt.Sprint(args), func(t *testing.T) {
			data, want := written(t, args)
			check(t, data, want)
		})
	}
}

// A row of a list may begin on one page and go on for several, and refers to the
// dictionary of its own column.
func TestListsOverManyPages(t *testing.T) {
	for _, encoding := range []string{"dictionary", "plain", "delta"} {
		data, want := written(t, map[string]any{"rows": 700, "columns": []string{"tokens", "l_i64", "l_f32", "l_u8", "l_texts", "l_deep_texts"}, "encoding": encoding,
			"options": map[string]any{"row_group_size": 500, "data_page_size": 64, "write_batch_size": 7, "dictionary_pagesize_limit": 3000}})
		b := check(t, data, want)
		if len(b.Blocks) < 200 || b.Types["l_u8"].String() != "uint8 [?]" {
			t.Errorf("%s: %d blocks, %v", encoding, len(b.Blocks), b.Types["l_u8"])
		}
	}
}

func TestEmptyTable(t *testing.T) {
	data, want := written(t, map[string]any{"rows": 0})
	if b := check(t, data, want); b.Types["text"].Kind != sample.Text {
		t.Errorf("types: %v", b.Types)
	}
}

func TestWhatIsNotSupportedNamesItsColumn(t *testing.T) {
	int96 := oracle.Run(t, script, "int96", nil, nil)[0]
	b := check(t, int96, []map[string]string{{"text": "=YQ==", "when": "1"}, {"text": "=Yg==", "when": "2"}})
	if got := b.Types["when"].String(); got != "int64 timestamp[ns]" {
		t.Errorf("%v", got)
	}

	lz4, _ := written(t, map[string]any{"rows": 3, "options": map[string]any{"compression": "lz4"}})
	b, err := scanned(lz4)
	if err != nil || b.Len() != 3 || !strings.Contains(b.Refused["text"], "LZ4") {
		t.Errorf("%v, %d rows, %v", err, b.Len(), b.Refused)
	}

	plain := oracle.Run(t, script, "encrypted", map[string]any{"plain_footer": true}, nil)[0]
	b = check(t, plain, []map[string]string{{"text": "=YQ=="}, {"text": "=Yg=="}})
	if !strings.Contains(b.Refused["secret"], "encrypted") {
		t.Errorf("%v", b.Refused)
	}
	if !(Format{}).Begins(plain) {
		t.Error("it does not begin as Parquet does")
	}
	closed := oracle.Run(t, script, "encrypted", map[string]any{"plain_footer": false}, nil)[0]
	wantError(t, closed, shard.ErrUnsupported, "encrypted")
	if !(Format{}).Begins(closed) {
		t.Error("encrypted: it does not begin as Parquet does")
	}
}

func TestScanTwiceIsTheSame(t *testing.T) {
	data, _ := written(t, map[string]any{"rows": 50, "options": map[string]any{"row_group_size": 7}})
	a, err := scanned(data)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := scanned(data)
	if !slices.Equal(a.Parts, b.Parts) || !slices.Equal(a.Blocks, b.Blocks) || !slices.Equal(a.Fields, b.Fields) {
		t.Error("they differ")
	}
}
