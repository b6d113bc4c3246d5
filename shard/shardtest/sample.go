package shardtest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Sample is one that a shard has.
type Sample struct {
	Key    string           `json:"key,omitempty"`
	Fields map[string]Value `json:"fields"`
}

// Value is that of a field: "bytes", "text", or an array as "int64 [3]", little-endian.
type Value struct {
	Type  string `json:"type"`
	Bytes []byte `json:"bytes"`
}

// Golden reads the samples that a script has written as JSON, bytes in base 64.
func Golden(t testing.TB, name string) (all []Sample) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return all
}

// Bytes is a value that is not looked into.
func Bytes(b string) Value { return Value{"bytes", []byte(b)} }

// Text is a value of text.
func Text(s string) Value { return Value{"text", []byte(s)} }

// Int is a number.
func Int(v int64) Value { return Value{"int64", binary.LittleEndian.AppendUint64(nil, uint64(v))} }

// Float is another.
func Float(v float64) Value {
	return Value{"float64", binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))}
}

// valueOf is the value of a field. Open extents of its type are taken from shape or,
// where there is one alone, from the length.
func valueOf(t sample.Type, data []byte, shape []int) (Value, error) {
	t.Logical = nil // which tests of Python compare with what others say
	if t.Kind != sample.Tensor {
		return Value{t.String(), slices.Clone(data)}, nil
	}
	if shape != nil {
		t.Shape = shape
	}

	open := slices.Index(t.Shape, tensor.Unknown)
	if open >= 0 {
		t.Shape = slices.Clone(t.Shape)
		t.Shape[open] = 1
		one, err := t.Shape.Bytes(t.DType)
		if err != nil || one == 0 && len(data) > 0 {
			return Value{}, fmt.Errorf("%v of %d bytes: %w", t, len(data), err)
		}
		t.Shape[open] = len(data) / max(1, int(one))
	}
	if n, err := t.Shape.Bytes(t.DType); err != nil || n != int64(len(data)) {
		return Value{}, fmt.Errorf("%v has %d bytes, and there are %d: %w", t, n, len(data), err)
	}
	return Value{t.String(), slices.Clone(data)}, nil
}

// differs says in what s is not as the other; "": in nothing.
func (s Sample) differs(other Sample) string {
	if s.Key != other.Key {
		return fmt.Sprintf("key %q, want %q", s.Key, other.Key)
	}
	for _, name := range slices.Sorted(maps.Keys(other.Fields)) {
		got, ok := s.Fields[name]
		want := other.Fields[name]
		switch {
		case !ok:
			return fmt.Sprintf("no field %q", name)
		case got.Type != want.Type:
			return fmt.Sprintf("field %q is %s, want %s", name, got.Type, want.Type)
		case string(got.Bytes) != string(want.Bytes):
			return fmt.Sprintf("field %q is %s, want %s", name, brief(got.Bytes), brief(want.Bytes))
		}
	}
	for name := range s.Fields {
		if _, ok := other.Fields[name]; !ok {
			return fmt.Sprintf("field %q more than there should be", name)
		}
	}
	return ""
}

func brief(b []byte) string {
	if len(b) > 80 {
		return strconv.Quote(string(b[:80])) + "… (" + strconv.Itoa(len(b)) + " bytes)"
	}
	return strconv.Quote(string(b))
}
