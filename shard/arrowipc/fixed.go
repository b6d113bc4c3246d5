package arrowipc

import (
	"encoding/binary"
	"encoding/json"
	"strings"
)

// FixedLists are the lengths of lists that a schema says of them, by the names of
// columns: of each list around a number, from the outside; 0: it is of any length. The
// schema is a message, as Parquet has it among its metadata. What is damaged says
// nothing.
func FixedLists(message []byte) map[string][]int {
	if len(message) < 8 {
		return nil
	}
	at := 4
	if binary.LittleEndian.Uint32(message) == continuation {
		at = 8
	}
	root := rootOf(message[at:])
	if root.byte(1) != headerSchema {
		return nil
	}
	f := fixedLists{all: map[string][]int{}}
	for _, t := range root.table(2).tables(1) {
		f.field(t, t.text(0), nil, nil, 0)
	}
	return f.all
}

type fixedLists struct {
	all   map[string][]int
	count int
}

// field takes a field, which is in lists of these lengths.
func (f *fixedLists) field(t table, name string, lists, said []int, depth int) {
	if f.count++; f.count > mostFields || depth > maxDepth {
		return
	}
	if shape := arrayOf(t); shape != nil {
		said = shape
	}

	kind, children := int(t.byte(2)), t.tables(5)
	switch kind {
	case typeStruct:
		for _, c := range children {
			f.field(c, name+"."+c.text(0), lists, said, depth+1)
		}
		return
	case typeList, typeLargeList, typeListView, typeLargeListView, typeFixedList:
		n := 0
		if kind == typeFixedList {
			n = int(t.table(3).int32(0, 0))
		}
		if len(said) > 0 {
			n, said = said[0], said[1:]
		}
		for _, c := range children {
			f.field(c, name, append(lists[:len(lists):len(lists)], max(n, 0)), said, depth+1)
		}
		return
	}
	for _, n := range lists {
		if n > 0 {
			f.all[name] = lists
		}
	}
}

// arrayOf is the shape of an array as Hugging Face's datasets has it: lists in lists, and
// their lengths beside them.
func arrayOf(t table) []int {
	array := false
	about := ""
	for _, pair := range t.tables(6) {
		switch pair.text(0) {
		case "ARROW:extension:name":
			array = strings.HasPrefix(pair.text(1), "datasets.features.features.Array")
		case "ARROW:extension:metadata":
			about = pair.text(1)
		}
	}
	var parts []json.RawMessage
	var shape []*int
	if !array || json.Unmarshal([]byte(about), &parts) != nil || len(parts) == 0 || json.Unmarshal(parts[0], &shape) != nil {
		return nil
	}
	all := make([]int, len(shape))
	for i, n := range shape {
		if n != nil {
			all[i] = *n
		}
	}
	return all
}
