package tfexample

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/internal/textlist"
	"github.com/headrace/headrace/tensor"
)

// Record is the name of the whole record as a field, where no feature has that name.
const Record = "record"

// Schema returns the features of a record that can be fields, by their names. A record
// that has none is one field, [Record].
func Schema(record []byte) (sample.Schema, error) {
	seen, err := Seen(record)
	var s sample.Schema
	for _, f := range seen {
		if f.Refused == "" && !f.Open {
			s = append(s, f.Field)
		}
	}
	if len(s) == 0 && err == nil {
		return sample.Schema{{Name: Record, Type: sample.BytesType}}, nil
	}
	return s, err
}

// Seen returns all features of a record by their names, those too that can be no fields.
func Seen(record []byte) ([]shard.Seen, error) {
	s := map[string]shard.Seen{}
	for w := (walker{example: record}); ; {
		name, feature, ok, err := w.next()
		if err != nil {
			clear(s) // something else than an Example
		}
		if !ok {
			break
		}
		f, err := typeOf(feature)
		if err != nil {
			clear(s)
			break
		}
		if f.Name = string(name); f.Refused != "" {
			f.Refused += orTexts(f.Name)
		}
		if len(name) > 0 {
			s[f.Name] = f // of two of one name the last counts
		}
	}

	all := slices.SortedFunc(maps.Values(s), func(a, b shard.Seen) int { return cmp.Compare(a.Name, b.Name) })
	if len(all) == 0 {
		all = append(all, shard.Seen{Field: sample.Field{Name: Record, Type: sample.BytesType}})
	}
	return all, nil
}

// orTexts is what to do with a bytes_list that is no field.
func orTexts(name string) string {
	return fmt.Sprintf("; a list of text is fields={%q: (%q, (str, (None,)))}", name, name)
}

// typeOf is the type of a feature.
func typeOf(feature []byte) (f shard.Seen, err error) {
	k, _, n, err := list(feature)
	if err != nil {
		return f, err
	}
	switch k {
	case bytesList:
		if f.Type = sample.BytesType; n != 1 {
			f.Refused = fmt.Sprintf("it has %d values of bytes, and a field has one", n)
		}
		return f, nil
	case floatList:
		f.Type = sample.TensorType(tensor.Float32)
	case int64List:
		f.Type = sample.TensorType(tensor.Int64)
	default:
		f.Type, f.Open, f.Null = sample.BytesType, true, true
		return f, nil
	}
	if n != 1 {
		f.Type.Shape = tensor.Shape{tensor.Unknown}
	}
	return f, nil
}

// Parse sets into[i] to the value of want[i]. A feature that is missing is an empty list
// where the wanted shape is open, and otherwise an error.
func Parse(record []byte, want []sample.Field, how shard.Reading, into []shard.Value, scratch []byte) ([]byte, error) {
	clear(into)
	for w := (walker{example: record}); ; {
		name, feature, ok, err := w.next()
		if err != nil {
			if slices.IndexFunc(want, func(f sample.Field) bool { return f.Name != Record }) >= 0 {
				return scratch, fmt.Errorf("%w: not a tf.train.Example: %w", shard.ErrCorrupt, err)
			}
			break
		}
		if !ok {
			break
		}
		// Of two entries of one name the last counts, as in every map of protocol
		// buffers.
		wanted := false
		for i := range want {
			if want[i].Name == string(name) {
				wanted = true
				into[i].Bytes = feature
				if feature == nil {
					into[i].Bytes = []byte{}
				}
			}
		}
		if how.All && !wanted && len(want) > 0 && want[0].Name != Record {
			if k, _, n, err := list(feature); err == nil && k != noList && n > 0 {
				return scratch, fmt.Errorf("%w: it has the feature %q, which the first ones lack: "+
					"name the features to read, in fields", shard.ErrCorrupt, name)
			}
		}
	}

	for i, f := range want {
		var err error
		switch {
		case into[i].Bytes != nil && len(how.As) > 0 && how.As[i] != shard.AsSaid && !kindIs(f.Type, into[i].Bytes):
			err = fmt.Errorf("%w: it is not %v, as the first one is", shard.ErrCorrupt, f.Type)
		case into[i].Bytes != nil:
			scratch, err = value(f, into[i].Bytes, &into[i], scratch)
		case f.Name == Record:
			err = content(f.Type, record, &into[i])
		default:
			err = missing(f.Type, &into[i])
		}
		if err != nil {
			return scratch, fmt.Errorf("feature %q: %w", f.Name, err)
		}
	}
	return scratch, nil
}

// kindIs tells whether a feature is of the kind that a type is found for.
func kindIs(t sample.Type, feature []byte) bool {
	k, _, _, err := list(feature)
	switch {
	case err != nil || k == noList:
		return true // which value says
	case t.Kind != sample.Tensor:
		return k == bytesList
	}
	return k == floatList == (t.DType == tensor.Float32) && k != bytesList
}

// Optional tells whether a feature of this type that is missing is an empty list.
func Optional(t sample.Type) bool {
	return t.Kind != sample.Object && slices.Contains(t.Shape, tensor.Unknown)
}

func missing(t sample.Type, into *shard.Value) error {
	if !Optional(t) {
		return fmt.Errorf("%w: this record has none", shard.ErrNoField)
	}
	return shaped(t, 0, into)
}

// value converts one feature.
func value(want sample.Field, feature []byte, into *shard.Value, scratch []byte) ([]byte, error) {
	k, values, n, err := list(feature)
	if err != nil {
		return scratch, fmt.Errorf("%w: %w", shard.ErrCorrupt, err)
	}
	t := want.Type
	if k == noList {
		return scratch, missing(t, into)
	}
	if k == bytesList && t.Kind == sample.Text && len(t.Shape) == 1 {
		scratch, err = texts(values, into, scratch)
		return scratch, err
	}
	if k == bytesList && n != 1 {
		return scratch, fmt.Errorf("%w: it has %d values of bytes, and a field has one%s", shard.ErrUnsupported, n, orTexts(want.Name))
	}
	if k == bytesList {
		return scratch, single(t, values, into)
	}
	if t.Kind != sample.Tensor {
		return scratch, wrongType(t, k)
	}
	if err := shaped(t, n, into); err != nil {
		return scratch, err
	}

	if k == floatList {
		into.Bytes, scratch, err = asFloats(t.DType, values, scratch)
	} else {
		into.Bytes, scratch, err = asInts(t.DType, values, scratch)
	}
	return scratch, err
}

// texts is a bytes_list as a list of text.
func texts(values []byte, into *shard.Value, scratch []byte) ([]byte, error) {
	begin := len(scratch)
	err := eachBytes(values, func(text []byte) bool {
		scratch = textlist.AppendText(scratch, text)
		return true
	})
	if err != nil {
		return scratch, fmt.Errorf("%w: %w", shard.ErrCorrupt, err)
	}
	into.Bytes, into.Shape = slices.Clip(scratch[begin:]), nil
	return scratch, nil
}

// single is a bytes_list of one value: bytes, text, or the elements of an array.
func single(t sample.Type, values []byte, into *shard.Value) error {
	data, err := bytesOf(values)
	if err != nil {
		return fmt.Errorf("%w: %w", shard.ErrCorrupt, err)
	}
	return content(t, data, into)
}

// content is bytes, as they are or as the elements of an array.
func content(t sample.Type, data []byte, into *shard.Value) (err error) {
	if t.Kind == sample.Object || t.Kind == sample.Text && len(t.Shape) > 0 {
		return wrongType(t, bytesList)
	}
	if t.Kind == sample.Tensor {
		if len(data)%t.DType.Size() != 0 {
			return fmt.Errorf("%w: %d bytes are not %v", shard.ErrCorrupt, len(data), t)
		}
		err = shaped(t, len(data)/t.DType.Size(), into)
	}
	into.Bytes = data
	return err
}

func wrongType(t sample.Type, k kind) error {
	return fmt.Errorf("%w: it has %v, which cannot be %v", shard.ErrUnsupported, k, t)
}

// shaped sees that n values have the shape of a type, and says which where that is open.
func shaped(t sample.Type, n int, into *shard.Value) error {
	into.Bytes, into.Shape = []byte{}, nil
	open, rest := -1, tensor.Shape{}
	for axis, extent := range t.Shape {
		switch {
		case extent != tensor.Unknown:
			rest = append(rest, extent)
		case open >= 0:
			return fmt.Errorf("%w: %v has two extents that a list cannot tell", shard.ErrUnsupported, t)
		default:
			open = axis
		}
	}

	row, err := rest.Elements()
	if err != nil {
		return err
	}
	if open < 0 {
		if int64(n) != row {
			return fmt.Errorf("%w: it has %d values, and %v has %d", shard.ErrCorrupt, n, t, row)
		}
		return nil
	}
	if row == 0 || int64(n)%row != 0 {
		return fmt.Errorf("%w: it has %d values, which cannot be %v", shard.ErrCorrupt, n, t)
	}
	into.Shape = slices.Clone(t.Shape)
	into.Shape[open] = int(int64(n) / row)
	return nil
}

func asFloats(d tensor.DType, values, scratch []byte) (all, rest []byte, err error) {
	if d != tensor.Float32 && d != tensor.Float64 {
		return nil, scratch, fmt.Errorf("%w: it has a float_list: must be float32 or float64, not %v", shard.ErrUnsupported, d)
	}
	all, rest, err = floats(scratch, values)
	if err != nil {
		return nil, rest, fmt.Errorf("%w: %w", shard.ErrCorrupt, err)
	}
	if d == tensor.Float32 {
		return all, rest, nil
	}
	from := len(rest)
	for ; len(all) > 0; all = all[4:] {
		v := float64(math.Float32frombits(binary.LittleEndian.Uint32(all)))
		rest = binary.LittleEndian.AppendUint64(rest, math.Float64bits(v))
	}
	return rest[from:len(rest):len(rest)], rest, nil
}

func asInts(d tensor.DType, values, scratch []byte) (all, rest []byte, err error) {
	least, most, ok := bounds(d)
	if !ok {
		return nil, scratch, fmt.Errorf("%w: it has an int64_list: must be whole numbers, not %v", shard.ErrUnsupported, d)
	}
	from := len(scratch)
	outside := false
	err = ints(values, func(v int64) bool {
		if v < least || v > most {
			outside = true
			return false
		}
		for range d.Size() {
			scratch = append(scratch, byte(v))
			v >>= 8
		}
		return true
	})
	switch {
	case outside:
		return nil, scratch, fmt.Errorf("%w: a value does not fit into %v", shard.ErrUnsupported, d)
	case err != nil:
		return nil, scratch, fmt.Errorf("%w: %w", shard.ErrCorrupt, err)
	}
	return scratch[from:len(scratch):len(scratch)], scratch, nil
}

// bounds are those of the whole numbers that a dtype has, of those that are int64.
func bounds(d tensor.DType) (least, most int64, ok bool) {
	switch d {
	case tensor.Bool:
		return 0, 1, true
	case tensor.Uint8, tensor.Uint16, tensor.Uint32:
		return 0, 1<<(8*d.Size()) - 1, true
	case tensor.Uint64: // as TensorFlow has them: of those above 2⁶³ the bits
		return math.MinInt64, math.MaxInt64, true
	case tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64:
		return -1 << (8*d.Size() - 1), 1<<(8*d.Size()-1) - 1, true
	}
	return 0, 0, false
}
