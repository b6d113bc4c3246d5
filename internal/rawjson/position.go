package rawjson

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// SyntaxError is a mistake in a text, at a place of it.
type SyntaxError struct {
	Line, Column int // from 1, the column in characters; 0: not known
	Err          error
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%d:%d: %v", e.Line, e.Column, e.Err) }

func (e *SyntaxError) Unwrap() error { return e.Err }

// Offset returns where a part of v begins in it.
func (v Value) Offset(part Value) int { return cap(v) - cap(part) }

// Position turns the number of bytes read into line and column, both from 1, the column
// in characters.
func Position(doc []byte, read int) (line, column int) {
	before := string(doc[:min(max(read-1, 0), len(doc))])
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[1+strings.LastIndexByte(before, '\n'):])
}

// Member returns the value of a key; nil where there is none.
func (v Value) Member(name string) Value {
	for quoted, m := range v.Members() {
		if key, err := Unquote(quoted); err == nil && key == name {
			return m
		}
	}
	return nil
}

// Follow goes along a path like "paths[3]" as far as it leads.
func (v Value) Follow(path string) Value {
	for path != "" {
		var next Value
		next, path = v.step(path)
		if next == nil {
			break
		}
		v = next
	}
	return v
}

// step makes one step along a path and returns the rest of it; nil where it does not lead
// on.
func (v Value) step(path string) (Value, string) {
	switch v.Kind() {
	case List:
		number, rest, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
		n, err := strconv.Atoi(number)
		if !ok || err != nil {
			return nil, ""
		}
		for i, e := range v.Elements() {
			if i == n {
				return e, strings.TrimPrefix(rest, ".")
			}
		}

	case Object:
		for quoted, member := range v.Members() {
			key, err := Unquote(quoted)
			rest, ok := strings.CutPrefix(path, key)
			ends := rest == "" || rest[0] == '.' || rest[0] == '[' // not "a" of "ab"
			if err == nil && ok && ends {
				return member, strings.TrimPrefix(rest, ".")
			}
		}
	}
	return nil, ""
}

// LastKey returns a key of an object as it is quoted: the last, where it is repeated.
func (v Value) LastKey(name string) (found Value) {
	if v.Kind() != Object {
		return nil
	}
	for quoted := range v.Members() {
		if key, err := Unquote(quoted); err == nil && key == name {
			found = quoted
		}
	}
	return found
}
