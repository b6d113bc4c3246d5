package store

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTextsThatPatternsTake(t *testing.T) {
	for _, c := range []struct {
		pattern string
		takes   string
		leaves  string
	}{
		{"*.png", "a.png cats/1.png /x/y/.png .hidden.png", "a.jpg a.png/b png"},
		{"cats", "cats a/cats", "cats/1 cat"},
		{"cats/*", "cats/1 cats/.x", "a/cats/1 cats/1/2 cats"},
		{"**/cats/*", "cats/1 a/cats/1 a/b/cats/1 cats/cats/1", "cats cats/1/2"},
		{"a/**", "a a/b a/b/c", "b/a ab"},
		{"a/**/c", "a/c a/b/c a/b/b/c a/c/c", "a/b a/c/b c"},
		{"**", "a a/b", ""},
		{"[0-4]?.jpg", "12.jpg x/40.jpg", "52.jpg 1.jpg 123.jpg"},
		{"/data/*.jpg", "/data/1.jpg", "data/1.jpg /data/a/1.jpg"},
	} {
		m := ParseMatcher(c.pattern)
		for _, text := range strings.Fields(c.takes) {
			if !m.Matches(text) {
				t.Errorf("%s does not take %s", c.pattern, text)
			}
		}
		for _, text := range strings.Fields(c.leaves) {
			if m.Matches(text) {
				t.Errorf("%s takes %s", c.pattern, text)
			}
		}
	}
}

// fits is the definition: any way to divide the text.
func fits(names []string, text []string) bool {
	if len(names) == 0 {
		return len(text) == 0
	}
	if names[0] == "**" {
		return fits(names[1:], text) || len(text) > 0 && fits(names, text[1:])
	}
	return len(text) > 0 && parseGlob(names[0]).match([]byte(text[0])) && fits(names[1:], text[1:])
}

func TestMatchingFollowsItsDefinition(t *testing.T) {
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"**", "*", "a", "b", "?", "ab*"}), 2, 6)
	texts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "", "abc"}), 1, 7)
	rapid.Check(t, func(t *rapid.T) {
		n, text := names.Draw(t, "names"), texts.Draw(t, "text")
		if got, want := ParseMatcher(strings.Join(n, "/")).Matches(strings.Join(text, "/")), fits(n, text); got != want {
			t.Fatalf("%q takes %q: %v, expected %v", strings.Join(n, "/"), strings.Join(text, "/"), got, want)
		}
	})
}
