package sample_test

import (
	"fmt"
	"testing"

	"github.com/headrace/headrace/sample"
	"pgregory.net/rapid"
)

// Texts are a list of strings.
func TestTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all sample.Texts
		for range 2 { // the second time in the memory of the first
			all.Reset()
			want := rapid.SliceOf(rapid.String()).Draw(t, "texts")
			for _, text := range want {
				all.Add([]byte(text))
			}
			if all.Len() != len(want) {
				t.Fatalf("there are %d, want %d", all.Len(), len(want))
			}
			for i, text := range want {
				if got := string(all.At(i)); got != text {
					t.Fatalf("%d is %q, want %q", i, got, text)
				}
			}
		}
	})
}

// Texts that are counted are those that were spelled.
func TestCountedTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all, other sample.Texts
		for range 2 { // the second time in the memory of the first
			all.Reset()
			want := []string{}
			names := []uint32{all.Name("a.csv"), all.Name("ü")}
			counted := true
			for range rapid.IntRange(0, 8).Draw(t, "runs") {
				if rapid.IntRange(0, 9).Draw(t, "text") == 0 {
					all.Add([]byte("own"))
					want, counted = append(want, "own"), false
				}
				of, n := rapid.IntRange(0, 1).Draw(t, "name"), rapid.IntRange(1, 4).Draw(t, "n")
				from := rapid.Int64Range(0, 12).Draw(t, "from")
				all.Count(names[of], from, n)
				for k := range n {
					want = append(want, fmt.Sprintf("%s[%d]", []string{"a.csv", "ü"}[of], from+int64(k)))
				}
			}
			if counted && len(all.Bytes) > 0 {
				t.Fatal("text was written")
			}
			if other.Set(&all); other.Len() != len(want) || other.Size() < 0 {
				t.Fatalf("there are %d, want %d", other.Len(), len(want))
			}
			other.Spell()
			for i, text := range want {
				if got, copied := string(all.At(i)), string(other.At(i)); got != text || copied != text {
					t.Fatalf("%d is %q and %q, want %q", i, got, copied, text)
				}
			}
		}
	})
}

// Numbers that follow each other are one run.
func TestCountedRuns(t *testing.T) {
	var all sample.Texts
	a, b := all.Name("a"), all.Name("b")
	for _, run := range []struct {
		name uint32
		from int64
		n    int
	}{{a, 3, 2}, {a, 5, 1}, {a, 5, 1}, {b, 6, 1}, {b, 7, 4}} {
		all.Count(run.name, run.from, run.n)
	}
	if got := fmt.Sprint(all.First, all.Until, all.Named); got != "[3 5 6] [3 4 9] [0 0 1]" {
		t.Errorf("runs are %s", got)
	}
}
