package batch

import (
	"context"
	"encoding/json"
	"unsafe"

	"github.com/headrace/headrace/group"
	elements "github.com/headrace/headrace/internal/numbers"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// packedField is a field of a packed row, in which the values of its samples are after
// each other.
type packedField struct {
	field     int
	text      int // which of the texts it is
	place     record.Column
	bytes     int // of an element of the row
	pad       []byte
	segments  int // the field that says which sample an element belongs to; 0: there is none, as the first field is none of these
	positions int
}

// Pack writes samples into a row. They are done with, whatever comes of it.
func (e *Writer) Pack(_ context.Context, r group.Row[*record.Record], b *Batch, row int) (err error) {
	defer e.DropRow(r)
	defer func() {
		if err != nil {
			err = core.Blame(r.Segments[0].Item, err)
		}
	}()
	defer core.Catch(&err)
	for _, t := range e.Packed {
		t.write(r, b, row)
	}
	*b.samples.at(row) = len(r.Segments)
	b.empty(row)
	for _, s := range r.Segments {
		b.origin(row, s.Item)
	}
	return nil
}

// DropRow gives back the memory that the samples of a row hold.
func (e *Writer) DropRow(r group.Row[*record.Record]) {
	for _, s := range r.Segments {
		e.Env.Drop(s.Item)
	}
}

func (t packedField) write(r group.Row[*record.Record], b *Batch, row int) {
	if t.place.Kind == record.Texts {
		*b.texts[t.text].at(row) = t.list(r)
		return
	}
	dst := b.row(t.field, row)
	for _, s := range r.Segments {
		v, to := s.Item.Values, dst[s.Offset*t.bytes:][:s.Length*t.bytes]
		switch {
		case t.segments != 0:
			copy(to, v.Arrays[t.place.At].Data)
		case t.place.Kind == record.Numbers:
			repeat(to, v.Numbers[t.place.At:][:t.place.Size])
		default:
			repeat(to, v.Arrays[t.place.At].Data)
		}
	}
	repeat(dst[r.Length*t.bytes:], t.pad)
	if t.segments != 0 {
		number(r, int32s(b.row(t.segments, row)), int32s(b.row(t.positions, row)))
	}
}

// number says of each element of a row which segment it belongs to, and its position
// there.
func number(r group.Row[*record.Record], segments, positions []int32) {
	for i, s := range r.Segments {
		for k := range s.Length {
			segments[s.Offset+k], positions[s.Offset+k] = int32(i+1), int32(k)
		}
	}
	clear(segments[r.Length:])
	clear(positions[r.Length:])
}

// list has the texts of a row as JSON.
func (t packedField) list(r group.Row[*record.Record]) string {
	all := make([]recipe.Path, len(r.Segments)) // which may have any bytes
	for i, s := range r.Segments {
		all[i] = recipe.Path(s.Item.Values.Texts[t.place.At])
	}
	text, _ := json.Marshal(all)
	return string(text)
}

// repeat fills memory with copies of a pattern, of which it has room for a whole number.
func repeat(dst, pattern []byte) {
	n := copy(dst, pattern)
	for n > 0 && n < len(dst) {
		n += copy(dst[n:], dst[:n])
	}
}

// int32s shows memory of a slot, in which rows are aligned for it.
func int32s(b []byte) []int32 {
	return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// padded makes the cell of a sequence.
func (l *Layout) padded(i int, at record.Column, pad recipe.PadValue) FieldWriter {
	f := l.Fields[i]
	size, _ := f.Shape[1:].Bytes(f.DType)
	return FieldWriter{
		Field: i, Column: at, bytes: int(size), length: l.field(f.Name + "_length"), pad: elements.Append(nil, f.DType, pad.Of(f.Name)),
	}
}

// Tracks are the fields of packed rows.
func (l *Layout) Tracks(p recipe.Packing, schema sample.Schema, columns map[string]record.Column) (all []packedField) {
	text := 0
	for i, f := range l.Fields {
		t := packedField{field: i, place: columns[f.Name]}
		switch {
		case t.place.Kind == 0: // made of another
			continue
		case t.place.Kind == record.Texts:
			t.text = text
			text++
		default:
			size, _ := f.Shape[1:].Bytes(f.DType)
			t.bytes, t.pad = int(size), elements.Append(nil, f.DType, p.Pad.Of(f.Name))
			if schema[schema.Find(f.Name)].Type.Ragged() {
				t.segments, t.positions = l.field(f.Name+recipe.SegmentIDs), l.field(f.Name+recipe.Positions)
			}
		}
		all = append(all, t)
	}
	return all
}
