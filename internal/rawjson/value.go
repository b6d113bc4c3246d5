package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"strings"
)

// Value is a JSON value as it is written. Beyond its length, up to its capacity, lies
// what follows in the document: so any part of a document can be known where it is.
type Value []byte

// Kind is what kind of value one is, by its first byte.
type Kind byte

// The kinds.
const (
	Object Kind = '{'
	List   Kind = '['
	Text   Kind = '"'
	Null   Kind = 'n'
	Bool   Kind = 'b'
	Number Kind = '0'
)

// ErrKind says that a value is not of a kind that is accepted. Which are, the caller
// says.
var ErrKind = errors.New("recipe: a value of another kind")

// Parse makes sure that doc is one valid JSON value. Its errors are of the type
// [*SyntaxError].
func Parse(doc []byte) (Value, error) {
	var syntax *json.SyntaxError
	err := json.Unmarshal(doc, new(nothing))
	if errors.As(err, &syntax) {
		line, column := Position(doc, int(syntax.Offset))
		return nil, &SyntaxError{line, column, err}
	}
	if err != nil {
		return nil, &SyntaxError{Err: err}
	}
	return Value(bytes.TrimSpace(doc)), nil
}

// nothing makes encoding/json check a document and keep none of it.
type nothing struct{}

func (*nothing) UnmarshalJSON([]byte) error { return nil }

// Kind returns the kind of v.
func (v Value) Kind() Kind {
	switch c := v[0]; c {
	case '{', '[', '"', 'n':
		return Kind(c)
	case 't', 'f':
		return Bool
	default:
		return Number
	}
}

// Describe says what v is, short enough for a message.
func (v Value) Describe() string {
	switch v.Kind() {
	case Object:
		return "an object"
	case List:
		if len(v) > 40 {
			return "a list"
		}
	}
	if len(v) > 60 {
		return strings.ToValidUTF8(string(v[:60]), "") + "…"
	}
	return string(v)
}

// Elements yields the values of a list.
func (v Value) Elements() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		rest := afterBlanks(v[1:])
		for i := 0; rest[0] != ']'; i++ {
			n := rest.size()
			if !yield(i, rest[:n]) {
				return
			}
			if rest = afterBlanks(rest[n:]); rest[0] == ',' {
				rest = afterBlanks(rest[1:])
			}
		}
	}
}

// Members yields the keys of an object, as they are quoted, and their values.
func (v Value) Members() iter.Seq2[Value, Value] {
	return func(yield func(Value, Value) bool) {
		rest := afterBlanks(v[1:])
		for rest[0] != '}' {
			n := rest.size()
			key := rest[:n]
			rest = afterBlanks(afterBlanks(rest[n:])[1:])
			n = rest.size()
			if !yield(key, rest[:n]) {
				return
			}
			if rest = afterBlanks(rest[n:]); rest[0] == ',' {
				rest = afterBlanks(rest[1:])
			}
		}
	}
}

// size returns the length of the value that v begins with.
func (v Value) size() int {
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
func (v Value) quoted() int {
	// Nearly all text is without escapes, and IndexByte looks at many bytes at once.
	if n := bytes.IndexByte(v[1:], '"'); bytes.IndexByte(v[1:1+n], '\\') < 0 {
		return n + 2
	}
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
func (v Value) bare() int {
	for i, c := range v {
		if strings.IndexByte(" \t\r\n,]}", c) >= 0 {
			return i
		}
	}
	return len(v)
}

func afterBlanks(v Value) Value {
	for len(v) > 0 && strings.IndexByte(" \t\r\n", v[0]) >= 0 {
		v = v[1:]
	}
	return v
}
