//go:build cgo

package headrace_test

import (
	"fmt"
	"os"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/recipe"
)

// BenchmarkTable takes rows of four numbers in batches of 4,096, from the file that
// HEADRACE_TABLE names, such as that of bench/tables.py. A row is an operation.
func BenchmarkTable(b *testing.B) {
	path := os.Getenv("HEADRACE_TABLE")
	if path == "" {
		b.Skip("HEADRACE_TABLE names no file")
	}
	for name, order := range map[string]string{
		"order": "", "window": `{"shuffle":{"window":100000,"seed":1}},`, "shuffle": `{"shuffle":{"seed":1}},`,
	} {
		b.Run(name, func(b *testing.B) {
			r, err := recipe.Parse(fmt.Appendf(nil, `{"headrace":1,"steps":[{"read":{"from":%q}},%s{"batch":{"size":4096}}]}`, path, order))
			if err != nil {
				b.Fatal(err)
			}
			benchmarkBatches(b, r, Config{}, "batch", 4096)
		})
	}
}
