package recipe

import "slices"

// source is the text of a file, as one JSON value of which each part can be told where it stands.
type source struct {
	doc   value
	marks []mark // where the parts of doc stood, in rising order; nil: doc is the text itself
	text  []byte
}

// mark says that what is at an offset of the value came from a place in the text.
type mark struct{ offset, line, column int }

func parseSource(text []byte) (source, error) {
	doc, err := parseJSON(text)
	return source{doc: doc, text: text}, err
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
