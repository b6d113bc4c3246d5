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
// {"float32": [0.5, 1]}, "caption": {"text": ["a", "b"]}}.
type Columns []Column

// Column is a field with a value for each file. ColumnOf makes one.
type Column struct {
	Name  string
	DType tensor.DType // of numbers; Invalid: it is text
	texts []string
	lists tensor.Shape // of texts that are packed lists
	data  []byte       // numbers, in the machine's order of bytes
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
	return sample.TensorType(c.DType)
}

// ListsOf is a column of lists of text, each packed in one value as docs/protocol.md has
// it. No recipe has any.
func ListsOf(name string, shape tensor.Shape, packed []string) Column {
	return Column{Name: name, texts: packed, lists: shape}
}

// Equal tells whether two columns have the same name, type and values.
func (c Column) Equal(d Column) bool {
	return c.Name == d.Name && c.DType == d.DType && slices.Equal(c.texts, d.texts) && bytes.Equal(c.data, d.data)
}

// Len is how many values there are.
func (c *Column) Len() int {
	if c.DType == tensor.Invalid {
		return len(c.texts)
	}
	return len(c.data) / c.DType.Size()
}

// Text is a value of a column of text.
func (c *Column) Text(i int) string { return c.texts[i] }

// Number is a value of a column of numbers, as it is in memory.
func (c *Column) Number(i int) []byte { return c.data[i*c.DType.Size():][:c.DType.Size()] }

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
		case c[i].Len() != files:
			errs = append(errs, Wrong("columns", "has %d values of %q, and there are %d paths: give one for each", c[i].Len(), name, files))
		}
		seen[name] = true
	}
	return errs
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
		types[name] = map[string]any{"type": "array", "items": map[string]any{"type": of}}
	}
	column := map[string]any{"type": "object", "properties": types, "additionalProperties": false, "minProperties": 1, "maxProperties": 1}
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
		b = append(rawjson.AppendQuote(b, c[i].typeName()), ':', '[')
		for k := range c[i].Len() {
			if k > 0 {
				b = append(b, ',')
			}
			b = c[i].appendValue(b, k)
		}
		b = append(b, ']', '}')
	}
	return append(b, '}'), nil
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
		return strconv.AppendBool(b, c.data[i] != 0)
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

		// The one member of a column is its type with its values.
		types := 0
		for kind, values := range member.Members() {
			types++
			of, err := rawjson.Unquote(kind)
			if err != nil || types > 1 || values.Kind() != rawjson.List {
				return rawjson.ErrKind
			}
			column, err := readColumn(name, of, values)
			if err != nil {
				return rawjson.ErrKind
			}
			*c = append(*c, column)
		}
		if types != 1 {
			return rawjson.ErrKind
		}
	}
	return nil
}

func readColumn(name, of string, values rawjson.Value) (Column, error) {
	switch of {
	case "text":
		return valuesOf[string](name, values)
	case "int64":
		return valuesOf[int64](name, values)
	case "float32":
		return valuesOf[float32](name, values)
	case "float64":
		return valuesOf[float64](name, values)
	case "bool":
		return valuesOf[bool](name, values)
	}
	return Column{}, rawjson.ErrKind
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
