package input

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/tensor"
)

// What cannot be read with all others is named with the reason, and so are those that
// can be.
func TestFieldsThatNotAllSamplesHave(t *testing.T) {
	fields := FieldsFrom{{Name: "bytes", From: "jpg"}, {Name: "label", From: "cls"}, {Name: "age", From: "age"}}
	const others = `to read the others, name them: fields={"bytes": "jpg", "label": "cls"}`
	const leave = `to leave out samples without a value, name all: fields={"bytes": "jpg", "label": "cls", "age": "age"}, and write .loader(on_error="skip")`
	for _, c := range []struct {
		gap  gap
		is   error
		says []string
	}{
		{gap{why: "a map"}, shard.ErrUnsupported, []string{`"age": a map`, others}},
		{gap{why: "in 3 of 4", missing: true}, shard.ErrNoField, []string{`"age" is in 3 of 4`, others}},
		{gap{why: "in 3 of 4", missing: true, typed: true}, shard.ErrNoValue, []string{`"age": in 3 of 4`, others, leave}},
		{gap{why: "in 3 of 4", missing: true, typed: true, whole: true, fill: "0"}, shard.ErrNoValue,
			[]string{`give a value for it, fields={"age": ("age", None, 0)}, or read it as float64, where it is NaN ` +
				`and whole numbers beyond 2⁵³ are rounded, fields={"age": ("age", "float64")}`, others, leave}},
		{gap{why: "in 3 of 4", missing: true, typed: true, fill: "[]"}, shard.ErrNoValue,
			[]string{`"age": in 3 of 4; give a value for it, as in fields={"age": ("age", None, [])}`, others, leave}},
		{gap{why: "in 0 of 4", missing: true, typed: true, empty: true}, shard.ErrNoValue, []string{`"age": in 0 of 4`, others}},
	} {
		rest, err := complete(fields, map[string]gap{"age": c.gap}, strings.Compare, true)
		if !errors.Is(err, c.is) || Quoted(rest) != `"bytes": "jpg", "label": "cls"` {
			t.Fatalf("%+v: %v, %s", c.gap, err, Quoted(rest))
		}
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != len(c.says) {
			t.Errorf("%+v: %v", c.gap, err)
		}
		for i, want := range c.says {
			if i < len(lines) && !strings.Contains(lines[i], want) {
				t.Errorf("%s, want %s", lines[i], want)
			}
		}
		_, err = complete(fields, map[string]gap{"age": c.gap}, strings.Compare, false)
		if strings.Contains(err.Error(), "leave out samples") {
			t.Errorf("bad samples end the run, and yet: %v", err)
		}
	}
	if rest, err := complete(fields, nil, strings.Compare, true); err != nil || len(rest) != len(fields) {
		t.Errorf("%v, %v", rest, err)
	}
}

// Of many fields with gaps the first are named, and the others counted.
func TestManyFieldsThatNotAllSamplesHave(t *testing.T) {
	gaps := map[string]gap{}
	var fields FieldsFrom
	for i := range mostGaps + 3 {
		name := fmt.Sprintf("f%02d", i)
		gaps[name], fields = gap{why: "a map"}, append(fields, FieldFrom{Name: name, From: name})
	}
	rest, err := complete(fields, gaps, strings.Compare, true)
	lines := strings.Split(err.Error(), "\n")
	if len(rest) > 0 || len(lines) != mostGaps+2 || !strings.Contains(lines[0], `"f00"`) || lines[mostGaps] != "and 3 more, which headrace inspect lists" ||
		lines[mostGaps+1] != "no other column is left that can be read as it is" {
		t.Errorf("%v, %v", rest, err)
	}
}

// Floats have a NaN where they are missing; whole numbers have none.
func TestWholeNumbers(t *testing.T) {
	for _, d := range []tensor.DType{
		tensor.Bool, tensor.Uint8, tensor.Int8, tensor.Uint16, tensor.Int16, tensor.Uint32, tensor.Int32, tensor.Uint64,
		tensor.Int64, tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64,
	} {
		typ := sample.TensorType(d)
		if float := strings.Contains(d.String(), "float"); isWhole(&typ) == float {
			t.Errorf("%v is whole: %v", d, !float)
		}
		if vector := sample.TensorType(d, 1); isWhole(&vector) {
			t.Errorf("%v is a number", vector)
		}
	}
	if isWhole(nil) || isWhole(&sample.TextType) {
		t.Error("what is no number is whole")
	}
}
