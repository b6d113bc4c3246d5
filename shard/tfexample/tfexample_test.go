package tfexample_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/tfexample"
	"github.com/headrace/headrace/tensor"
)

// field is one of a message.
func field(number byte, data string) string {
	return string(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(data)))) + data
}

func example(features ...string) []byte { return []byte(field(1, strings.Join(features, ""))) }

func feature(name string, list byte, values string) string {
	return field(1, field(1, name)+field(2, field(list, values)))
}

func floats(all ...float32) (packed string) {
	for _, x := range all {
		packed += string(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)))
	}
	return field(1, packed)
}

func ints(all ...int64) string {
	var packed []byte
	for _, v := range all {
		packed = binary.AppendUvarint(packed, uint64(v))
	}
	return field(1, string(packed))
}

var record = example(
	feature("image", 1, field(1, "\x01\x02\x03\x04\x05\x06")), feature("names", 1, field(1, "a")+field(1, "b")),
	feature("one", 3, ints(300)), feature("many", 3, ints(1, -2, 3, 4)), feature("x", 2, floats(0.5)), feature("xs", 2, floats(1, 2)),
	feature("none", 3, ""), field(1, field(1, "empty")), feature("negative", 3, ints(-1)), feature("none", 3, ints()),
)

func texts(shape ...int) sample.Type { return sample.Type{Kind: sample.Text, Shape: shape} }

func parse(t *testing.T, name string, as sample.Type) (shard.Value, error) {
	t.Helper()
	into := []shard.Value{{Bytes: []byte("from before"), Shape: []int{9}}}
	scratch, err := tfexample.Parse(record, []sample.Field{{Name: name, Type: as}}, shard.Reading{}, into, []byte("kept"))
	if string(scratch[:4]) != "kept" {
		t.Errorf("%s: the scratch begins with %q", name, scratch[:4])
	}
	return into[0], err
}

func TestSchema(t *testing.T) {
	s, err := tfexample.Schema(record)
	if want := "image bytes, many int64 [?], negative int64, none int64 [?], one int64, x float32, xs float32 [?]"; err != nil || s.String() != want {
		t.Errorf("%v, %v, want %s", s, err, want)
	}
	for _, other := range []string{"", "\xff\xd8\xff\xe0", "\x0a\x7fx", string(example())} {
		if s, err := tfexample.Schema([]byte(other)); err != nil || s.String() != "record bytes" {
			t.Errorf("%q: %v, %v", other, s, err)
		}
	}
}

func TestValues(t *testing.T) {
	const open = tensor.Unknown
	for _, c := range []struct {
		name  string
		as    sample.Type
		bytes string
		shape string
	}{
		{"image", sample.BytesType, "\x01\x02\x03\x04\x05\x06", "[]"},
		{"image", sample.TextType, "\x01\x02\x03\x04\x05\x06", "[]"},
		{"image", sample.TensorType(tensor.Uint8, 2, 3), "\x01\x02\x03\x04\x05\x06", "[]"},
		{"image", sample.TensorType(tensor.Int16, open), "\x01\x02\x03\x04\x05\x06", "[3]"},
		{"names", texts(open), "\x01\x00\x00\x00a\x01\x00\x00\x00b", "[]"},
		{"names", texts(2), "\x01\x00\x00\x00a\x01\x00\x00\x00b", "[]"},
		{"image", texts(open), "\x06\x00\x00\x00\x01\x02\x03\x04\x05\x06", "[]"},
		{"nowhere", texts(open), "", "[0]"},
		{"empty", texts(open), "", "[0]"},
		{"one", sample.TensorType(tensor.Int64), "\x2c\x01\x00\x00\x00\x00\x00\x00", "[]"},
		{"one", sample.TensorType(tensor.Uint16), "\x2c\x01", "[]"},
		{"one", sample.TensorType(tensor.Int32, 1, 1), "\x2c\x01\x00\x00", "[]"},
		{"many", sample.TensorType(tensor.Int8, open), "\x01\xfe\x03\x04", "[4]"},
		{"many", sample.TensorType(tensor.Int8, 2, open), "\x01\xfe\x03\x04", "[2, 2]"},
		{"many", sample.TensorType(tensor.Int8, 4), "\x01\xfe\x03\x04", "[]"},
		{"negative", sample.TensorType(tensor.Uint64), "\xff\xff\xff\xff\xff\xff\xff\xff", "[]"},
		{"x", sample.TensorType(tensor.Float32), "\x00\x00\x00\x3f", "[]"},
		{"x", sample.TensorType(tensor.Float64), "\x00\x00\x00\x00\x00\x00\xe0\x3f", "[]"},
		{"xs", sample.TensorType(tensor.Float32, open), "\x00\x00\x80\x3f\x00\x00\x00\x40", "[2]"},
		{"none", sample.TensorType(tensor.Int64, open), "", "[0]"},
		{"empty", sample.TensorType(tensor.Float32, open, 4), "", "[0, 4]"},
		{"nowhere", sample.TensorType(tensor.Float32, open), "", "[0]"},
		{"record", sample.BytesType, string(record), "[]"},
		{"record", sample.TensorType(tensor.Uint8, open), string(record), fmt.Sprintf("[%d]", len(record))},
	} {
		v, err := parse(t, c.name, c.as)
		if err != nil || string(v.Bytes) != c.bytes || tensor.Shape(v.Shape).String() != c.shape {
			t.Errorf("%s as %v: %q, %v, %v", c.name, c.as, v.Bytes, v.Shape, err)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		as   sample.Type
		kind error
		says string
	}{
		{"names", sample.BytesType, shard.ErrUnsupported, `feature "names": not supported: it has 2 values of bytes, and a field has one`},
		{"image", sample.ObjectType, shard.ErrUnsupported, "it has a bytes_list, which cannot be object"},
		{"names", texts(-1, -1), shard.ErrUnsupported, "it has 2 values of bytes"},
		{"image", texts(-1, -1), shard.ErrUnsupported, "it has a bytes_list, which cannot be text [?, ?]"},
		{"record", texts(-1), shard.ErrUnsupported, "cannot be text [?]"},
		{"many", texts(-1), shard.ErrUnsupported, "it has an int64_list, which cannot be text [?]"},
		{"nowhere", texts(2), shard.ErrNoField, "this record has none"},
		{"image", sample.TensorType(tensor.Int32), shard.ErrCorrupt, "6 bytes are not int32"},
		{"image", sample.TensorType(tensor.Uint8, 5), shard.ErrCorrupt, "it has 6 values, and uint8 [5] has 5"},
		{"image", sample.TensorType(tensor.Uint8, -1, -1), shard.ErrUnsupported, "two extents that a list cannot tell"},
		{"image", sample.TensorType(tensor.Uint8, -1, 4), shard.ErrCorrupt, "which cannot be uint8 [?, 4]"},
		{"one", sample.BytesType, shard.ErrUnsupported, "it has an int64_list, which cannot be bytes"},
		{"one", sample.TensorType(tensor.Uint8), shard.ErrUnsupported, "a value does not fit into uint8"},
		{"one", sample.TensorType(tensor.Bool), shard.ErrUnsupported, "does not fit into bool"},
		{"one", sample.TensorType(tensor.Float32), shard.ErrUnsupported, "must be whole numbers, not float32"},
		{"negative", sample.TensorType(tensor.Uint32), shard.ErrUnsupported, "does not fit into uint32"},
		{"many", sample.TensorType(tensor.Int64), shard.ErrCorrupt, "it has 4 values, and int64 has 1"},
		{"x", sample.TensorType(tensor.Int64), shard.ErrUnsupported, "must be float32 or float64, not int64"},
		{"x", sample.TextType, shard.ErrUnsupported, "it has a float_list, which cannot be text"},
		{"none", sample.TensorType(tensor.Int64), shard.ErrCorrupt, "it has 0 values"},
		{"empty", sample.TensorType(tensor.Int64), shard.ErrNoField, `feature "empty": no such field: this record has none`},
		{"nowhere", sample.BytesType, shard.ErrNoField, "this record has none"},
	} {
		_, err := parse(t, c.name, c.as)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s as %v: %v, want …%s…", c.name, c.as, err, c.says)
		}
	}
}

// Of two entries of one name the last counts, and of the lists of one feature.
func TestTheLastCounts(t *testing.T) {
	twice := example(feature("a", 3, ints(1)), field(1, field(1, "a")+field(2, field(1, field(1, "x"))+field(3, ints(2)))))
	into := make([]shard.Value, 1)
	_, err := tfexample.Parse(twice, []sample.Field{{Name: "a", Type: sample.TensorType(tensor.Int8)}}, shard.Reading{}, into, nil)
	if err != nil || !bytes.Equal(into[0].Bytes, []byte{2}) {
		t.Errorf("%v, %v", into, err)
	}
}

// Messages that end within anything are errors, whatever is wanted of them.
func TestCutOff(t *testing.T) {
	want, err := tfexample.Schema(record)
	if err != nil {
		t.Fatal(err)
	}
	for n := range record {
		if _, err := tfexample.Parse(record[:n], want, shard.Reading{}, make([]shard.Value, len(want)), nil); err == nil {
			t.Errorf("the first %d of %d bytes were parsed", n, len(record))
		}
	}
}

func TestParseTakesNoMemory(t *testing.T) {
	want := []sample.Field{{Name: "image", Type: sample.BytesType}, {Name: "one", Type: sample.TensorType(tensor.Int64)}}
	into, scratch := make([]shard.Value, 2), make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := tfexample.Parse(record, want, shard.Reading{}, into, scratch); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations a record", n)
	}
}

func BenchmarkParse(b *testing.B) {
	want := []sample.Field{{Name: "image", Type: sample.BytesType}, {Name: "one", Type: sample.TensorType(tensor.Int64)}}
	into, scratch := make([]shard.Value, 2), make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tfexample.Parse(record, want, shard.Reading{}, into, scratch); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(record)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := tfexample.Schema(data)
		if err != nil || s.Check() != nil {
			t.Fatalf("%v, %v", s, err)
		}
		// What a record has is what can be read of it, unless the numbers in a list are
		// none.
		if _, err := tfexample.Parse(data, s, shard.Reading{}, make([]shard.Value, len(s)), nil); err != nil && !errors.Is(err, shard.ErrCorrupt) {
			t.Errorf("%v: %v", s, err)
		}
	})
}
