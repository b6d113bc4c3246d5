package store

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// slowMatch is fnmatch as its documentation tells it, by trying everything.
func slowMatch(p, name []rune) bool {
	if len(p) == 0 {
		return len(name) == 0
	}
	if p[0] == '*' {
		return slowMatch(p[1:], name) || len(name) > 0 && slowMatch(p, name[1:])
	}
	if len(name) == 0 {
		return false
	}
	if p[0] == '[' {
		if inside, rest, ok := slowSet(p[1:]); ok {
			return slowMember(inside, name[0]) && slowMatch(rest, name[1:])
		}
	}
	return (p[0] == '?' || p[0] == name[0]) && slowMatch(p[1:], name[1:])
}

// slowSet cuts what follows an opening bracket into the set and the rest.
func slowSet(p []rune) (inside, rest []rune, ok bool) {
	first := 0
	if len(p) > 0 && p[0] == '!' {
		first = 1
	}
	for i := first + 1; i < len(p); i++ {
		if p[i] == ']' {
			return p[:i], p[i+1:], true
		}
	}
	return nil, nil, false
}

func slowMember(set []rune, c rune) bool {
	not := set[0] == '!'
	if not {
		set = set[1:]
	}
	in := false
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			in = in || set[i] <= c && c <= set[i+2]
			i += 2
		} else {
			in = in || set[i] == c
		}
	}
	return in != not
}

func FuzzMatch(f *testing.F) {
	for _, s := range [][2]string{
		{"*.jpg", "a.jpg"}, {"[!a-c]?*x", "dxyzx"}, {"[]-a]", "^"}, {"a[", "a["}, {"*a*b*c", "aabbcc"},
		{"\xff?", "\xffé"}, {"[\x80-\xff]", "\xfe"}, {"[a--]", "b"}, {"[!]", "!"}, {"", ""},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 24 || len(name) > 24 { // the slow one is very slow
			return
		}
		if got, want := parseGlob(pattern).match([]byte(name)), slowMatch(characters(pattern), characters(name)); got != want {
			t.Errorf("%q matches %q: %v, want %v", pattern, name, got, want)
		}
	})
}

// letters are what patterns and names are made of, so that they meet often.
var letters = strings.Split("a a b c - ! ^ ] [ * * ? . é \xff \xc3 \xa9 \U0001f4be \xed\xb2\x80 \n \\ { |", " ")

func word(rng *rand.Rand, most int) string {
	var b strings.Builder
	for range rng.IntN(most + 1) {
		b.WriteString(letters[rng.IntN(len(letters))])
	}
	return b.String()
}

func TestMatchAgreesWithTheSlowOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	matched := 0
	for range 100_000 {
		pattern, name := word(rng, 8), word(rng, 6)
		got, want := parseGlob(pattern).match([]byte(name)), slowMatch(characters(pattern), characters(name))
		if got != want {
			t.Fatalf("%q matches %q: %v, want %v", pattern, name, got, want)
		}
		if got {
			matched++
		}
	}
	if matched < 1000 {
		t.Errorf("only %d of all names matched: the test tests too little", matched)
	}
}

// Patterns for the test against Python, which is outside the package.
func RandomPatternsAndNames() (patterns []string, names []string) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 3000 {
		patterns = append(patterns, word(rng, 8))
	}
	for range 60 {
		names = append(names, word(rng, 4))
	}
	slices.Sort(names)
	return patterns, slices.Compact(names)
}

func Match(pattern, name string) bool { return parseGlob(pattern).match([]byte(name)) }

func TestManyStarsTakeNoTime(t *testing.T) {
	if Match(strings.Repeat("*a", 100)+"b", strings.Repeat("a", 255)) {
		t.Error("matched")
	}
}
