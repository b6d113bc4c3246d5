//go:build cgo

package headrace_test

import (
	"fmt"
	"os"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/recipe"
)

// BenchmarkPacking packs documents of the file that HEADRACE_DOCUMENTS names, such as those
// of bench/packing/doors.py. A row of 2,048 tokens is an operation.
func BenchmarkPacking(b *testing.B) {
	path := os.Getenv("HEADRACE_DOCUMENTS")
	if path == "" {
		b.Skip("HEADRACE_DOCUMENTS names no file")
	}
	r, err := recipe.Parse(fmt.Appendf(nil, `{"headrace":1,"steps":[
		{"read":{"from":%q,"fields":{"tokens":["tokens",{"dtype":"int32","shape":[null]}]}}},
		{"lanes":{"count":1}},{"pack":{"length":2048,"global_size":64}}]}`, path))
	if err != nil {
		b.Fatal(err)
	}
	benchmarkBatches(b, r, Config{}, "pack", 64)
}
