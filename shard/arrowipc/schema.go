package arrowipc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/internal/textlist"
	"github.com/headrace/headrace/tensor"
)

const (
	decimalsAreRefused = "it is a list of decimals, and only lists of numbers and of text have a place in a batch: write floats"
	bytesAreRefused    = "it is a list of bytes, and only lists of numbers and of text have a place in a batch"
	viewsAreRefused    = "it is a list of views of text: write it as a list of string"
)

// layout is which buffers an array has after its validity.
type layout uint8

const (
	noBuffers  layout = iota // not even validity
	fixedWidth               // values one after the other
	bits                     // eight values a byte
	offsets32                // offsets, then bytes
	offsets64
	views    // views, and as many buffers of bytes as the batch says
	children // validity alone, and the children's
	lists    // buffers of a kind of lists, and the children's
	runs     // no validity; ends of runs and their values are children
)

// meaning is what the values of a column become.
type meaning uint8

const (
	asNothing meaning = iota // it has children, or is refused
	asBytes
	asText
	asInt
	asFloat
	asList // of numbers, as a leaf in lists
	asTexts
	asDecimal // with more digits than an int64 has
)

// field is a node of the schema.
type field struct {
	name     string
	layout   layout
	meaning  meaning
	width    int    // of a value
	logical  string // what values stand for; "": themselves
	empty    bool   // all are null, and there are no buffers
	unsigned bool
	skipped  int  // buffers of a list besides validity
	invalid  bool // lists: there is no buffer of validity
	children []*field
	refused  string

	sizes    layout // of a list: offsets32, offsets64, views of either size, or noBuffers where it is fixed
	long     bool   // the sizes and offsets of views have 8 bytes
	elements int    // of each list, or Unknown

	tensor []int // the shape of each list, which is a tensor; nil: it is a list

	kind  tensor.DType // of numbers in lists
	said  []int        // extents that the one who wrote it says
	apart bool         // some are not what was said
	shape []int        // of numbers in lists: extents, notSeen where there was no list

	dictionary *field // what its numbers are indexes of; those are of this field's layout
	id         int64

	values values // those of the batch that is read
}

// schemaReader reads the fields of a schema, whose names are paths.
type schemaReader struct {
	count   int
	bad     bool
	unknown *field // of a type of which the buffers are not known, so that others are not found
}

func readSchema(t table) ([]*field, error) {
	var r schemaReader
	all := r.fields(t.tables(1), "", 0)
	switch {
	case r.bad:
		return nil, fmt.Errorf("%w: the schema has too many fields, or is too deep", shard.ErrCorrupt)
	case r.unknown != nil:
		return nil, fmt.Errorf("%w: column %s: %s", shard.ErrUnsupported, r.unknown.name, r.unknown.refused)
	}
	inLists(all, nil, nil)
	names := map[string]bool{}
	walkLeaves(all, func(f *field) {
		switch {
		case f.refused != "":
		case f.name == "":
			f.refused = "it has no name"
		case names[f.name]:
			f.refused = "two columns have this name"
		}
		names[f.name] = true
	})
	return all, nil
}

func (r *schemaReader) fields(all []table, path string, depth int) []*field {
	if r.count += len(all); r.count > mostFields || depth > maxDepth {
		r.bad = true
		return nil
	}
	fields := make([]*field, len(all))
	for i, t := range all {
		fields[i] = r.field(t, path+t.text(0), depth)
	}
	return fields
}

// isList tells kinds of lists, whose elements have no name of their own.
func isList(kind int) bool {
	switch kind {
	case typeList, typeLargeList, typeFixedList, typeListView, typeLargeListView:
		return true
	}
	return false
}

func (r *schemaReader) field(t table, name string, depth int) *field {
	f := &field{name: name, said: arrayOf(t), logical: logical(int(t.byte(2)), t.table(3))}
	if inner := t.tables(5); isList(int(t.byte(2))) && len(inner) == 1 {
		r.count++
		if r.count > mostFields || depth >= maxDepth {
			r.bad = true
			return f
		}
		f.children = []*field{r.field(inner[0], name, depth+1)}
	} else {
		f.children = r.fields(inner, f.name+".", depth+1)
	}
	f.understand(int(t.byte(2)), t.table(3))
	if shape, why := tensorOf(t); why != "" {
		f.refused = why
	} else {
		f.tensor = shape
	}
	if f.layout == noBuffers && int(t.byte(2)) != typeNull {
		r.unknown = f
	}
	if d := t.table(4); d.at > 0 {
		// Its values are in other messages, and the batches have indexes of them.
		values := *f
		*f = field{name: f.name, dictionary: &values, id: d.int64(0), layout: fixedWidth, meaning: values.meaning, refused: values.refused,
			logical: values.logical}
		f.width, f.unsigned = 4, false
		if kind := d.table(1); kind.at > 0 {
			f.width, f.unsigned = int(kind.int32(0, 0))/8, kind.byte(1) == 0
		}
		if len(values.children) > 0 {
			f.refused = "its dictionary has values of several fields"
		}
	}
	if f.refused == "" && (f.meaning == asInt || f.meaning == asFloat) && !f.number().Valid() {
		f.refused = fmt.Sprintf("its numbers are said to have %d bytes", f.width)
	}
	if f.layout == fixedWidth && (f.width < 1 || f.width > 1<<20) {
		if f.refused = fmt.Sprintf("its values are said to have %d bytes", f.width); f.width < 0 {
			f.width = 0
		}
	}
	return f
}

// understand says how values are stored, and what they become.
func (f *field) understand(kind int, t table) {
	switch kind {
	case typeNull:
		f.layout, f.meaning, f.empty = noBuffers, asText, true
	case typeInt:
		f.fixed(asInt, int(t.int32(0, 0))/8)
		f.unsigned = t.byte(1) == 0
	case typeBool:
		f.layout, f.meaning = bits, asInt
	case typeFloat:
		f.fixed(asFloat, 2<<min(2, uint16(t.int16(0, 0))))
	case typeDate:
		f.fixed(asInt, 4+4*int(t.int16(0, 1)&1))
	case typeTime:
		f.fixed(asInt, int(t.int32(1, 32))/8)
	case typeTimestamp, typeDuration:
		f.fixed(asInt, 8)
	case typeBinary:
		f.layout, f.meaning = offsets32, asBytes
	case typeText:
		f.layout, f.meaning = offsets32, asText
	case typeLargeBinary:
		f.layout, f.meaning = offsets64, asBytes
	case typeLargeText:
		f.layout, f.meaning = offsets64, asText
	case typeBinaryView:
		f.layout, f.meaning = views, asBytes
	case typeTextView:
		f.layout, f.meaning = views, asText
	case typeFixedBinary:
		f.fixed(asBytes, int(t.int32(0, 0)))
	case typeDecimal:
		f.decimal(t)
	case typeStruct:
		f.layout = children
	default:
		f.nested(kind, t)
	}
}

// decimal understands decimals.
func (f *field) decimal(t table) {
	digits, scale, width := t.int32(0, 0), t.int32(1, 0), t.int32(2, 128)/8
	f.fixed(asDecimal, int(width))
	if digits <= MostDigits {
		f.meaning = asInt
	}
	most := map[int32]int32{4: 9, 8: 18, 16: 38, 32: 76}[width]
	if digits < 1 || digits > most || scale > 76 || scale < -76 {
		f.refused = fmt.Sprintf("its type, %s, is not valid", f.logical)
	}
}

// number is the type of numbers that are no lists. Times are int64 whatever their width
// is, as NumPy's are.
func (f *field) number() tensor.DType {
	if f.logical != "" {
		return tensor.Int64
	}
	return f.dtype()
}

// dtype is the type of numbers as they are stored.
func (f *field) dtype() tensor.DType {
	if f.dictionary != nil {
		return f.dictionary.dtype()
	}
	if f.layout == runs {
		return f.children[1].dtype()
	}
	of := map[int][3]tensor.DType{
		1: {tensor.Int8, tensor.Uint8},
		2: {tensor.Int16, tensor.Uint16, tensor.Float16},
		4: {tensor.Int32, tensor.Uint32, tensor.Float32},
		8: {tensor.Int64, tensor.Uint64, tensor.Float64},
	}[f.width]
	switch {
	case f.layout == bits:
		return tensor.Bool
	case f.meaning == asFloat:
		return of[2]
	case f.unsigned:
		return of[1]
	}
	return of[0]
}

func (f *field) fixed(m meaning, width int) { f.layout, f.meaning, f.width = fixedWidth, m, width }

// nested understands lists and runs. Of what it refuses it knows which buffers there are,
// so that those of the next column are found.
func (f *field) nested(kind int, t table) {
	f.layout = lists
	switch kind {
	case typeInterval:
		f.skipped, f.refused = 1, "intervals are not supported"
	case typeList, typeLargeList:
		f.skipped, f.sizes, f.long, f.elements = 1, offsets32, kind == typeLargeList, tensor.Unknown
	case typeListView, typeLargeListView:
		f.skipped, f.sizes, f.long, f.elements = 2, views, kind == typeLargeListView, tensor.Unknown
	case typeFixedList:
		if f.elements = int(t.int32(0, 0)); f.elements < 1 {
			f.refused = "its lists are of no elements"
		}
	case typeMap:
		f.skipped, f.refused = 1, "it is a map, which has no place in a batch"
	case typeUnion:
		f.skipped, f.invalid, f.refused = 1+int(t.int16(0, 0)&1), true, "unions are not supported"
	case typeRunEnd:
		f.ofRuns()
	default:
		f.layout, f.refused = noBuffers, fmt.Sprintf("its type (%d) is not known", kind)
	}
	if isList(kind) && len(f.children) != 1 && f.refused == "" {
		f.refused = "a list needs one type"
	}
}

// ofRuns has a column be runs of values, if these are no lists and the like.
func (f *field) ofRuns() {
	f.layout, f.invalid = runs, true
	if len(f.children) != 2 {
		f.layout, f.refused = noBuffers, "runs need ends and values"
		return
	}
	ends, of := f.children[0], f.children[1]
	f.meaning, f.logical = of.meaning, of.logical
	switch {
	case f.meaning == asNothing, of.layout == runs, of.empty,
		ends.meaning != asInt, ends.layout != fixedWidth, ends.dictionary != nil:
		f.layout, f.refused = lists, "runs of such values are not supported"
	}
	if of.refused != "" {
		f.layout, f.refused = lists, of.refused
	}
}

// inLists makes leaves in lists arrays of numbers, or refuses them.
func inLists(all []*field, axes, said []int) {
	for _, f := range all {
		if f.said == nil {
			f.said = said
		}
		switch {
		case f.refused != "":
		case f.layout == children:
			inLists(f.children, axes, f.said)
		case f.layout == lists:
			for _, c := range f.children {
				c.tensor = f.tensor
			}
			inLists(f.children, append(axes[:len(axes):len(axes)], f.elements), f.said)
		case len(axes) == 0:
		case f.empty:
			f.refused = "its lists have no values at all (type null)"
		case strings.HasPrefix(f.logical, "decimal"):
			f.refused = decimalsAreRefused
		case f.dictionary != nil || f.layout == runs:
			f.refused = "it is a list of values in a dictionary or of runs: write it without"
		case f.meaning == asText:
			f.ofTexts(axes)
		case f.meaning != asInt && f.meaning != asFloat:
			f.refused = bytesAreRefused
		default:
			f.kind = f.dtype()
			f.meaning, f.shape = asList, slices.Clone(axes)
			for axis, n := range f.shape[1:] {
				if n == tensor.Unknown {
					f.shape[axis+1] = notSeen
				}
			}
		}
	}
}

// ofTexts has a leaf be lists of text, if its buffers are those of the usual lists.
func (f *field) ofTexts(axes []int) {
	switch {
	case f.layout == views:
		f.refused = viewsAreRefused
	case len(axes) > textlist.MostAxes:
		f.refused = fmt.Sprintf("its lists of text are %d deep, and can be %d: write it as one text, such as JSON",
			len(axes), textlist.MostAxes)
	default:
		f.meaning, f.shape = asTexts, axes
	}
}

// notSeen is how long lists in lists are of which there was none.
const notSeen = -2

// listType is that of numbers in lists, when all were seen.
func (f *field) listType() sample.Type {
	if f.meaning == asTexts {
		return sample.Type{Kind: sample.Text, Shape: slices.Repeat([]int{tensor.Unknown}, len(f.shape))}
	}
	t := f.typeOf(sample.TensorType(f.kind, f.shape...))
	if f.tensor != nil {
		t.Shape = append(t.Shape[:len(t.Shape)-1], f.tensor...)
	}
	said := len(f.said) == len(t.Shape) && !f.apart
	for axis, n := range t.Shape {
		if said && n < 0 && f.said[axis] > 0 {
			t.Shape[axis] = f.said[axis]
		} else if n == notSeen {
			t.Shape[axis] = 0
		}
	}
	return t
}

// walkLeaves calls each for the fields that samples can have.
func walkLeaves(all []*field, each func(f *field)) {
	for _, f := range all {
		if (f.layout == children || f.layout == lists) && f.refused == "" {
			walkLeaves(f.children, each)
		} else {
			each(f)
		}
	}
}

// announce tells the index what there is to read, also where a shard has no rows.
func announce(all []*field, found *index.Builder) {
	walkLeaves(all, func(f *field) {
		if f.name != "" {
			found.Columns = append(found.Columns, f.name)
		}
		switch {
		case f.name == "": // which nobody can ask for
		case f.refused != "":
			found.Refuse(f.name, f.refused)
		case f.meaning == asText:
			found.Type(f.name, sample.TextType)
		case f.meaning == asBytes:
			found.Type(f.name, sample.BytesType)
		case f.meaning == asDecimal:
			found.Type(f.name, f.typeOf(sample.TextType))
		case f.meaning == asTexts:
			found.Type(f.name, f.listType())
		case f.meaning == asList: // whose shape is known when all were seen
		case f.meaning == asInt || f.meaning == asFloat:
			found.Type(f.name, f.typeOf(sample.TensorType(f.number())))
		}
	})
}
