package shard

import (
	"fmt"
	"unicode/utf8"
)

// Textual is a Parser whose records are text, with their names, such as lines of JSON.
// Names that are not UTF-8 are replaced in them as text is.
type Textual interface {
	Parser
	// Textual does nothing.
	Textual()
}

// Replaced returns text with U+FFFD for what is not UTF-8: one for each part, as long as
// it can be, that could begin a character, as Python's errors="replace" does.
func Replaced(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	all := make([]byte, 0, len(text)+len(text)/8+8)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r != utf8.RuneError || n > 1 {
			all = append(all, text[:n]...)
		} else {
			for n < len(text) && !utf8.FullRune(text[:n+1]) {
				n++
			}
			all = utf8.AppendRune(all, utf8.RuneError)
		}
		text = text[n:]
	}
	return all
}

func invalid(text []byte) error {
	at := 0
	for r, n := utf8.DecodeRune(text); r != utf8.RuneError || n > 1; r, n = utf8.DecodeRune(text[at:]) {
		at += n
	}
	return fmt.Errorf("%w: it is not UTF-8 (byte 0x%02x at %d): write it as UTF-8, read it as bytes, "+
		"or replace it with errors=\"replace\"", ErrCorrupt, text[at], at)
}
