package parquet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/internal/names"
	"github.com/headrace/headrace/shard/internal/textlist"
	"github.com/headrace/headrace/tensor"
)

// meaning is what the values of a column become.
type meaning uint8

const (
	asBytes meaning = iota
	asText
	asInt
	asFloat
	asDecimal // with more digits than an int64 has
)

// column is a leaf of the schema.
type column struct {
	name     string
	kind     int // as it is stored
	length   int // of a typeFixed
	meaning  meaning
	unsigned bool
	half     bool // a float of 16 bits
	levels   int  // the definition level of a value; 0: there are no levels
	refused  string

	dtype   tensor.DType // of numbers
	logical string       // what values stand for; "": themselves

	dictionary bool // of text, of which the names are collected
	names      names.Set

	// of a list of numbers
	list   bool
	number int // an index into numbers
	// the definition level of an element of each list around a value; one below, the
	// list is empty, and below that there is none
	lists  []int
	shape  []int // extents of the array: notSeen, or how many elements all lists have that are in another one
	fixed  []int // as the Arrow schema says; 0: any
	tensor []int // the shape of the innermost list; nil: it is a list
}

// notSeen is how long lists are of which there was none.
const notSeen = -1

// columns are the leaves of the schema, as many as each row group has chunks.
func (m *footer) columns(f shard.File) ([]*column, error) {
	if len(m.schema) == 0 {
		return nil, shard.Wrong(f, m.at, shard.ErrCorrupt, "the footer has no schema")
	}
	w := walk{nodes: m.schema[1:]}
	w.nodesOf(m.schema[0], place{})
	if w.bad || len(w.nodes) > 0 {
		return nil, shard.Wrong(f, m.at, shard.ErrCorrupt, "the footer's schema is not a tree")
	}

	said := m.said()
	names := make(map[string]bool, len(w.found))
	for _, c := range w.found {
		switch {
		case c.refused != "":
		case c.name == "":
			c.refused = "it has no name"
		case names[c.name]:
			c.refused = "two columns have this name"
		}
		names[c.name] = true
		c.take(said[c.name])
	}
	return w.found, nil
}

// walk goes through a schema, whose nodes are in the order of a walk.
type walk struct {
	nodes []element
	found []*column
	bad   bool
}

// place is where a node is.
type place struct {
	path   []string // without names of the format's own
	levels int
	listed bool  // the node above says that it is a list or a map
	own    bool  // the name of the next node is the format's
	lists  []int // the definition levels of elements, of each list above
	isMap  bool
	depth  int
}

// nodesOf takes the nodes below one. It may be said to have any number of them.
func (w *walk) nodesOf(e element, p place) {
	for i := 0; i < e.children && !w.bad; i++ {
		w.node(p)
	}
}

// node takes the next node.
func (w *walk) node(p place) {
	if w.bad = w.bad || len(w.nodes) == 0 || p.depth > maxDepth; w.bad {
		return
	}
	e := w.nodes[0]
	w.nodes = w.nodes[1:]
	p.depth++
	if e.repetition != required {
		p.levels++
	}
	again := e.repetition == repeated
	if again {
		p.lists = append(p.lists[:len(p.lists):len(p.lists)], p.levels)
	}
	if !p.own && !(again && p.listed) && !p.isMap {
		p.path = append(p.path[:len(p.path):len(p.path)], e.name)
	}
	if e.kind < 0 || e.children > 0 {
		// Old writers repeat the element itself, and call it so.
		old := e.children != 1 || e.name == "array" || strings.HasSuffix(e.name, "_tuple")
		p.own = again && p.listed && !old
		p.listed = e.logical == logicalMap || e.logical == logicalList ||
			e.converted >= convertedMap && e.converted <= convertedList
		p.isMap = p.isMap || p.listed && e.logical != logicalList && e.converted != convertedList
		w.nodesOf(e, p)
		return
	}

	c := &column{name: strings.Join(p.path, "."), kind: e.kind, length: e.length, levels: p.levels}
	switch c.understand(e); {
	case p.isMap:
		c.refused = "it is a map, which has no place in a batch"
	case len(p.lists) > 0 && c.kind == typeInt96:
		c.refused = "it is a list of timestamps of 96 bits (int96): write them as int64"
	case len(p.lists) > 0 && strings.HasPrefix(c.logical, "decimal"):
		c.refused = fmt.Sprintf("it is a list of %s, and only lists of numbers and of text have a place in a batch: write numbers",
			c.logical)
	case len(p.lists) > 0:
		c.lists = p.lists
		c.shape = slices.Repeat([]int{notSeen}, len(p.lists))
		c.ofList()
	}
	w.found = append(w.found, c)
}

// understand says what a column's values become.
func (c *column) understand(e element) {
	c.logical = logicalOf(e)
	switch {
	case e.logical == logicalDecimal || e.logical == 0 && e.converted == convertedDec:
		c.decimal(e)
	case e.kind == typeInt96:
		c.meaning = asInt
	case e.kind == typeFixed && e.logical == logicalFloat16 && e.length == 2:
		c.meaning, c.half = asFloat, true
	case e.kind == typeFixed && e.length <= 0:
		c.refused = fmt.Sprintf("its values are said to have %d bytes", e.length)
	case e.kind == typeBytes && (e.logical == logicalString || e.logical == logicalEnum || e.logical == logicalJSON),
		e.kind == typeBytes && (e.converted == convertedText || e.converted == convertedEnum || e.converted == convertedJSON):
		c.meaning = asText
	case e.kind == typeBytes, e.kind == typeFixed:
		c.meaning = asBytes
	case e.kind == typeFloat, e.kind == typeDouble:
		c.meaning = asFloat
	case e.kind == typeBoolean, e.kind == typeInt32, e.kind == typeInt64:
		c.meaning = asInt
		c.unsigned = e.logical == logicalInteger && !e.signed ||
			e.converted == convertedUint32 || e.converted == convertedUint64
	default:
		c.refused = fmt.Sprintf("its type (%d) is not known", e.kind)
	}
	if c.refused == "" && c.isNumber() {
		c.number, c.dtype = c.numbers(e)
		if c.meaning == asFloat || c.dtype == tensor.Bool {
			c.logical = ""
		}
	}
}

// plainType is the type of numbers that are no lists. Times are int64 whatever their
// width is, as NumPy's are.
func (c *column) plainType() tensor.DType {
	if c.logical != "" {
		return tensor.Int64
	}
	return c.dtype
}

func (c *column) isNumber() bool { return c.meaning == asInt || c.meaning == asFloat }

// numbers says how numbers are stored, as a place in numbers, and what they are.
func (c *column) numbers(e element) (stored int, d tensor.DType) {
	bits := e.bits
	if e.logical != logicalInteger {
		bits = map[int]int{convertedUint8: 8, convertedUint16: 16, convertedInt8: 8, convertedInt16: 16}[e.converted]
		c.unsigned = c.unsigned || e.converted == convertedUint8 || e.converted == convertedUint16
	}
	of := func(signed, unsigned tensor.DType) tensor.DType {
		if c.unsigned {
			return unsigned
		}
		return signed
	}
	switch {
	case e.kind == typeBoolean:
		return 0, tensor.Bool
	case c.half:
		return 3, tensor.Float16
	case e.kind == typeInt32 && bits == 8:
		return 1, of(tensor.Int8, tensor.Uint8)
	case e.kind == typeInt32 && bits == 16:
		return 2, of(tensor.Int16, tensor.Uint16)
	case e.kind == typeInt32:
		return 4, of(tensor.Int32, tensor.Uint32)
	case e.kind == typeFloat:
		return 5, tensor.Float32
	case e.kind == typeInt64:
		return 6, of(tensor.Int64, tensor.Uint64)
	}
	return 7, tensor.Float64
}

// announce tells the index what there is to read, also where a shard has no rows.
func announce(columns []*column, found *index.Builder) {
	for _, c := range columns {
		if c.name != "" {
			found.Columns = append(found.Columns, c.name)
		}
		switch {
		case c.name == "": // which nobody can ask for
		case c.refused != "":
			found.Refuse(c.name, c.refused)
		case c.list: // whose shape is known when all were seen
		case c.meaning == asText:
			found.Type(c.name, sample.TextType)
		case c.meaning == asBytes:
			found.Type(c.name, sample.BytesType)
		case c.meaning == asDecimal:
			found.Type(c.name, c.typeOf(sample.TextType))
		default:
			found.Type(c.name, c.typeOf(sample.TensorType(c.plainType())))
		}
	}
}

// width is how many bytes a value takes that is not of variable length.
func (c *column) width() int {
	switch c.kind {
	case typeInt32, typeFloat:
		return 4
	case typeInt64, typeDouble:
		return 8
	case typeInt96:
		return 12
	case typeFixed:
		return c.length
	}
	return 0
}

// ofList has a column be a list, if its elements are numbers or text.
func (c *column) ofList() {
	switch {
	case c.refused != "":
	case c.isNumber():
		c.list = true
	case c.meaning == asText && len(c.lists) > textlist.MostAxes:
		c.refused = fmt.Sprintf("its lists of text are %d deep, and can be %d: write it as one text, such as JSON",
			len(c.lists), textlist.MostAxes)
	case c.meaning == asText && c.levels > 255:
		c.refused = "it is too deep for lists of text"
	case c.meaning == asText:
		c.list = true
	default:
		c.refused = "it is a list of bytes, and only lists of numbers and of text have a place in a batch"
	}
}
