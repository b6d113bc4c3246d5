package batch

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
	"pgregory.net/rapid"
)

// bench is what batches are filled on, in memory of the run.
type bench struct {
	bytes   *budget.Budget
	source  *record.Source
	env     *core.Env
	columns record.Columns
	slots   *Slots
}

func newBench(schema sample.Schema, l *Layout) *bench {
	b := &bench{bytes: budget.New(1 << 20), env: &core.Env{}, columns: record.Columns{Of: map[string]record.Column{},
		Table: record.NewTable()}}
	b.source = &record.Source{Name: "source", Lane: b.bytes.Lane(), Key: func(index int64) string { return fmt.Sprint("key", index) }}
	for _, f := range schema {
		b.columns.PutAny(f.Name, f.Type)
	}
	b.slots = &Slots{Layout: l, Lane: b.bytes.Lane(), Memory: &b.env.Memory}
	return b
}

// record makes a sample with these bytes in its fields.
func (b *bench) record(i int64, fields map[string][]byte) *record.Record {
	r := b.source.Record(0, i, i)
	r.Working, _ = b.source.Lane.Acquire(context.Background(), uint64(i), "test", 10) // of a megabyte: nobody waits
	v := b.env.Blank(r)
	for name, data := range fields {
		switch at := b.columns.Of[name]; at.Kind {
		case record.Texts:
			v.Texts[at.At] = string(data)
		case record.Bytes:
			v.Bytes[at.At] = data
		case record.Numbers:
			copy(v.Numbers[at.At:][:at.Size], data)
		case record.Images: // with gaps between its rows
			v.Images[at.At] = record.Image{Pixels: media.Pixels{
				Data: slices.Concat(data[:6], []byte("gap"),
					data[6:]), Stride: 9, Width: 2, Height: 2, Color: media.RGB, DType: tensor.Uint8,
			}}
		default:
			v.Arrays[at.At] = record.Array{Shape: tensor.Shape{len(data) / 4}, Data: data}
		}
	}
	return r
}

// bytesOf is what a column has, of those that batches give.
func bytesOf(v *record.Values, at record.Column) string {
	switch at.Kind {
	case record.Texts:
		return v.Texts[at.At]
	case record.Bytes:
		return string(v.Bytes[at.At])
	case record.Numbers:
		return string(v.Numbers[at.At:][:at.Size])
	}
	return string(v.Arrays[at.At].Data)
}

// dirty is a batch in memory that was used before.
func (b *bench) dirty(t *testing.T) *Batch {
	made, err := b.slots.Reserve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range made.data {
		made.data[i] = 0xee
	}
	return made
}

// imageType is uint8 [2, 2, 3].
func imageType() sample.Type {
	t := sample.TensorType(tensor.Uint8, 2, 2, 3)
	t.Axes = "HWC"
	return t
}

// Samples that are put into batches are in their rows, also when rows have moved up
// because some were lost; and when the batch is taken apart, the same samples come out.
func TestSamplesComeOutOfBatches(t *testing.T) {
	types := map[string]sample.Type{
		"text": sample.TextType, "object": sample.ObjectType, "label": sample.TensorType(tensor.Int64),
		"box": sample.TensorType(tensor.Float32, 3), "image": imageType(),
	}
	sizes := map[string]int{"label": 8, "box": 12, "image": 12}
	rapid.Check(t, func(rt *rapid.T) {
		var schema sample.Schema
		for _, name := range []string{"text", "object", "label", "box", "image"} {
			if rapid.Bool().Draw(rt, name) {
				schema = schema.With(name, types[name])
			}
		}
		n := rapid.IntRange(1, 5).Draw(rt, "rows")
		l, err := NewLayout(schema, Size{Rows: n})
		if err != nil {
			rt.Fatal(err)
		}
		b := newBench(schema, &l)
		opening := &Opening{Env: b.env}
		apart := &Rows{Env: b.env}
		for _, f := range l.Schema() {
			opening.Columns = append(opening.Columns, b.columns.PutAny("batch of "+f.Name, f.Type))
			apart.In = append(apart.In, python.Field{Name: f.Name, Type: f.Type, Column: opening.Columns[len(opening.Columns)-1]})
		}
		for _, f := range schema {
			f.Type.Axes = "" // they are arrays from then on
			apart.Out = append(apart.Out, b.columns.PutAny("again "+f.Name, f.Type))
		}
		b.env.Room = b.columns.Room

		w := &Writer{Env: b.env, Made: -1}
		w.Handle("batch", core.Handling{}, nil)
		w.Lay(&l, fuse.Plan{Schema: schema}, b.columns.Of)
		made, err := b.slots.Reserve(t.Context())
		if err != nil {
			rt.Fatal(err)
		}
		var want []map[string][]byte
		var ids []int64
		for i := range n {
			fields := map[string][]byte{}
			for _, f := range schema {
				size, ok := sizes[f.Name]
				if !ok {
					size = rapid.IntRange(0, 9).Draw(rt, "length")
				}
				fields[f.Name] = rapid.SliceOfN(rapid.Byte(), size, size).Draw(rt, f.Name)
			}
			if err := w.Fill(t.Context(), b.record(int64(i), fields), made, i); err != nil {
				rt.Fatal(err)
			}
			if i < n-1 && rapid.Bool().Draw(rt, "lost") {
				made.empty(i)
				continue
			}
			if to := len(want); to < i {
				b.slots.Move(made, to, made, i)
			}
			want, ids = append(want, fields), append(ids, int64(i))
		}
		if err := b.slots.Seal(made, len(want)); err != nil {
			rt.Fatal(err)
		}
		if made.Rows() != len(want) || made.Samples() != int64(len(want)) {
			rt.Fatalf("%d rows, not %d", made.Rows(), len(want))
		}
		for _, f := range schema {
			of, ok := made.Tensor(f.Name)
			texts := slices.Concat(made.Text(f.Name), made.Objects(f.Name))
			for i, fields := range want {
				var got []byte
				if size := sizes[f.Name]; ok {
					got = of.Data[i*size:][:size]
				} else {
					got = []byte(texts[i])
				}
				if !bytes.Equal(got, fields[f.Name]) {
					rt.Fatalf("row %d of %s is %q, not %q", i, f.Name, got, fields[f.Name])
				}
			}
		}

		it, err := opening.Open(t.Context(), made)
		if err != nil {
			rt.Fatal(err)
		}
		i := 0
		for row, err := range apart.Expand(t.Context(), it) {
			if err != nil {
				rt.Fatal(err)
			}
			if row.ID.Index != ids[i] || row.Key != b.source.Key(ids[i]) {
				rt.Fatalf("row %d is %+v", i, row.ID)
			}
			for k, f := range schema {
				if got := bytesOf(row.Values, apart.Out[k]); got != string(want[i][f.Name]) {
					rt.Fatalf("%s of row %d becomes %q, not %q", f.Name, i, got, want[i][f.Name])
				}
			}
			b.env.Drop(row)
			i++
		}
		if used := b.bytes.Stats().Used; i != len(want) || used != 0 {
			rt.Fatalf("%d rows came out of %d; %d bytes are held", i, len(want), used)
		}
	})
}

// Rows of a batch that was made whole need not be as many in all fields: then it cannot
// be taken apart, and says which field differs.
func TestBatchesThatHaveNoRows(t *testing.T) {
	schema := sample.Schema{{Name: "tokens", Type: sample.TensorType(tensor.Int32, tensor.Unknown)}, {Name: "key", Type: sample.TextType}}
	l := Layout{}
	b := newBench(schema, &l)
	b.env.Room = b.columns.Room
	apart := &Rows{Env: b.env}
	for _, f := range schema {
		apart.In = append(apart.In, python.Field{Name: f.Name, Type: f.Type, Column: b.columns.Of[f.Name]})
	}
	two, _ := record.PackRows([]string{"a", "b"})
	for want, c := range map[string]struct {
		key     string
		members int
	}{
		`the field "key" has no rows`:                                       {"none", 0},
		`the field "key" has 2 rows, and others have 3`:                     {two, 0},
		`the field "tokens" has 3 rows, and 2 samples are in the batch: un`: {two, 2},
	} {
		it := b.record(7, map[string][]byte{"tokens": make([]byte, 12), "key": []byte(c.key)})
		for range c.members {
			it.Members = append(it.Members, b.source.Record(0, 0, 0))
		}
		for _, err := range apart.Expand(t.Context(), it) {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "key7") {
				t.Errorf("%v, not %q", err, want)
			}
		}
	}
}

func numbers(all ...int32) (b []byte) {
	for _, n := range all {
		b = binary.NativeEndian.AppendUint32(b, uint32(n))
	}
	return b
}

// Sequences are padded to the length of their batch, and several share a row of a pack,
// which says where each begins.
func TestSequencesInRows(t *testing.T) {
	in := sample.Schema{{Name: "tokens", Type: sample.TensorType(tensor.Int32, tensor.Unknown)}}
	int32Row, int64s := sample.TensorType(tensor.Int32, 6), sample.TensorType(tensor.Int64)
	tokens := func(b *Batch, name string, want ...int32) {
		if of, ok := b.Tensor(name); !ok || !bytes.Equal(of.Data, numbers(want...)) {
			t.Errorf("%s is %v, not %v", name, of.Data, numbers(want...))
		}
	}

	rows := sample.Schema{{Name: "tokens", Type: int32Row}, {Name: "tokens" + recipe.SegmentIDs, Type: int32Row},
		{Name: "tokens" + recipe.Positions, Type: int32Row}}
	l, err := NewLayout(rows, Size{Rows: 1})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(in, &l)
	b.env.Room, b.slots.Packs = b.columns.Room, true
	made := b.dirty(t)
	packing := recipe.Packing{Lengths: recipe.RowLengths{All: 6}, Size: 1, Pad: recipe.PadValue{All: -1}}
	w := &Writer{Env: b.env, Packed: l.Tracks(packing, in, b.columns.Of)}
	first, second := b.record(0, map[string][]byte{"tokens": numbers(7, 8)}), b.record(1, map[string][]byte{"tokens": numbers(9, 10, 11)})
	row := group.Row[*record.Record]{Length: 5, Segments: []group.Segment[*record.Record]{{Item: first, Length: 2},
		{Item: second, Offset: 2, Length: 3}}}
	if err := w.Pack(t.Context(), row, made, 0); err != nil {
		t.Fatal(err)
	}
	if err := b.slots.Seal(made, 1); err != nil || made.Samples() != 2 || first.Values != nil {
		t.Errorf("%v, %d samples", err, made.Samples())
	}
	tokens(made, "tokens", 7, 8, 9, 10, 11, -1)
	tokens(made, "tokens"+recipe.SegmentIDs, 1, 1, 2, 2, 2, 0)
	tokens(made, "tokens"+recipe.Positions, 0, 1, 0, 1, 2, 0)
	b.slots.Drop(made)

	rows = sample.Schema{{Name: "tokens", Type: sample.TensorType(tensor.Int32, tensor.Unknown)}, {Name: "tokens_length", Type: int64s}}
	if l, err = NewLayout(rows, Size{Rows: 2, Extents: []int{3}}, Size{Rows: 1, Extents: []int{6}}); err != nil {
		t.Fatal(err)
	}
	b = newBench(in, &l)
	b.env.Room = b.columns.Room
	w = &Writer{Env: b.env, Made: -1}
	w.Handle("batch", core.Handling{}, nil)
	w.Lay(&l, fuse.Plan{Schema: in, Batch: recipe.Batches{Buckets: &recipe.Buckets{Pad: recipe.PadValue{All: 5}}}}, b.columns.Of)
	made = b.dirty(t)
	made.Begin(func() *Form { return l.OfLength(4) }) // the longest of this batch
	for i, all := range [][]byte{numbers(1, 2, 3, 4), numbers(6)} {
		if err := w.Fill(t.Context(), b.record(int64(i), map[string][]byte{"tokens": all}), made, i); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.slots.Seal(made, 2); err != nil || !slices.Equal(made.Extents(), []int{4}) {
		t.Errorf("%v, %v", err, made.Extents())
	}
	tokens(made, "tokens", 1, 2, 3, 4, 6, 5, 5, 5)
	if lengths, _ := made.Tensor("tokens_length"); lengths.Data[0] != 4 || lengths.Data[8] != 1 {
		t.Errorf("lengths are %v", lengths.Data)
	}
	if made.Release(); b.bytes.Stats().Used != 0 {
		t.Error("bytes are held")
	}
}
