package parquet

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/shardtest"
)

// The suite of all formats: cut off and spoilt at every byte.
func TestSuite(t *testing.T) {
	for name, args := range map[string]map[string]any{
		"snappy": {"rows": 3, "columns": []string{"image", "label"}},
		"zstd": {"rows": 3, "largest": 20, "columns": []string{"image", "text"}, "encoding": "delta",
			"options": map[string]any{"compression": "zstd", "data_page_version": "2.0"}},
		"lists": {"rows": 3, "columns": []string{"tokens", "l_f64"}},
		"types": {"rows": 3, "columns": []string{"money", "day", "cat"}},
		"plain": {"rows": 4, "columns": []string{"text", "f64", "flag"}, "encoding": "plain",
			"options": map[string]any{"compression": "none", "row_group_size": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			args["largest"] = 20
			data, rows := written(t, args)
			c := shardtest.Case{Format: Format{}, File: "a.parquet", Folder: shardtest.Folder{"a.parquet": data}}
			for _, row := range rows {
				c.Want = append(c.Want, sampleOf(t, row, args["columns"].([]string)))
			}
			c.Run(t)
		})
	}
}

// Lists in lists, and nulls in them: what the matrix compares with pyarrow, spoilt.
func TestSuiteOfNestedLists(t *testing.T) {
	for _, encoding := range []string{"plain", "dictionary"} {
		data, _ := written(t, map[string]any{"rows": 5, "columns": []string{"l_nested", "l_nan", "l_deep", "l_structs", "l_array", "sparse"}, "encoding": encoding,
			"options": map[string]any{"compression": "none", "data_page_size": 16, "write_batch_size": 2}})
		c := shardtest.Case{Format: Format{}, File: "a.parquet", Folder: shardtest.Folder{"a.parquet": data}}
		var err error
		if c.Want, err = c.All(); err != nil {
			t.Fatal(err)
		}
		t.Run(encoding, c.Run)
	}
}

// sampleOf is a row as the suite has it.
func sampleOf(t *testing.T, row map[string]string, columns []string) shardtest.Sample {
	t.Helper()
	s := shardtest.Sample{Fields: map[string]shardtest.Value{}}
	for name, v := range row {
		text, isBytes := strings.CutPrefix(v, "=")
		switch {
		case isBytes:
			b, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			switch size := map[string]int{"tokens": 4, "l_f64": 8}[name]; {
			case size > 0:
				dtype := map[string]string{"tokens": "int32", "l_f64": "float64"}[name]
				s.Fields[name] = shardtest.Value{Type: fmt.Sprintf("%s [%d]", dtype, len(b)/size), Bytes: b}
			case name == "image.bytes":
				s.Fields[name] = shardtest.Bytes(string(b))
			default:
				s.Fields[name] = shardtest.Text(string(b))
			}
		case strings.Contains(v, "0x"):
			f, err := strconv.ParseFloat(v, 64)
			if err != nil {
				t.Fatal(err)
			}
			s.Fields[name] = shardtest.Float(f)
		default:
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			s.Fields[name] = shardtest.Int(n)
			if name == "flag" {
				s.Fields[name] = shardtest.Value{Type: "bool", Bytes: []byte{byte(n)}}
			}
		}
	}
	for _, name := range columns {
		if _, ok := s.Fields[name]; !ok && name == "f64" { // null
			s.Fields[name] = shardtest.Float(index.Missing)
		}
	}
	return s
}

func TestNullFloatsAreNaN(t *testing.T) {
	data, rows := written(t, map[string]any{"rows": 9, "columns": []string{"f64"}})
	b := check(t, data, rows)
	for i, v := range b.Floats["f64"] {
		if _, ok := rows[i]["f64"]; ok == math.IsNaN(v) {
			t.Errorf("row %d is %v", i, v)
		}
	}
}
