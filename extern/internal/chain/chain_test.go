package chain

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/headrace/headrace/extern/internal/shared"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// A worker is told of each function what it needs to call it, in the words of the
// protocol.
func TestSetup(t *testing.T) {
	heap, err := shared.NewHeap()
	if err != nil {
		t.Fatal(err)
	}
	defer heap.Close()
	pickle := heap.Take(10)
	defer heap.Give(pickle)
	at, _ := heap.Offset(pickle)
	pickled := func(function string) []byte {
		if function == "lambda" {
			return pickle
		}
		return nil
	}
	gives := sample.Schema{{Name: "a", Type: sample.TensorType(tensor.Float32, tensor.Unknown)}}
	c := New([]Function{
		{Step: "read", Function: "m:Data", Reads: true},
		{Step: "keep", Function: "lambda", Filters: true, Fields: []string{"label"}},
		{Step: "change", Function: "m:f", Fields: []string{"image"}, To: []string{"a"}, Gives: gives, Checks: true, Seed: []string{"numpy"}, Copy: true},
	}, pickled)
	setup, err := c.Setup(heap)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []map[string]any{
		{"step": "read", "function": "m:Data", "kind": "index"},
		{"step": "keep", "function": "lambda", "kind": "filter", "fields": []any{"label"}, "pickle": []any{float64(at), 10.}},
		{
			"step": "change", "function": "m:f", "kind": "map", "fields": []any{"image"}, "to": []any{"a"}, "checks": true, "seed": []any{"numpy"}, "copy": true,
			"gives": []any{map[string]any{"name": "a", "kind": "tensor", "dtype": "float32", "shape": []any{-1.}}},
		},
	} {
		var got map[string]any
		text, err := json.Marshal(setup[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		for key, value := range want {
			a, _ := json.Marshal(got[key])
			if b, _ := json.Marshal(value); string(a) != string(b) {
				t.Errorf("%v: %s is %s, want %s", want["step"], key, a, b)
			}
		}
	}
	if !c.Reads() || c[1:].Reads() || !c.Has("keep") || c.Has("m:f") || c.Step(1, "all") != "keep" || c.Step(3, "all") != "all" {
		t.Error("the chain has other functions")
	}
	if all := c.Pickles(); len(all) != 3 || all[0] != nil || &all[1][0] != &pickle[0] || all[2] != nil {
		t.Errorf("pickles %v", all)
	}
	if _, err := PickleAt(heap, make([]byte, 3)); err == nil {
		t.Error("a pickle that is not in the heap has a place")
	}
}

// Counts add up, by function.
func TestCounts(t *testing.T) {
	c := New([]Function{{Step: "one"}, {Step: "two"}}, func(string) []byte { return nil })
	for i := range 3 {
		c.Add([]Stats{{Calls: int64(i), Time: time.Second}, {Calls: 1, Time: time.Duration(i)}})
	}
	if got := c.Stats(); got[0] != (Stats{"one", 3, 3 * time.Second}) || got[1] != (Stats{"two", 3, 3}) {
		t.Errorf("%v", got)
	}
}
