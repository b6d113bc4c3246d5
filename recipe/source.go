package recipe

import (
	"bytes"
	"slices"
)

// source is the text of a file, as one JSON value of which each part can be told where it stands.
type source struct {
	doc   value
	marks []mark // where the parts of doc stood, in rising order; nil: doc is the text itself
	text  []byte
	steps []value // all that there are, in the order of the text: parts of doc
}

// mark says that what is at an offset of the value came from a place in the text.
type mark struct{ offset, line, column int }

// parseSource reads JSON as it is, and all else as YAML, which JSON is a part of: what begins like JSON may still be YAML, with a comment or a
// comma at the end of a list.
func parseSource(text []byte) (source, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	begin := blank(text)
	if len(begin) == 0 || begin[0] != '{' && begin[0] != '[' {
		return parseYAML(text)
	}
	doc, jsonErr := parseJSON(text)
	if jsonErr == nil {
		return source{doc: doc, text: text}, nil
	}
	s, err := parseYAML(text)
	if next := blank(begin[1:]); err != nil && (len(next) == 0 || next[0] == '"') {
		return source{}, jsonErr
	}
	return s, err
}

// at returns where a part of the value stands in the text.
func (s source) at(part value) (line, column int) {
	if s.marks == nil {
		return position(s.text, value(s.text).offset(part)+1)
	}
	i, _ := slices.BinarySearchFunc(s.marks, s.doc.offset(part)+1, func(m mark, offset int) int { return m.offset - offset })
	m := s.marks[max(0, i-1)]
	return m.line, m.column
}
