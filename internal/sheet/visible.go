package sheet

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/bidi"
)

// visible writes text, which may hold any bytes, with characters that can be seen: the
// others, and those that no font has, as escapes, "\n" or "\u202e", bytes that are no
// UTF-8 as "\xff".
func (h *hand) visible(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case unicode.IsGraphic(r) && h.has(r):
			b.WriteRune(r)
		default:
			quoted := fmt.Sprintf("%+q", r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		text = text[n:]
	}
	return b.String()
}

// ordered puts the characters of a line that reads from left to right into the order in
// which they are on paper: words of scripts that are written from right to left, with
// what is between two of them, are turned round.
func ordered(line string) string {
	var out strings.Builder
	runes := []rune(line)
	for i := 0; i < len(runes); {
		if !rightToLeft(runes[i]) {
			out.WriteRune(runes[i])
			i++
			continue
		}
		end := i + 1
		for j := end; j < len(runes) && (neutral(runes[j]) || rightToLeft(runes[j])); j++ {
			if rightToLeft(runes[j]) {
				end = j + 1
			}
		}
		out.WriteString(bidi.ReverseString(string(runes[i:end])))
		i = end
	}
	return out.String()
}

func rightToLeft(r rune) bool {
	p, _ := bidi.LookupRune(r)
	return p.Class() == bidi.R || p.Class() == bidi.AL
}

// neutral characters go with what surrounds them. A slash does not: it parts the names
// of a path, which keep their order.
func neutral(r rune) bool {
	switch r {
	case ' ', '-', '_', '\'':
		return true
	}
	return unicode.Is(unicode.Mn, r)
}
