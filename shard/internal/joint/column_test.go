package joint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/tensor"
)

// pillow is an image as it is written: width, height, the mode, the pixels.
func pillow(width, height uint32, mode string, pixels []byte) []byte {
	b := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, width), height)
	return append(append(binary.LittleEndian.AppendUint32(b, uint32(len(mode))), mode...), pixels...)
}

// Whatever columns a sample has, its values are what was put into it; bytes that were
// changed or cut off are other values or an error, never a panic.
func TestValuesOfSamples(t *testing.T) {
	kinds := map[string]Column{
		"text":   {Read: Plain(sample.TextType)},
		"int64":  {Read: Array(tensor.Int64), Size: 8},
		"pairs":  {Read: Array(tensor.Float32, tensor.Unknown, 2)},
		"image":  {Read: Pillow},
		"pickle": {Refused: Pickled},
		"tail":   {Read: Plain(sample.BytesType), Size: Rest},
	}
	rapid.Check(t, func(rt *rapid.T) {
		var columns Columns
		var want []sample.Field
		var lengths, values []byte
		var contents [][]byte
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"text", "int64", "pairs", "image", "pickle"}), 0, 5,
			rapid.ID).Draw(rt, "columns")
		if rapid.Bool().Draw(rt, "a tail") {
			names = append(names, "tail")
		}
		for _, name := range names {
			c := kinds[name]
			c.Name = name
			columns = append(columns, c)
			content := rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(rt, name)
			f := sample.Field{Name: name, Type: sample.TextType}
			switch name {
			case "int64":
				content, f.Type = make([]byte, 8), sample.TensorType(tensor.Int64)
			case "pairs":
				content, f.Type = bytes.Repeat(content, 8), sample.TensorType(tensor.Float32, tensor.Unknown, 2)
			case "image":
				f.Type = sample.TensorType(tensor.Uint8, tensor.Unknown, 1, 3)
				content = bytes.Repeat(content, 3)
			}
			value := content
			if name == "image" {
				value = pillow(1, uint32(len(content)/3), "RGB", content)
			}
			if c.Size == 0 {
				lengths = binary.LittleEndian.AppendUint32(lengths, uint32(len(value)))
			}
			if values = append(values, value...); name != "pickle" {
				want, contents = append(want, f), append(contents, content)
			}
		}
		record := append(lengths, values...)
		schema, err := columns.Schema(record)
		if err != nil || len(schema) != len(want) {
			rt.Fatalf("%v, %v", schema, err)
		}
		into := make([]shard.Value, len(want))
		if err := columns.Parse(record, want, into); err != nil {
			rt.Fatal(err)
		}
		for i, v := range into {
			if !bytes.Equal(v.Bytes, contents[i]) || want[i].Name == "pairs" && v.Shape[0] != len(contents[i])/8 {
				rt.Fatalf("%s is %q of %v, not %q", want[i].Name, v.Bytes, v.Shape, contents[i])
			}
		}

		hostile := bytes.Clone(record[:rapid.IntRange(0, len(record)).Draw(rt, "length")])
		for i := range hostile {
			if rapid.IntRange(0, 7).Draw(rt, "change") == 0 {
				hostile[i] = rapid.Byte().Draw(rt, "to")
			}
		}
		if err := columns.Parse(hostile, want, into); err != nil && !errors.Is(err, shard.ErrCorrupt) &&
			!errors.Is(err, shard.ErrUnsupported) {
			rt.Fatal(err)
		}
	})
}

func TestColumnsThatAreNoFields(t *testing.T) {
	columns := Columns{{Name: "label", Read: Array(tensor.Int64), Size: 8}, {Name: "meta", Refused: Pickled}}
	record := append(binary.LittleEndian.AppendUint32(nil, 1), make([]byte, 9)...)
	of := func(name string, t sample.Type) []sample.Field { return []sample.Field{{Name: name, Type: t}} }
	label := sample.TensorType(tensor.Int64)
	for _, c := range []struct {
		want   []sample.Field
		record []byte
		err    error
	}{
		{of("label", label), record, nil},
		{of("none", label), record, shard.ErrNoField},
		{of("meta", sample.BytesType), record, shard.ErrUnsupported},
		{of("label", sample.TensorType(tensor.Int32)), record, shard.ErrUnsupported},
		{of("label", label), record[:3], shard.ErrCorrupt},
		{of("label", label), append(record, 0), shard.ErrCorrupt},
		{of("label", label), record[:12], shard.ErrCorrupt},
	} {
		if err := columns.Parse(c.record, c.want, make([]shard.Value, 1)); !errors.Is(err, c.err) || c.err == nil && err != nil {
			t.Errorf("%v of %d bytes: %v, not %v", c.want, len(c.record), err, c.err)
		}
	}
	var found index.Builder
	if columns.Refuse(&found); len(found.Refused) != 1 || found.Refused["meta"] != Pickled {
		t.Errorf("%v", found.Refused)
	}
	for _, bad := range [][]byte{nil, pillow(1, 1, "P", []byte{0}), pillow(1<<31, 1<<31, "RGB", nil),
		pillow(2, 1, "L", []byte{0}), pillow(1, 1, "L", nil)[:12]} {
		if _, _, _, err := Pillow(bad); !errors.Is(err, shard.ErrCorrupt) && !errors.Is(err, shard.ErrUnsupported) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
