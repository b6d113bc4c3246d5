package store

import (
	"testing"

	"pgregory.net/rapid"
)

// A name between two is between them, or there is none: also if the second is no higher
// than the first, or goes on with bytes below those of text.
func TestNamesBetween(t *testing.T) {
	for _, c := range [][2]string{{"d/69", "d/69"}, {"d/7", "d/69"}, {"d/1", "d/1\t"}, {"d/1", "d/1\x00"}} {
		if m := between(c[0], c[1], 2); m != "" {
			t.Errorf("%q is between %q", m, c)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOfN(rapid.RuneFrom([]rune("\x00\t 059azé~\u007f")), 0, 4, -1)
		low, high := "d/"+name.Draw(t, "low"), rapid.SampledFrom([]string{"", "d/" + name.Draw(t, "high")}).Draw(t, "bound")
		switch m := between(low, high, 2); {
		case m == "":
		case m <= low, high != "" && m >= high, m[:2] != "d/":
			t.Fatalf("%q is between %q and %q", m, low, high)
		}
	})
}
