package progress

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A position set against a set.
func TestPositionSetIsASet(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := NewPositionSet(SourceState{Epoch: 3})
		set := make(map[int64]bool)
		for range rapid.IntRange(0, 30).Draw(rt, "steps") {
			lo := rapid.Int64Range(0, 40).Draw(rt, "from")
			hi := lo + rapid.Int64Range(0, 6).Draw(rt, "length")
			l.finish(Range{lo, hi})
			for i := lo; i < hi; i++ {
				set[i] = true
			}
			for i := range int64(50) {
				if l.Has(i) != set[i] {
					rt.Fatalf("after [%d, %d): position %d: %v; %+v", lo, hi, i, l.Has(i), l)
				}
			}
			if l.Finished() != int64(len(set)) {
				rt.Fatalf("%d are finished, %+v", len(set), l)
			}
			s := l.state()
			at := s.Low
			for _, r := range s.Ahead {
				if r[0] <= at || r[1] <= r[0] {
					rt.Fatalf("ranges touch or are empty: %+v", s)
				}
				at = r[1]
			}
			if again := NewPositionSet(s); !slices.Equal(again.ahead, l.ahead) || again.Low != l.Low || again.epoch != 3 {
				rt.Fatalf("%+v becomes %+v", l, again)
			}
		}
	})
}

// A lineage against a list.
func TestLineageIsAList(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var sum Lineage
		var list []int64
		for range rapid.IntRange(0, 10).Draw(rt, "lineages") {
			var part Lineage
			for range rapid.IntRange(1, 4).Draw(rt, "items") {
				pos := rapid.Int64Range(0, 6).Draw(rt, "position")
				part.Add(Single(pos))
				list = append(list, pos)
			}
			sum.Add(part)
		}
		var got []int64
		sum.each(func(s Range) {
			for i := s.Lo; i < s.Hi; i++ {
				got = append(got, i)
			}
		})
		if !slices.Equal(got, list) || sum.Size() != int64(len(list)) {
			rt.Fatalf("%v, wanted %v", got, list)
		}
	})
}
