//go:build cgo

package headrace_test

import (
	"bufio"
	"fmt"
	"os"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/lines"
	"github.com/headrace/headrace/tensor"
)

// rowLength is that of packed rows.
const rowLength = 2048

// documents are the file that HEADRACE_DOCUMENTS names, such as those of
// bench/packing/doors.py.
func documents(b *testing.B) string {
	path := os.Getenv("HEADRACE_DOCUMENTS")
	if path == "" {
		b.Skip("HEADRACE_DOCUMENTS names no file")
	}
	return path
}

// BenchmarkPacking packs documents. A row is an operation.
func BenchmarkPacking(b *testing.B) {
	r, err := recipe.Parse(fmt.Appendf(nil, `{"headrace":1,"steps":[
		{"read":{"from":%q,"fields":{"tokens":["tokens",{"dtype":"int32","shape":[null]}]}}},
		{"lanes":{"count":1}},{"pack":{"length":%d,"global_size":64}}]}`, documents(b), rowLength))
	if err != nil {
		b.Fatal(err)
	}
	benchmarkBatches(b, r, Config{}, "pack", 64)
}

// BenchmarkPackingByHand is the least that packing lines of JSON takes: a loop reads and
// parses them, and lays tokens, segment ids and positions into rows as documents come. It
// chooses nothing, counts nothing and hands nothing over. A row is an operation.
func BenchmarkPackingByHand(b *testing.B) {
	path, want := documents(b), []sample.Field{{Name: "tokens", Type: sample.TensorType(tensor.Int32, tensor.Unknown)}}
	tokens, segments, positions := make([]byte, 4*rowLength), make([]int32, rowLength), make([]int32, rowLength)
	into, scratch, row, used, number := make([]shard.Value, 1), []byte(nil), 0, 0, int32(0)
	before := processTime(b)
	b.ResetTimer()
	for row < b.N {
		file, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		all := bufio.NewScanner(file)
		all.Buffer(make([]byte, 1<<20), 1<<20)
		for row < b.N && all.Scan() {
			if scratch, err = (lines.JSONL{}).Parse(all.Bytes(), want, into, scratch[:0]); err != nil {
				b.Fatal(err)
			}
			n := into[0].Shape[0]
			if used+n > rowLength {
				row, used, number = row+1, 0, 0
			}
			copy(tokens[4*used:], into[0].Bytes)
			number++
			for k := range n {
				segments[used+k], positions[used+k] = number, int32(k)
			}
			used += n
		}
		if err := file.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(processTime(b)-before)/float64(b.N), "engine-ns/op")
}
