package index_test

import (
	"bytes"
	"testing"

	"github.com/headrace/headrace/shard/index"
	"pgregory.net/rapid"
)

// Numbers that are given by columns make the index that those of each sample make.
func TestColumnsAreTheirNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var one, all index.Builder
		for range rapid.IntRange(0, 3).Draw(t, "runs") {
			n := rapid.IntRange(0, 100).Draw(t, "samples")
			ints := rapid.SliceOfN(rapid.Int64(), n, n).Draw(t, "ints")
			floats := rapid.SliceOfN(rapid.Float64(), n, n).Draw(t, "floats")
			absent := rapid.SliceOfN(rapid.Bool(), 0, n).Draw(t, "absent") // of the rest nobody says so
			later := rapid.Bool().Draw(t, "later")                         // a column that earlier samples lack
			for k := range n {
				one.Sample(nil)
				all.Sample(nil)
				if none := k < len(absent) && absent[k]; none {
					one.None("i")
					one.NoFloat("f")
				} else {
					one.Int("i", ints[k])
					one.Float("f", floats[k])
				}
				if later {
					one.Int("j", ints[k])
				}
			}
			if n == 0 {
				continue
			}
			all.AddInts("i", ints, absent)
			all.AddFloats("f", floats, absent)
			if later {
				all.AddInts("j", ints, nil)
			}
		}
		if !bytes.Equal(one.Encode(), all.Encode()) {
			t.Fatal("the indexes differ")
		}
	})
}
