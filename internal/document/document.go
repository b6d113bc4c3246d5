// Package document reads the text of a recipe's file, YAML or JSON, and remembers where
// everything is in it.
package document

import (
	"bytes"
	"slices"

	"github.com/headrace/headrace/internal/rawjson"
)

// Document is the text of a file as one JSON value, of which each part can be known where
// it is.
type Document struct {
	Value rawjson.Value

	marks []mark // where the parts of Value were, in rising order; nil: Value is the text itself
	text  []byte
}

// mark says that what is at an offset of the value came from a place in the text.
type mark struct{ offset, line, column int }

const blanks = " \t\r\n"

// Parse reads JSON as it is, and all else as YAML, of which JSON is a part: what begins
// like JSON may still be YAML, with a comment or a comma at the end of a list. Its errors
// are [*rawjson.SyntaxError], or join several.
func Parse(text []byte) (Document, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	begin := bytes.TrimLeft(text, blanks)
	if len(begin) == 0 || begin[0] != '{' && begin[0] != '[' {
		return parseYAML(text)
	}

	doc, jsonErr := rawjson.Parse(text)
	if jsonErr == nil {
		return Document{Value: doc, text: text}, nil
	}

	d, err := parseYAML(text)
	if next := bytes.TrimLeft(begin[1:], blanks); err != nil && (len(next) == 0 || next[0] == '"') {
		return Document{}, jsonErr
	}
	return d, err
}

// IsYAML reports whether the text is YAML, beyond what JSON is.
func (d Document) IsYAML() bool { return d.marks != nil }

// At returns where a part of the value is in the text.
func (d Document) At(part rawjson.Value) (line, column int) {
	if d.marks == nil {
		return rawjson.Position(d.text, rawjson.Value(d.text).Offset(part)+1)
	}
	i, _ := slices.BinarySearchFunc(d.marks, d.Value.Offset(part)+1, func(m mark, offset int) int { return m.offset - offset })
	m := d.marks[max(0, i-1)]
	return m.line, m.column
}
