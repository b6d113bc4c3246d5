package lines_test

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/lines"
	"github.com/headrace/headrace/shard/shardtest"

	"github.com/klauspost/compress/zstd"
)

//go:embed testdata/oracle.py
var script string

// shapes are ways in which lines are written.
var shapes = []map[string]any{
	{"end": "lf", "rows": 7},
	{"end": "crlf", "rows": 7, "cut": true, "mark": true, "blank": true},
	{"end": "lf", "rows": 9, "gzip": 1, "blank": true},
	{"end": "crlf", "rows": 9, "gzip": 3, "mark": true},
	{"end": "lf", "rows": 9, "zstd": 1, "cut": true},
	{"end": "lf", "rows": 9, "zstd": 4, "blank": true},
}

func TestAgainstPython(t *testing.T) {
	for function, format := range map[string]shard.Format{"jsonl": lines.JSONL{}, "table": lines.CSV{}, "text": lines.Text{}} {
		for i, shape := range shapes {
			args := maps.Clone(shape)
			args["seed"] = i
			name := "a." + map[string]string{"jsonl": "jsonl", "table": "csv", "text": "txt"}[function]
			if function == "table" && i%2 == 1 {
				args["comma"], name = "\t", "a.tsv"
			}
			t.Run(fmt.Sprint(function, args), func(t *testing.T) {
				same(t, caseOf(t, format, function, name, args))
			})
		}
	}
}

// same compares all samples.
func same(t *testing.T, c shardtest.Case) {
	t.Helper()
	got, err := c.All()
	if err != nil || len(got) != len(c.Want) {
		t.Fatalf("%d samples, want %d: %v", len(got), len(c.Want), err)
	}
	for i := range got {
		if fmt.Sprint(got[i]) != fmt.Sprint(c.Want[i]) {
			t.Fatalf("sample %d is %v, want %v", i, got[i], c.Want[i])
		}
	}
}

// The suite of all formats: cut off and spoilt at every byte.
func TestSuite(t *testing.T) {
	small := func(key string, n int) map[string]any { return map[string]any{"end": "crlf", "rows": 2, key: n} }
	t.Run("jsonl", caseOf(t, lines.JSONL{}, "jsonl", "a.jsonl", small("seed", 2)).Run)
	t.Run("jsonl, zstd", caseOf(t, lines.JSONL{}, "jsonl", "a.jsonl", small("zstd", 2)).Run)
	t.Run("csv", caseOf(t, lines.CSV{}, "table", "a.csv", small("seed", 3)).Run)
	t.Run("text, gzip", caseOf(t, lines.Text{}, "text", "a.txt", small("gzip", 2)).Run)
}

func caseOf(t testing.TB, format shard.Format, function, name string, args map[string]any) shardtest.Case {
	t.Helper()
	var want []shardtest.Sample
	data := oracle.Run(t, script, function, args, &want)[0]
	if frames, _ := args["zstd"].(int); frames > 0 {
		data, name = frame(t, data, frames), name+".zst"
	} else if args["gzip"] != nil {
		name += ".gz"
	}
	return shardtest.Case{Format: format, File: name, Folder: shardtest.Folder{name: data}, Want: want, Text: true}
}

// frame packs data in several frames, with one between that has no data.
func frame(t testing.TB, data []byte, frames int) (all []byte) {
	t.Helper()
	for i := range frames {
		z, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(i%2 == 0))
		if err != nil {
			t.Fatal(err)
		}
		all = z.EncodeAll(data[len(data)*i/frames:len(data)*(i+1)/frames], all)
		if i == 1 {
			all = append(all, "\x50\x2a\x4d\x18\x03\x00\x00\x00abc"...)
		}
	}
	return all
}

// More rows than a chunk has, so that lines are cut everywhere.
func TestLongFiles(t *testing.T) {
	for function, format := range map[string]shard.Format{"jsonl": lines.JSONL{}, "table": lines.CSV{}} {
		for _, args := range []map[string]any{{"end": "crlf", "rows": 4000}, {"end": "lf", "rows": 4000, "gzip": 7}} {
			same(t, caseOf(t, format, function, "a.csv", args))
		}
	}
}

func TestEmptyFiles(t *testing.T) {
	for _, c := range []struct {
		format shard.Format
		data   string
	}{
		{lines.JSONL{}, ""}, {lines.JSONL{}, "\n\n"}, {lines.JSONL{}, "\xef\xbb\xbf"}, {lines.JSONL{}, " \t\r\n"},
		{lines.CSV{}, ""}, {lines.CSV{}, "a,b\n"}, {lines.CSV{}, "\r\n\r\n"}, {lines.Text{}, ""},
	} {
		samples, err := read(c.format, "a", []byte(c.data))
		if err != nil || len(samples) != 0 {
			t.Errorf("%s of %q: %d samples, %v", c.format.Name(), c.data, len(samples), err)
		}
	}
}

func read(format shard.Format, name string, data []byte) ([]shardtest.Sample, error) {
	return shardtest.Case{Format: format, File: name, Folder: shardtest.Folder{name: data}}.All()
}

func TestWhatIsWrongNamesItsLine(t *testing.T) {
	for _, c := range []struct {
		format shard.Format
		data   string
		kind   error
		says   string
	}{
		{lines.JSONL{}, "{\"a\":1}\n\n[1]\n", shard.ErrCorrupt, "a at byte 9: damaged: line 3: it begins with '['"},
		{lines.JSONL{}, "[{\"a\":1},\n", shard.ErrUnsupported, "line 1: it begins a JSON array"},
		{lines.JSONL{}, "{\"a\":1}\n{\"a\":2\n", shard.ErrCorrupt, "sample 1: damaged: column 7: it ends where"},
		{lines.JSONL{}, "{\"a\":1}\n{\"a\":1} x\n", shard.ErrCorrupt, "something follows the object"},
		{lines.JSONL{}, "{\"a\":1}\n{\"a\":[1,]}\n", shard.ErrCorrupt, "nothing follows a comma"},
		{lines.JSONL{}, "{\"a\":01}\n", shard.ErrCorrupt, "should follow"},
		{lines.JSONL{}, "{\"a\":nul}\n", shard.ErrCorrupt, "'n' does not begin a value"},
		{lines.JSONL{}, "{\"a\":-}\n", shard.ErrCorrupt, "a number is malformed"},
		{lines.JSONL{}, "{\"a\":\"x}\n", shard.ErrCorrupt, "a string does not end"},
		{lines.JSONL{}, "{\"a\":\"\\q\"}\n", shard.ErrCorrupt, `the escape \q is not known`},
		{lines.JSONL{}, "{\"a\":\"\\u12g4\"}\n", shard.ErrCorrupt, "not Unicode"},
		{lines.JSONL{}, "{\"a\":\"\\ud83d\"}\n", shard.ErrCorrupt, `\ud83d is half of a surrogate pair`},
		{lines.JSONL{}, "{\"a\xff\":1}\n", shard.ErrCorrupt, `the name "a\xff" is not UTF-8`},
		{lines.JSONL{}, "{1:2}\n", shard.ErrCorrupt, "a name is not a string"},
		{lines.CSV{}, "a,b\n1,2\n1,2,3\n", shard.ErrCorrupt, "a at byte 8: damaged: line 3: it has 3 values, and there are 2 columns"},
		{lines.CSV{}, "a,b\n1\n", shard.ErrCorrupt, "it has 1 values"},
		{lines.CSV{}, "a,a\n1,2\n", shard.ErrUnsupported, `two columns are called "a"`},
		{lines.CSV{}, "a,b\n1,\"2\n\n", shard.ErrTruncated, "a quote does not end, in the row that begins at byte 4"},
		{lines.Text{}, "\xff\xfea\x00", shard.ErrUnsupported, "UTF-16"},
		{lines.Text{}, "BZh9", shard.ErrUnsupported, "bzip2"},
		{lines.Text{}, "\xfd7zXZ\x00", shard.ErrUnsupported, "xz"},
		{lines.Text{}, "\x1f\x8b\x08\x00", shard.ErrTruncated, "gzip"},
		{lines.Text{}, "\x28\xb5\x2f\xfd\x00", shard.ErrTruncated, "a frame of Zstandard is longer"},
		{lines.Text{}, "\x50\x2a\x4d\x18\xff\xff\xff\xff", shard.ErrTruncated, "a frame of Zstandard is longer"},
	} {
		shardtest.Case{Format: c.format, File: "a", Folder: shardtest.Folder{"a": []byte(c.data)}}.Refused(t, "a", []byte(c.data), c.kind, c.says)
	}
}

// Which objects are accepted is what Python accepts.
func TestJSONIsWhatPythonTakesForIt(t *testing.T) {
	cases := []string{
		`{}`, `{"a":NaN}`, `{"a":-Infinity,"b":Infinity}`, `{"a":1e5,"b":-0.5E-3,"c":0}`, `{"a":1.}`, `{"a":.5}`, `{"a":+1}`,
		`{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{"a":[[],[{}]]}`, `{"a":[1 2]}`, `{"a":"\ud83d\ude00"}`, `{"a":1}{}`,
		`{"a":tru}`, `{"a":true}`, `{'a':1}`, `{"a":"\u00e4\n\/"}`, `{"a":"x\"y\\"}`, `{"a":-}`, `{"a":1e}`, `{"a":0x1}`, `{"a":--1}`,
	}
	blobs := make([][]byte, len(cases))
	for i, c := range cases {
		blobs[i] = []byte(c)
	}
	var want []bool
	oracle.Run(t, script, "accepts", nil, &want, blobs...)
	for i, c := range cases {
		_, err := read(lines.JSONL{}, "a", []byte(c))
		if (err == nil) != want[i] {
			t.Errorf("%s: %v, and Python reads it: %v", c, err, want[i])
		}
	}
}

func TestSuffixes(t *testing.T) {
	if !slices.Contains(lines.JSONL{}.Suffixes(), ".json.gz") || !slices.Contains(lines.CSV{}.Suffixes(), ".tsv.zst") || (lines.Text{}).Begins([]byte("text")) {
		t.Error("suffixes decide")
	}
}

func FuzzJSONL(f *testing.F) { fuzz(f, lines.JSONL{}, "jsonl", "a.jsonl") }
func FuzzCSV(f *testing.F)   { fuzz(f, lines.CSV{}, "table", "a.csv") }

func fuzz(f *testing.F, format shard.Format, function, name string) {
	tier.StartsProcesses(f)
	caseOf(f, format, function, name, map[string]any{"end": "crlf", "rows": 5}).Fuzz(f)
}
