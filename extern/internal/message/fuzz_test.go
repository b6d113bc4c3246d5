package message

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
	"github.com/headrace/headrace/wire"
)

// message is a RESULTS payload of words, with data and a tail after them.
func message(words []int64, data, tail []byte) []byte {
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, uint64(w))
	}
	return append(append(b, data...), tail...)
}

var fuzzed = sample.Schema{
	{Name: "image", Type: sample.TensorType(tensor.Uint8, tensor.Unknown, tensor.Unknown, 3)},
	{Name: "vector", Type: sample.TensorType(tensor.Float32, 2)},
	{Name: "label", Type: sample.TensorType(tensor.Int64)},
	{Name: "text", Type: sample.TextType},
	{Name: "raw", Type: sample.BytesType},
	{Name: "meta", Type: sample.ObjectType},
}

// Whatever a worker sends, what the parser lets through is within the message.
func FuzzParseResults(f *testing.F) {
	f.Add(message([]int64{0, 1, 1, 0, 8 * 28, 0, 0,
		Apart, 0, 1, 1, 3, // image
		InRows, 16, 2, // vector
		InRows, 32, // label
		Apart, 48, 4, // text
		Apart, 2 << PlaceBits, 0, // raw
		Apart, 32, 16, 0, 0, 0}, make([]byte, 64), nil))
	f.Add(message([]int64{0, 1, 3, 17, 8 * 10, 0, 0, Apart, 0, 0}, nil, []byte(`{"fields":[]}    `)))
	f.Add(message([]int64{3, 2, 0, 46, 8 * 8, 0, 1, 1}, nil, []byte(`{"failures":[{"item":3,"message":"no such crop"}]}`)))
	f.Fuzz(func(t *testing.T, payload []byte) {
		for _, gives := range []sample.Schema{fuzzed, nil, {}} {
			r, err := ParseResults(payload, gives, 0)
			if err != nil {
				if !errors.Is(err, wire.ErrProtocol) {
					t.Fatal(err)
				}
				continue
			}
			for f := range r.Schema {
				r.Block(f)
			}
			for i := range r.N {
				r.Failure(r.First + i)
				if r.Status(i) != ItemDone {
					continue
				}
				for f := range r.Schema {
					where, at, shape, bytes := r.Value(f, i)
					if where == IsSame {
						continue
					}
					if where == InData {
						_ = r.Data[at:][:bytes]
					}
					if r.Schema[f].Type.Kind == sample.Tensor && !Fits(shape, r.Schema[f].Type.Shape) {
						t.Fatalf("%v is not %v", shape, r.Schema[f].Type)
					}
					if bytes < 0 {
						t.Fatalf("%d bytes", bytes)
					}
				}
			}
		}
	})
}

func TestParseResultsRefuses(t *testing.T) {
	one := sample.Schema{{Name: "a", Type: sample.TensorType(tensor.Float32, tensor.Unknown)}}
	good := func() []int64 { return []int64{0, 1, 1, 0, 8 * 10, 0, 0, Apart, 0, 2} }
	if _, err := ParseResults(message(good(), make([]byte, 8), nil), one, 0); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func([]int64) []int64{
		"a negative number of samples":         func(w []int64) []int64 { w[1] = -1; return w },
		"more samples than there are":          func(w []int64) []int64 { w[1] = 4; return w },
		"unknown flags":                        func(w []int64) []int64 { w[2] = 8; return w },
		"samples returned after the last":      func(w []int64) []int64 { w[2] = 5; return w },
		"a tail beyond the end":                func(w []int64) []int64 { w[3] = 9; return w },
		"data beyond the end":                  func(w []int64) []int64 { w[4] = 1 << 40; return w },
		"data that begins too early":           func(w []int64) []int64 { w[4] = 8; return w },
		"an unknown state":                     func(w []int64) []int64 { w[6] = 3; return w },
		"a sample that took too long":          func(w []int64) []int64 { w[6] = (mostTook + 1) << tookShift; return w },
		"a sample that took less than nothing": func(w []int64) []int64 { w[6] = -4; return w },
		"a rest that took too long":            func(w []int64) []int64 { w[5] = mostTook + 1; return w },
		"a rest that took less than nothing":   func(w []int64) []int64 { w[5] = -1; return w },
		"an unknown mode":                      func(w []int64) []int64 { w[7] = 3; return w },
		"a place beyond the data":              func(w []int64) []int64 { w[8] = 4; return w },
		"an unknown kind of place":             func(w []int64) []int64 { w[8] = 4 << PlaceBits; return w },
		"rows in the memory for all arrays":    func(w []int64) []int64 { w[7], w[8] = InRows, InWhole<<PlaceBits; return w },
		"an extent that is too large":          func(w []int64) []int64 { w[9] = 3; return w },
		"an extent that is negative":           func(w []int64) []int64 { w[9] = -1; return w },
		"an extent that overflows":             func(w []int64) []int64 { w[9] = 1 << 62; return w },
		"rows that are too large":              func(w []int64) []int64 { w[7], w[9] = InRows, 1<<61; return w },
		"a missing column":                     func(w []int64) []int64 { w[4] = 8 * 7; return w[:7] },
		"half a column":                        func(w []int64) []int64 { w[4] = 8 * 9; return w[:9] },
	} {
		if _, err := ParseResults(message(change(good()), make([]byte, 8), nil), one, 0); !errors.Is(err, wire.ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParseResults(message([]int64{0, 0, 1, 1, 48, 0}, nil, []byte("{")), one, 0); !errors.Is(err, wire.ErrProtocol) {
		t.Error(err)
	}
}
