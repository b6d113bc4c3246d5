package arrowipc

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Said has the facts about a column that a schema of Arrow knows, and Parquet does not.
type Said struct {
	Lists      []int  // how long each list around a number is, from the outside; 0: of any length
	Tensor     []int  // the shape of the innermost list, which is a tensor
	Logical    string // what numbers stand for, as pyarrow writes it
	Zone       string // of a timestamp
	Dictionary bool   // of text
	Refused    string // why it cannot be read
}

// Schema reads the facts of a schema, by the names of columns. It is a message, as
// Parquet has it among its metadata. What is damaged says nothing.
func Schema(message []byte) map[string]Said {
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
	f := fixedLists{all: map[string]Said{}}
	for _, t := range root.table(2).tables(1) {
		f.field(t, t.text(0), nil, nil, 0)
	}
	return f.all
}

type fixedLists struct {
	all   map[string]Said
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
		shape, refused := tensorOf(t)
		if len(said) > 0 {
			n, said = said[0], said[1:]
		}
		for _, c := range children {
			f.field(c, name, append(lists[:len(lists):len(lists)], max(n, 0)), said, depth+1)
			if of, ok := f.all[name]; ok && (shape != nil || refused != "") {
				of.Tensor, of.Refused = shape, refused
				f.all[name] = of
			}
		}
		return
	}
	of := Said{Logical: logical(kind, t.table(3))}
	if kind == typeTimestamp {
		of.Zone = t.table(3).text(1)
	}
	if slices.ContainsFunc(lists, func(n int) bool { return n > 0 }) {
		of.Lists = lists
	}
	of.Dictionary = t.table(4).at > 0
	f.all[name] = of
}

// tensorOf is the shape of Arrow's own tensors of one shape; nil: it is none.
func tensorOf(t table) (shape []int, refused string) {
	var about string
	is := false
	for _, pair := range t.tables(6) {
		switch pair.text(0) {
		case "ARROW:extension:name":
			is = pair.text(1) == "arrow.fixed_shape_tensor"
		case "ARROW:extension:metadata":
			about = pair.text(1)
		}
	}
	if !is {
		return nil, ""
	}
	var said struct{ Shape, Permutation []int }
	if json.Unmarshal([]byte(about), &said) != nil {
		return nil, "it is a tensor without a shape"
	}
	if !slices.IsSorted(said.Permutation) {
		return nil, fmt.Sprintf("its tensors are permuted (%v): write them in the order of their rows", said.Permutation)
	}
	size := int64(1)
	for _, n := range said.Shape {
		if n < 1 || n > 1<<31 || size > 1<<31 {
			return nil, fmt.Sprintf("its tensors are said to have the shape %v", said.Shape)
		}
		size *= int64(n)
	}
	lists := int64(t.table(3).int32(0, 0))
	if int(t.byte(2)) != typeFixedList || lists != size || len(said.Shape) == 0 {
		return nil, fmt.Sprintf("its tensors of the shape %v are lists of %d", said.Shape, lists)
	}
	return said.Shape, ""
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
