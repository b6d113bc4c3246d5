package sample_test

import (
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
