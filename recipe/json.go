package recipe

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"unicode/utf8"
)

// value is a JSON value as it is written, and behind its end, up to its capacity, what follows in the document: so it can be told where it stands. It is looked into piece by piece: a recipe may list millions of paths, and a tree of them would
// take many times the memory of their text. encoding/json cannot be used for it, for it loses repeated keys and surrogates.
type value []byte

// parseJSON makes sure that doc is one valid JSON value. All that looks into values relies on that.
func parseJSON(doc []byte) (value, error) {
	var syntax *json.SyntaxError
	err := json.Unmarshal(doc, new(nothing))
	if errors.As(err, &syntax) {
		line, column := position(doc, int(syntax.Offset))
		return nil, &Error{Position: Position{Line: line, Column: column}, Err: err}
	}
	if err != nil {
		return nil, &Error{Err: err}
	}
	return value(bytes.TrimSpace(doc)), nil
}

// nothing makes encoding/json check a document and keep none of it.
type nothing struct{}

func (*nothing) UnmarshalJSON([]byte) error { return nil }

// offset returns where a part of v begins in it.
func (v value) offset(part value) int { return cap(v) - cap(part) }

// position turns the number of bytes read into line and column, both from 1, the column in characters.
func position(doc []byte, read int) (line, column int) {
	before := string(doc[:min(max(read-1, 0), len(doc))])
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[1+strings.LastIndexByte(before, '\n'):])
}

func (v value) kind() byte {
	switch c := v[0]; c {
	case '{', '[', '"', 'n':
		return c
	case 't', 'f':
		return 'b'
	default:
		return '0'
	}
}

// describe says what v is, short enough for a message.
func (v value) describe() string {
	switch v.kind() {
	case '{':
		return "an object"
	case '[':
		if len(v) > 40 {
			return "a list"
		}
	}
	if len(v) > 60 {
		return strings.ToValidUTF8(string(v[:60]), "") + "…"
	}
	return string(v)
}

// elements yields the values of a list.
func (v value) elements() iter.Seq2[int, value] {
	return func(yield func(int, value) bool) {
		rest := blank(v[1:])
		for i := 0; rest[0] != ']'; i++ {
			n := rest.size()
			if !yield(i, rest[:n]) {
				return
			}
			if rest = blank(rest[n:]); rest[0] == ',' {
				rest = blank(rest[1:])
			}
		}
	}
}

// members yields the keys of an object, as they are quoted, and their values.
func (v value) members() iter.Seq2[value, value] {
	return func(yield func(value, value) bool) {
		rest := blank(v[1:])
		for rest[0] != '}' {
			n := rest.size()
			key := rest[:n]
			rest = blank(blank(rest[n:])[1:])
			n = rest.size()
			if !yield(key, rest[:n]) {
				return
			}
			if rest = blank(rest[n:]); rest[0] == ',' {
				rest = blank(rest[1:])
			}
		}
	}
}

// size returns the length of the value that v begins with.
func (v value) size() int {
	depth := 0
	for i := 0; ; i++ {
		switch v[i] {
		case '"':
			i += v[i:].quoted() - 1
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth > 0 {
				continue
			}
			return v.bare()
		}
		if depth == 0 {
			return i + 1
		}
	}
}

// quoted returns the length of the string that v begins with.
func (v value) quoted() int {
	for i := 1; ; i++ {
		switch v[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// bare returns the length of the number or the word that v begins with.
func (v value) bare() int {
	for i, c := range v {
		if strings.IndexByte(" \t\r\n,]}", c) >= 0 {
			return i
		}
	}
	return len(v)
}

func blank(v value) value {
	for len(v) > 0 && strings.IndexByte(" \t\r\n", v[0]) >= 0 {
		v = v[1:]
	}
	return v
}

// member returns the value of a key; nil where there is none.
func (v value) member(name string) value {
	for key, m := range v.members() {
		if k, err := unquote(key, false); err == nil && k == name {
			return m
		}
	}
	return nil
}

// text returns the text of a key, or what stands for it.
func (v value) text(name, otherwise string) string {
	if m := v.member(name); m != nil {
		if s, err := unquote(m, false); err == nil {
			return s
		}
	}
	return otherwise
}
