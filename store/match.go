package store

import (
	"strings"
	"unicode/utf8"
)

// A glob is the pattern of one name, as Python's fnmatch reads it: * any characters, ?
// one, [a-z] one of a set, [!a-z] one not of it. There is no escape character; [*]
// means a star. A byte that is not UTF-8 is a character of its own, between U+DC80
// and U+DCFF, as it is to Python.
type glob []token

type token struct {
	kind   byte // one of ? * [ or, for a character that means itself, c
	char   rune
	not    bool
	ranges []span
}

type span struct{ low, high rune }

// magic reports whether a name is a pattern.
func magic(name string) bool { return strings.ContainsAny(name, "*?[") }

func parseGlob(pattern string) glob {
	p := characters(pattern)
	var g glob
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '*':
			if n := len(g); n == 0 || g[n-1].kind != '*' {
				g = append(g, token{kind: '*'})
			}
		case '?':
			g = append(g, token{kind: '?'})
		case '[':
			if end := setEnd(p, i); end > 0 {
				g = append(g, parseSet(p[i+1:end]))
				i = end
				continue
			}
			fallthrough // a bracket that nothing closes means itself
		default:
			g = append(g, token{kind: 'c', char: p[i]})
		}
	}
	return g
}

// setEnd returns where the bracket that opens at i closes; 0 where it does not. A
// closing bracket right after the opening one belongs to the set.
func setEnd(p []rune, i int) int {
	i++
	if i < len(p) && p[i] == '!' {
		i++
	}
	for i++; i < len(p); i++ {
		if p[i] == ']' {
			return i
		}
	}
	return 0
}

// parseSet reads what is between brackets.
func parseSet(p []rune) token {
	t := token{kind: '['}
	if p[0] == '!' {
		t.not = true
		p = p[1:]
	}
	for len(p) > 0 {
		// A hyphen at either end means itself.
		if len(p) >= 3 && p[1] == '-' {
			t.ranges = append(t.ranges, span{p[0], p[2]}) // holds nothing where the bounds are in the wrong order
			p = p[3:]
			continue
		}
		t.ranges = append(t.ranges, span{p[0], p[0]})
		p = p[1:]
	}
	return t
}

// match reports whether the whole name fits. After a mismatch it goes back to the last
// star only: what an earlier star could take in addition, the last one can take as
// well. So the time is bounded by len(name) · len(g).
func (g glob) match(name []byte) bool {
	at, next := 0, 0      // in name and in g
	star, starAt := -1, 0 // the last star, and where what follows it was tried
	for at < len(name) {
		c, size := character(name[at:])
		switch {
		case next < len(g) && g[next].kind == '*':
			star, starAt = next, at
			next++
		case next < len(g) && g[next].fits(c):
			at += size
			next++
		case star >= 0:
			_, skipped := character(name[starAt:])
			starAt += skipped
			at, next = starAt, star+1
		default:
			return false
		}
	}
	for next < len(g) && g[next].kind == '*' {
		next++
	}
	return next == len(g)
}

func (t token) fits(c rune) bool {
	switch t.kind {
	case '?':
		return true
	case 'c':
		return t.char == c
	}
	for _, s := range t.ranges {
		if s.low <= c && c <= s.high {
			return !t.not
		}
	}
	return t.not
}

// character returns the first character of s and its length in bytes.
func character(s []byte) (rune, int) {
	c, n := utf8.DecodeRune(s)
	if c == utf8.RuneError && n == 1 {
		return 0xDC00 + rune(s[0]), 1
	}
	return c, n
}

func characters(s string) []rune {
	var p []rune
	for b := []byte(s); len(b) > 0; {
		c, n := character(b)
		p = append(p, c)
		b = b[n:]
	}
	return p
}
