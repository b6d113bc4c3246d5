package batch

import (
	"bytes"
	"slices"
	"testing"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Parts of a sample have its elements in order, and its other values, whole; each is an
// output of its own. Memory is given back with the last.
func TestPartsOfASample(t *testing.T) {
	in := sample.Schema{{Name: "tokens", Type: sample.TensorType(tensor.Int32, tensor.Unknown)}, {Name: "key", Type: sample.TextType}}
	l, err := NewLayout(sample.Schema{{Name: "key", Type: sample.TextType}}, Size{Rows: 1})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(in, &l)
	b.env.Room = b.columns.Room
	at, key := b.columns.Of["tokens"], b.columns.Of["key"]
	c := &Cutter{Env: b.env, Sequences: []Sequence{{Name: "tokens", Place: at}}, Others: []record.Column{key}, Limit: 3}
	whole := func() *record.Record {
		it := b.record(4, map[string][]byte{"tokens": numbers(1, 2, 3, 4, 5, 6, 7)})
		it.Values.Texts[key.At] = "four"
		return it
	}
	check := func(it *record.Record, output string, want ...int32) {
		t.Helper()
		if a := it.Values.Arrays[at.At]; !bytes.Equal(a.Data, numbers(want...)) || a.Shape[0] != len(want) {
			t.Errorf("%v %v, want %v", a.Shape, a.Data, want)
		}
		if it.Values.Texts[key.At] != "four" || string(it.ID.Output) != output || it.ID.Pos != 4 {
			t.Errorf("%q, %+v", it.Values.Texts[key.At], it.ID)
		}
		b.env.Drop(it)
	}

	it := whole()
	check(c.Head(it, 2), "", 1, 2)
	check(it, "", 1, 2, 3, 4, 5, 6, 7)

	wants := [][]int32{{1, 2, 3}, {4, 5, 6}, {7}}
	for child, err := range c.Expand(t.Context(), whole()) {
		if err != nil || len(wants) == 0 {
			t.Fatal(err, wants)
		}
		check(child, []string{"2", "1", "0"}[len(wants)-1], wants[0]...)
		wants = wants[1:]
	}
	for which, want := range [][]int32{{1, 2, 3}, {4, 5, 6}, {7}} {
		it := whole()
		it.Wanted = []int64{int64(which)}
		child, err := c.Again(t.Context(), it)
		if err != nil {
			t.Fatal(err)
		}
		check(child, []string{"0", "1", "2"}[which], want...)
	}

	c.Limit = 7
	it = whole()
	for child, err := range c.Expand(t.Context(), it) {
		if err != nil || child != it {
			t.Error("what fits is another sample")
		}
	}
	check(it, "", slices.Clone([]int32{1, 2, 3, 4, 5, 6, 7})...)
	if b.bytes.Stats().Used != 0 {
		t.Error("bytes are held")
	}
}
