package lines

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/tensor"
)

func parse(t *testing.T, p shard.Parser, record string, want ...sample.Field) ([]shard.Value, error) {
	t.Helper()
	into := make([]shard.Value, len(want))
	_, err := p.Parse([]byte(record), want, into, nil)
	return into, err
}

func TestTypesThatAreSaid(t *testing.T) {
	v, err := parse(t, JSONL{}, `{"a":7,"b":{"c":[1,2.5]},"d":"x\ty","e":null,"a.b":1}`,
		sample.Field{Name: "a", Type: sample.TensorType(tensor.Float32)},
		sample.Field{Name: "a", Type: sample.TensorType(tensor.Uint8)},
		sample.Field{Name: "b.c", Type: sample.TensorType(tensor.Float64, tensor.Unknown)},
		sample.Field{Name: "b", Type: sample.TextType},
		sample.Field{Name: "d", Type: sample.TextType},
		sample.Field{Name: "e", Type: sample.TensorType(tensor.Float32)},
	)
	if err != nil {
		t.Fatal(err)
	}
	if math.Float32frombits(binary.LittleEndian.Uint32(v[0].Bytes)) != 7 || v[1].Bytes[0] != 7 || len(v[2].Bytes) != 16 || v[2].Shape[0] != 2 {
		t.Errorf("%v", v)
	}
	if string(v[3].Bytes) != `{"c":[1,2.5]}` || string(v[4].Bytes) != "x\ty" {
		t.Errorf("%v", v)
	}
	if !math.IsNaN(float64(math.Float32frombits(binary.LittleEndian.Uint32(v[5].Bytes)))) {
		t.Errorf("null is %v", v[5].Bytes)
	}
}

func TestValuesThatDoNotFit(t *testing.T) {
	for _, c := range []struct {
		record string
		t      sample.Type
		says   string
	}{
		{`{"a":300}`, sample.TensorType(tensor.Uint8), `field "a": "300" is not valid as uint8`},
		{`{"a":1.5}`, sample.TensorType(tensor.Int64), `"1.5" is not valid as int64; give the field's type in fields`},
		{`{"a":"x"}`, sample.TensorType(tensor.Float64), "is not a number"},
		{`{"a":2}`, sample.TensorType(tensor.Bool), "is not a boolean"},
		{`{"b":2}`, sample.TensorType(tensor.Int64), "no value (null), and int64 needs one"},
		{`{"a":null}`, sample.TensorType(tensor.Int64), "no value (null)"},
		{`{"a":null}`, sample.TextType, "no value (null), and text needs one"},
		{`{"b":""}`, sample.TextType, "no value (null)"},
		{`{"a":[1,null]}`, sample.TensorType(tensor.Int64, tensor.Unknown), "no value (null)"},
		{`{"a":[[1,2],[3]]}`, sample.TensorType(tensor.Int64, tensor.Unknown, 2), "a list has 1 elements, want 2"},
		{`{"a":[[1,2],3]}`, sample.TensorType(tensor.Int64, tensor.Unknown, 2), `"3" is not a list of numbers`},
		{`{"a":1}`, sample.TensorType(tensor.Int64, tensor.Unknown), "is not a list of numbers"},
		{`{"a":[1,2]}`, sample.TensorType(tensor.Int64, 3), "a list has 2 elements, want 3"},
	} {
		if _, err := parse(t, JSONL{}, c.record, sample.Field{Name: "a", Type: c.t}); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.record, err, c.says)
		}
	}
}

func TestTablesAsSaid(t *testing.T) {
	p, err := CSV{}.With([]byte(",a,b,c"))
	if err != nil {
		t.Fatal(err)
	}
	schema, err := p.Schema([]byte(`7,0x10,"3.5"`))
	if err != nil || schema.String() != "a int64, b text, c float64" {
		t.Errorf("%v, %v", schema, err)
	}
	for _, c := range []struct{ row, want string }{
		{`1,"a ""b"", c",3`, `a "b", c`}, {`1,"x"y"z,3`, `xy"z`}, {`1,a"b,3`, `a"b`}, {`1,,3`, ""}, {`1,"",3`, ""}, {`1,"",""`, ""},
	} {
		v, err := parse(t, p, c.row, sample.Field{Name: "b", Type: sample.TextType})
		if err != nil || string(v[0].Bytes) != c.want {
			t.Errorf("%s: %q, %v, want %q", c.row, v[0].Bytes, err, c.want)
		}
	}
	for _, c := range []struct {
		row, name string
		t         sample.Type
		kind      error
		says      string
	}{
		{"1,2,3", "d", sample.TextType, shard.ErrNoField, `there are ["a" "b" "c"]`},
		{"1,2,x", "c", sample.TensorType(tensor.Int64), shard.ErrCorrupt, `"x" is not valid as int64`},
		{"1,2,", "c", sample.TensorType(tensor.Int64), shard.ErrNoValue, "and int64 needs one"},
		{"1,2", "c", sample.TextType, shard.ErrCorrupt, "another number of values"},
		{"1,2,3,4", "c", sample.TextType, shard.ErrCorrupt, "another number of values"},
		{`1,2,"x""`, "c", sample.TextType, shard.ErrTruncated, "a quote does not end"},
		{"1,2,3", "c", sample.TensorType(tensor.Int64, 2), shard.ErrUnsupported, "a table cannot hold"},
	} {
		if _, err := parse(t, p, c.row, sample.Field{Name: c.name, Type: c.t}); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.row, err, c.says)
		}
	}
	if _, err := (CSV{}).Schema(nil); !errors.Is(err, shard.ErrUnsupported) {
		t.Error(err)
	}
	if _, err := (CSV{}).Parse(nil, nil, nil, nil); !errors.Is(err, shard.ErrUnsupported) {
		t.Error(err)
	}
	if _, err := (CSV{}).With([]byte(",a,a")); !errors.Is(err, shard.ErrCorrupt) {
		t.Error(err)
	}
	if p, err := (CSV{}).With(nil); err != nil || p == nil {
		t.Error(err)
	}
	if _, err := (packing{}).Unpack(nil, index.Block{Codec: 9}, nil); !errors.Is(err, shard.ErrUnsupported) {
		t.Error(err)
	}
}

// Nesting that would use up the stack is an error.
func TestDeepNesting(t *testing.T) {
	deep := `{"a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}"
	if _, err := (JSONL{}).Schema([]byte(deep)); err == nil || !strings.Contains(err.Error(), "too deeply") {
		t.Error(err)
	}
	deep = strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)
	if _, err := parse(t, JSONL{}, deep, sample.Field{Name: "b", Type: sample.TextType}); err == nil || !strings.Contains(err.Error(), "too deeply") {
		t.Error(err)
	}
}
