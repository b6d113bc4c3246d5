package recipe

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/headrace/headrace/internal/rawjson"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Columns are fields of files beside their content: labels, captions, whatever a table
// has. In JSON an object with, for each field, its type and its values: {"score":
// {"float32": [0.5, 1]}, "caption": {"text": ["a", "b"]}}; for arrays with their shape,
// and each a list of its numbers: {"boxes": {"shape": [null, 4], "float32": [[0, 0, 2,
// 1], []]}}.
type Columns []Column

// Column is a field with a value for each file. ColumnOf makes one.
type Column struct {
	Name  string
	DType tensor.DType // of numbers; Invalid: it is text
	texts []string
	lists tensor.Shape // of texts that are packed lists
	data  []byte       // numbers, in the machine's order of bytes
	shape tensor.Shape // of arrays; nil: each value is one number
	ends  []int        // of arrays, in data
}

// Number lists the types of numbers that recipes in files have.
type Number interface {
	int64 | float32 | float64 | bool
}

// ArraysOf returns a column of arrays, each given by its numbers one after the other.
func ArraysOf[T Number](name string, shape tensor.Shape, values [][]T) Column {
	c := ColumnOf(name, slices.Concat(values...))
	c.shape, c.ends = shape, make([]int, len(values))
	end := 0
	for i, v := range values {
		end += len(v) * c.DType.Size()
		c.ends[i] = end
	}
	return c
}

// ColumnOf returns a column with these values.
func ColumnOf[T string | int64 | float32 | float64 | bool](name string, values []T) Column {
	c := Column{Name: name}

	// In the machine's order, as batches have it.
	switch values := any(values).(type) {
	case []string:
		c.texts = values
	case []int64:
		c.DType = tensor.Int64
		for _, v := range values {
			c.data = binary.NativeEndian.AppendUint64(c.data, uint64(v))
		}
	case []float32:
		c.DType = tensor.Float32
		for _, v := range values {
			c.data = binary.NativeEndian.AppendUint32(c.data, math.Float32bits(v))
		}
	case []float64:
		c.DType = tensor.Float64
		for _, v := range values {
			c.data = binary.NativeEndian.AppendUint64(c.data, math.Float64bits(v))
		}
	case []bool:
		c.DType = tensor.Bool
		for _, v := range values {
			c.data = append(c.data, map[bool]byte{true: 1}[v])
		}
	}
	return c
}

// NumbersOf returns a column of numbers of any type, which are one after the other in
// the machine's order of bytes. Recipes in files have those of [ColumnOf].
func NumbersOf(name string, d tensor.DType, data []byte) Column {
	return Column{Name: name, DType: d, data: data}
}

// Type is that of a value.
func (c *Column) Type() sample.Type {
	if c.DType == tensor.Invalid {
		return sample.Type{Kind: sample.Text, Shape: c.lists}
	}
	return sample.TensorType(c.DType, c.shape...)
}

// Shape returns the shape of a value of a column of arrays.
func (c *Column) Shape(i int) tensor.Shape {
	shape, rest, open := slices.Clone(c.shape), len(c.Number(i))/c.DType.Size(), -1
	for axis, n := range shape {
		if n == tensor.Unknown {
			open = axis
		} else if n > 0 {
			rest /= n
		}
	}
	if open >= 0 {
		shape[open] = rest
	}
	return shape
}

// ListsOf is a column of lists of text, each packed in one value as docs/protocol.md has
// it. No recipe has any.
func ListsOf(name string, shape tensor.Shape, packed []string) Column {
	return Column{Name: name, texts: packed, lists: shape}
}

// Equal tells whether two columns have the same name, type and values.
func (c Column) Equal(d Column) bool {
	alike := c.Name == d.Name && c.DType == d.DType && c.shape.Equal(d.shape)
	return alike && slices.Equal(c.texts, d.texts) && bytes.Equal(c.data, d.data) && slices.Equal(c.ends, d.ends)
}

// Len is how many values there are.
func (c *Column) Len() int {
	if c.DType == tensor.Invalid {
		return len(c.texts)
	}
	if c.shape != nil {
		return len(c.ends)
	}
	return len(c.data) / c.DType.Size()
}

// Text is a value of a column of text.
func (c *Column) Text(i int) string { return c.texts[i] }

// AsText returns a value that has no axes as text: numbers as JSON writes them.
func (c *Column) AsText(i int64) string {
	switch c.DType {
	case tensor.Invalid:
		return c.texts[i]
	case tensor.Int64, tensor.Float32, tensor.Float64, tensor.Bool:
		return string(c.appendValue(nil, int(i)))
	}

	var wide [8]byte // of the types that only tables have
	b := c.Number(int(i))
	copy(wide[:], b)
	n := binary.LittleEndian.Uint64(wide[:])
	switch c.DType {
	case tensor.Int8, tensor.Int16, tensor.Int32:
		unused := 64 - 8*len(b)
		return strconv.FormatInt(int64(n<<unused)>>unused, 10)
	}
	return strconv.FormatUint(n, 10) // of a float16, its bits
}

// Number is a value of a column of numbers, or the array of numbers, as it is in memory.
func (c *Column) Number(i int) []byte {
	if c.shape == nil {
		return c.data[i*c.DType.Size():][:c.DType.Size()]
	}
	begin := 0
	if i > 0 {
		begin = c.ends[i-1]
	}
	return c.data[begin:c.ends[i]:c.ends[i]]
}

func (c *Column) typeName() string {
	if c.DType == tensor.Invalid {
		return "text"
	}
	return c.DType.String()
}

// Digest adds what identifies the columns.
func (c Columns) Digest(h io.Writer) {
	add := func(s string) { fmt.Fprintf(h, "%d:%s", len(s), s) }
	for i := range c {
		add(c[i].Name)
		add(c[i].typeName())
		for _, text := range c[i].texts {
			add(text)
		}
		add(string(c[i].data))
		if c[i].shape != nil {
			add(c[i].shape.String())
			for _, end := range c[i].ends {
				add(strconv.Itoa(end))
			}
		}
	}
}

// Check returns what is wrong with columns beside so many files, which have these fields
// already.
func (c Columns) Check(files int, has sample.Schema) (errs []error) {
	seen := map[string]bool{}
	for i := range c {
		name := c[i].Name
		switch {
		case name == "":
			errs = append(errs, Wrong("columns", "has a field without a name"))
		case seen[name]:
			errs = append(errs, Wrong("columns", "has two fields %q", name))
		case has.Find(name) >= 0:
			errs = append(errs, Wrong("columns", "has a field %q, which files already have: use another name", name))
		case c[i].vast():
			errs = append(errs, Wrong("columns", "has %q with the shape %v, which is more than a value can have: "+
				"at most %d bytes", name, c[i].shape, math.MaxInt32))
		case c[i].shape != nil && c[i].misfit() >= 0:
			at := c[i].misfit()
			errs = append(errs, Wrong("columns", "has %d numbers as value %d of %q, which cannot have the shape %v",
				len(c[i].Number(at))/c[i].DType.Size(), at, name, c[i].shape))
		case c[i].Len() != files:
			errs = append(errs, Wrong("columns", "has %d values of %q, and there are %d paths: give one for each", c[i].Len(), name, files))
		}
		seen[name] = true
	}
	return errs
}

// vast tells whether the known extents alone are more than an array can have.
func (c *Column) vast() bool {
	size := int64(c.DType.Size())
	for _, n := range c.shape {
		if n == tensor.Unknown {
			continue
		}
		if int64(n) > math.MaxInt32/size { // before it overflows
			return true
		}
		size *= int64(n)
	}
	return false
}

// misfit returns the number of a value that does not have the shape of the others, which
// is not vast; -1: there is none.
func (c *Column) misfit() int {
	size, open := int64(c.DType.Size()), false
	for _, n := range c.shape {
		if n == tensor.Unknown {
			open = true
		} else {
			size *= int64(n)
		}
	}
	for i := range c.ends {
		if n := int64(len(c.Number(i))); open && n%size != 0 || !open && n != size {
			return i
		}
	}
	return -1
}

// Takes implements [Taker].
func (c *Columns) Takes() string {
	return `an object like {"score": {"float32": [0.5, 1]}, "caption": {"text": ["one", "two"]}}`
}

// JSONSchema implements [Schemer].
func (c *Columns) JSONSchema() map[string]any {
	types := map[string]any{}
	for name, of := range map[string]string{
		"text": "string", "int64": "integer", "float32": "number", "float64": "number", "bool": "boolean",
	} {
		one := map[string]any{"type": of}
		items := []any{one, map[string]any{"type": "array", "items": one}}
		types[name] = map[string]any{"type": "array", "items": map[string]any{"anyOf": items}}
	}
	types["shape"] = map[string]any{"type": "array", "minItems": 1, "description": "of arrays; null: the extent that differs",
		"items": map[string]any{"type": []string{"integer", "null"}, "minimum": 1}}
	column := map[string]any{"type": "object", "properties": types, "additionalProperties": false, "minProperties": 1, "maxProperties": 2}
	return map[string]any{"type": "object", "additionalProperties": column, "minProperties": 1}
}

// MarshalJSON writes the object, its keys in the order of the columns.
func (c Columns) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i := range c {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rawjson.AppendQuote(b, c[i].Name), ':', '{')
		if c[i].shape != nil {
			b = appendShape(b, c[i].shape)
		}
		b = append(rawjson.AppendQuote(b, c[i].typeName()), ':', '[')
		for k := range c[i].Len() {
			if k > 0 {
				b = append(b, ',')
			}
			if c[i].shape != nil {
				b = c[i].appendArray(b, k)
				continue
			}
			b = c[i].appendValue(b, k)
		}
		b = append(b, ']', '}')
	}
	return append(b, '}'), nil
}

func appendShape(b []byte, shape tensor.Shape) []byte {
	b = append(b, `"shape":[`...)
	for axis, n := range shape {
		if axis > 0 {
			b = append(b, ',')
		}
		if n == tensor.Unknown {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendInt(b, int64(n), 10)
		}
	}
	return append(b, ']', ',')
}

func (c *Column) appendArray(b []byte, i int) []byte {
	one := Column{DType: c.DType, data: c.Number(i)}
	b = append(b, '[')
	for k := range one.Len() {
		if k > 0 {
			b = append(b, ',')
		}
		b = one.appendValue(b, k)
	}
	return append(b, ']')
}

func (c *Column) appendValue(b []byte, i int) []byte {
	switch c.DType {
	case tensor.Int64:
		return strconv.AppendInt(b, int64(binary.NativeEndian.Uint64(c.Number(i))), 10)
	case tensor.Float32:
		return appendFloat(b, float64(math.Float32frombits(binary.NativeEndian.Uint32(c.Number(i)))), 32)
	case tensor.Float64:
		return appendFloat(b, math.Float64frombits(binary.NativeEndian.Uint64(c.Number(i))), 64)
	case tensor.Bool:
		return strconv.AppendBool(b, c.Number(i)[0] != 0)
	}
	return rawjson.AppendQuote(b, c.texts[i])
}

// appendFloat writes a number that is read as the same one. -0 has to keep its sign, and
// JSON knows no number that is not finite.
func appendFloat(b []byte, v float64, bits int) []byte {
	return strconv.AppendFloat(b, v, 'g', -1, bits)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Columns) UnmarshalJSON(b []byte) error {
	v := rawjson.Value(b)
	if v.Kind() != rawjson.Object {
		return rawjson.ErrKind
	}

	*c = Columns{}
	for quoted, member := range v.Members() {
		name, err := rawjson.Unquote(quoted)
		if err != nil || member.Kind() != rawjson.Object {
			return rawjson.ErrKind
		}

		column, err := readMember(name, member)
		if err != nil {
			return rawjson.ErrKind
		}
		*c = append(*c, column)
	}
	return nil
}

// readMember reads a column: its one type with its values, and the shape of arrays.
func readMember(name string, member rawjson.Value) (Column, error) {
	var of string
	var values rawjson.Value
	var shape tensor.Shape
	for key, value := range member.Members() {
		is, err := rawjson.Unquote(key)
		switch {
		case err != nil || value.Kind() != rawjson.List:
			return Column{}, rawjson.ErrKind
		case is == "shape" && shape == nil:
			if shape, err = readShape(value); err != nil {
				return Column{}, err
			}
		case of != "":
			return Column{}, rawjson.ErrKind
		default:
			of, values = is, value
		}
	}
	return readColumn(name, of, shape, values)
}

// readShape reads the shape of arrays, of which one extent may differ: it follows from
// the others and how many numbers there are.
func readShape(value rawjson.Value) (shape tensor.Shape, err error) {
	var all []*int
	if err := json.Unmarshal(value, &all); err != nil || len(all) == 0 {
		return nil, rawjson.ErrKind
	}
	open := false
	for _, n := range all {
		switch {
		case n == nil && open, n != nil && *n < 1:
			return nil, rawjson.ErrKind
		case n == nil:
			open = true
			shape = append(shape, tensor.Unknown)
		default:
			shape = append(shape, *n)
		}
	}
	return shape, nil
}

func readColumn(name, of string, shape tensor.Shape, values rawjson.Value) (Column, error) {
	switch of {
	case "text":
		if shape == nil {
			return valuesOf[string](name, values)
		}
	case "int64":
		return numbersOf[int64](name, shape, values)
	case "float32":
		return numbersOf[float32](name, shape, values)
	case "float64":
		return numbersOf[float64](name, shape, values)
	case "bool":
		return numbersOf[bool](name, shape, values)
	}
	return Column{}, rawjson.ErrKind
}

func numbersOf[T Number](name string, shape tensor.Shape, values rawjson.Value) (Column, error) {
	if shape == nil {
		return valuesOf[T](name, values)
	}
	var all [][]*T // null is no value
	if err := json.Unmarshal(values, &all); err != nil {
		return Column{}, err
	}

	plain := make([][]T, len(all))
	for i, one := range all {
		if one == nil {
			return Column{}, rawjson.ErrKind
		}
		for _, v := range one {
			if v == nil {
				return Column{}, rawjson.ErrKind
			}
			plain[i] = append(plain[i], *v)
		}
	}
	return ArraysOf(name, shape, plain), nil
}

func valuesOf[T string | int64 | float32 | float64 | bool](name string, values rawjson.Value) (Column, error) {
	var all []*T // null is no value
	if err := json.Unmarshal(values, &all); err != nil {
		return Column{}, err
	}
	plain := make([]T, len(all))
	for i, v := range all {
		if v == nil {
			return Column{}, rawjson.ErrKind
		}
		plain[i] = *v
	}
	return ColumnOf(name, plain), nil
}
