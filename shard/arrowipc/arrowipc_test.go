package arrowipc_test

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/arrowipc"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/shardtest"
)

//go:embed testdata/oracle.py
var script string

var refused = []string{"deeper texts", "gaps", "gaps in pairs", "lists of bytes", "lists of pairs", "lists of views", "map", "none",
	"other union", "ragged", "union"}

func written(t testing.TB, function string, args map[string]any) shardtest.Case {
	t.Helper()
	var want []shardtest.Sample
	data := oracle.Run(t, script, function, args, &want)[0]
	return shardtest.Case{Format: arrowipc.Format{}, File: "a.arrow", Folder: shardtest.Folder{"a.arrow": data}, Want: want}
}

func scanned(t *testing.T, c shardtest.Case) *index.Builder {
	t.Helper()
	f, err := c.Folder.Open(c.File)
	if err != nil {
		t.Fatal(err)
	}
	var b index.Builder
	if err := c.Format.Scan(context.Background(), f, &b); err != nil {
		t.Fatal(err)
	}
	return &b
}

// Every type, in files and streams, with every compression, in batches that are slices.
func TestAgainstPyarrow(t *testing.T) {
	for _, stream := range []bool{false, true} {
		for _, compression := range []any{nil, "lz4", "zstd"} {
			for _, batch := range []int{1000, 13, 1} {
				args := map[string]any{"rows": 50, "stream": stream, "compression": compression, "batch": batch}
				t.Run(fmt.Sprint(args), func(t *testing.T) {
					c := written(t, "write", args)
					got, err := c.All()
					if err != nil {
						t.Fatal(err)
					}
					if len(got) != len(c.Want) {
						t.Fatalf("%d rows, want %d", len(got), len(c.Want))
					}
					b := scanned(t, c)
					for i := range got {
						for name := range b.Refused { // batches before the one with a null have it
							delete(got[i].Fields, name)
						}
						if d := cmp(got[i], c.Want[i]); d != "" {
							t.Fatalf("row %d: %s", i, d)
						}
					}
					if names := slices.Sorted(maps.Keys(b.Refused)); !slices.Equal(names, refused) {
						t.Errorf("refused: %v", b.Refused)
					}
					if b.Types["text"].Kind != sample.Text || b.Types["word"].Kind != sample.Text || b.Types["fixed"].Kind != sample.Bytes ||
						b.Types["tokens"].String() != "int32 [?]" || b.Types["pair"].String() != "float32 [2]" {
						t.Errorf("types: %v", b.Types)
					}
					if !arrowipc.Format.Begins(arrowipc.Format{}, c.Folder[c.File][:512]) {
						t.Error("it does not begin as Arrow does")
					}
				})
			}
		}
	}
}

func cmp(got, want shardtest.Sample) string {
	for name, v := range want.Fields {
		if g := got.Fields[name]; g.Type != v.Type || !bytes.Equal(g.Bytes, v.Bytes) {
			return fmt.Sprintf("%s is %s %q, want %s %q", name, g.Type, g.Bytes, v.Type, v.Bytes)
		}
	}
	if len(got.Fields) != len(want.Fields) {
		return fmt.Sprintf("%v, want %v", slices.Sorted(maps.Keys(got.Fields)), slices.Sorted(maps.Keys(want.Fields)))
	}
	return ""
}

// The suite of all formats: cut off and spoilt at every byte.
func TestSuite(t *testing.T) {
	some := []string{"image", "text", "view", "word", "label", "flag", "f32", "large", "fixed", "tokens", "pair"}
	for name, args := range map[string]map[string]any{
		"file":              {"rows": 5, "columns": some, "batch": 3},
		"stream, zstd":      {"rows": 5, "columns": some, "batch": 3, "stream": true, "compression": "zstd"},
		"stream, lz4":       {"rows": 6, "columns": some[:4], "stream": true, "compression": "lz4"},
		"without an end":    {"rows": 5, "columns": some[:2], "stream": true, "open_end": true},
		"empty":             {"rows": 0, "columns": some},
		"lists":             {"rows": 6, "columns": []string{"flags", "nested", "deep holes", "objects", "large view"}, "batch": 3},
		"runs, lz4":         {"rows": 6, "columns": []string{"holes", "run numbers", "run texts", "nested fixed"}, "compression": "lz4"},
		"lists of text":     {"rows": 6, "columns": []string{"texts", "pairs of texts", "view of texts", "deep texts", "label"}, "batch": 3},
		"the same, zstd":    {"rows": 6, "columns": []string{"texts", "deep texts"}, "compression": "zstd", "stream": true},
		"types, lz4":        {"rows": 5, "columns": []string{"money", "day", "nothing", "word"}, "compression": "lz4"},
		"views of two sets": {"rows": 40, "columns": []string{"blob view", "view"}, "batch": 20},
	} {
		t.Run(name, written(t, "write", args).Run)
	}
	t.Run("dictionaries that grow", written(t, "deltas", nil).Run)
}

func TestWhatIsNotSupported(t *testing.T) {
	c := written(t, "write", map[string]any{"rows": 2, "columns": []string{"text"}, "stream": true})
	data := c.Folder[c.File]
	c.Refused(t, c.File, append([]byte("FEA1"), data...), shard.ErrUnsupported, "Feather version 1")
	c.Refused(t, c.File, nil, shard.ErrTruncated, "there is no message")
	c.Refused(t, c.File, data[:8], shard.ErrTruncated, "")
	c.Refused(t, c.File, []byte("ARROW1\x00\x00"), shard.ErrTruncated, "has a footer")
	c.Refused(t, c.File, []byte("ARROW1\x00\x00 and no more of it"), shard.ErrTruncated, "ends with")
	c.Refused(t, c.File, []byte("ARROW1\x00\x00\xff\xff\xff\x7fARROW1"), shard.ErrCorrupt, "a footer of 2147483647 bytes")

	// Without the schema, and with two.
	n := int(binary.LittleEndian.Uint32(data[4:])) + 8
	c.Refused(t, c.File, data[n:], shard.ErrCorrupt, "rows come before the schema")
	c.Refused(t, c.File, slices.Concat(data[:n], data), shard.ErrCorrupt, "there are two schemas")
}

// Streams of before 0.15 have lengths without a mark.
func TestLegacyStreams(t *testing.T) {
	c := written(t, "write", map[string]any{"rows": 3, "columns": []string{"text", "label"}, "stream": true})
	old := bytes.ReplaceAll(c.Folder[c.File], []byte("\xff\xff\xff\xff"), nil)
	c.Folder[c.File] = old
	got, err := c.All()
	if err != nil || len(got) != 3 || cmp(got[2], c.Want[2]) != "" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestBegins(t *testing.T) {
	for _, head := range []string{"", "ARROW", "PAR1", "\xff\xff\xff\xff", "\xff\xff\xff\xff\x10\x00\x00\x00" + strings.Repeat("\x00", 100)} {
		if (arrowipc.Format{}).Begins([]byte(head)) {
			t.Errorf("%q begins as Arrow does", head)
		}
	}
}

// A value costs its own bytes where nothing is packed.
func TestBytesRead(t *testing.T) {
	c := written(t, "write", map[string]any{"rows": 40, "columns": []string{"image", "large blob"}, "largest": 5000, "stream": true})
	b := scanned(t, c)
	for i, p := range b.Parts {
		if p.At < 0 || p.At+p.Len > int64(len(c.Folder[c.File])) || len(b.Blocks) > 0 {
			t.Fatalf("part %d is %v", i, p)
		}
	}
}

func FuzzScan(f *testing.F) {
	tier.StartsProcesses(f)
	c := written(f, "write", map[string]any{"rows": 3, "columns": []string{"image", "view", "word", "label"}, "stream": true})
	c.Room = 256 << 20 // a million rows of nulls take no bytes
	c.Fuzz(f)
}
