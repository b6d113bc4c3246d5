package where

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Error is a mistake in an expression. Its text goes on after the name of the argument,
// and shows the place.
type Error struct {
	Text string // the expression
	At   int    // in bytes
	Err  error
}

// Error is like
//
//	has ">" where a value must be: …
//	  age >> 3
//	       ^
func (e *Error) Error() string {
	line, caret := excerpt(e.Text, e.At)
	return fmt.Sprintf("%v\n  %s\n  %s^", e.Err, line, strings.Repeat(" ", caret))
}

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// around bounds the characters on each side of a mistake.
const around = 50

// excerpt is the part of a text around a place, as one line, and how many characters are
// before that place.
func excerpt(text string, at int) (line string, before int) {
	at = min(max(at, 0), len(text))
	left, right := text[:at], text[at:]
	cut := func(s string, n int) (i int) { // the first n characters
		for ; n > 0 && i < len(s); n-- {
			_, size := utf8.DecodeRuneInString(s[i:])
			i += size
		}
		return i
	}
	if n := utf8.RuneCountInString(left); n > around {
		left = "…" + left[cut(left, n-around):]
	}
	if i := cut(right, around); i < len(right) {
		right = right[:i] + "…"
	}
	line = strings.Map(func(r rune) rune {
		if r < ' ' || r == utf8.RuneError {
			return ' '
		}
		return r
	}, left+right)
	return strings.TrimRight(line, " "), utf8.RuneCountInString(left)
}
