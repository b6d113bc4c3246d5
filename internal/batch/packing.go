package batch

import (
	"context"
	"encoding/binary"
	"unsafe"

	"github.com/headrace/headrace/group"
	elements "github.com/headrace/headrace/internal/numbers"
	"github.com/headrace/headrace/internal/rawjson"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// packedField is a field of a packed row, in which the values of its samples are after
// each other.
type packedField struct {
	field    int
	text     int // which of the texts it is
	place    record.Column
	sequence int // whose length it has
	bytes    int // of an element of the row
	pad      []byte

	// Of a sequence, the fields that say which sample an element belongs to, its position
	// there, where samples begin and how long the longest is; 0: there is none, as the
	// first field is none of these.
	segments, positions, cuSeqlens, maxSeqlen int

	upwards []int32 // from 0, for as long as a row is: the positions of any sample
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
	ended := len(r.Segments)
	b.empty(row)
	for _, s := range r.Segments {
		b.origin(row, s.Item)
		if s.Goes {
			ended-- // it is counted where it ends
		}
	}
	*b.samples.at(row) = ended
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
	for i := range r.Segments {
		s := &r.Segments[i]
		at := s.Span(t.sequence)
		v, to := s.Item.Values, dst[at.Offset*t.bytes:][:at.Length*t.bytes]
		switch {
		case t.segments != 0:
			copy(to, v.Arrays[t.place.At].Data[s.Start*t.bytes:])
		case t.place.Kind == record.Numbers:
			repeat(to, v.Numbers[t.place.At:][:t.place.Size])
		default:
			repeat(to, v.Arrays[t.place.At].Data)
		}
	}

	used := r.Used(t.sequence)
	repeat(dst[used*t.bytes:], t.pad)
	if t.segments != 0 {
		t.number(r, used, b.row(t.segments, row), int32s(b.row(t.positions, row)))
	}
	if t.cuSeqlens != 0 {
		int32s(b.row(t.maxSeqlen, row))[0] = bound(r, t.sequence, used, int32s(b.row(t.cuSeqlens, row)))
	}
}

// number says of each element of a row which segment it belongs to, and its position
// there.
func (t packedField) number(r group.Row[*record.Record], used int, segments []byte, positions []int32) {
	var id [4]byte
	for i := range r.Segments {
		at := r.Segments[i].Span(t.sequence)
		repeat(segments[4*at.Offset:][:4*at.Length], binary.NativeEndian.AppendUint32(id[:0], uint32(i+1)))
		copy(positions[at.Offset:][:at.Length], t.upwards)
	}
	clear(segments[4*used:])
	clear(positions[used:])
}

// bound writes the places at which segments begin, and then the end of the last until the
// memory is full. It returns the length of the longest.
func bound(r group.Row[*record.Record], sequence, used int, at []int32) (longest int32) {
	for i := range at {
		at[i] = int32(used)
		if i < len(r.Segments) {
			s := r.Segments[i].Span(sequence)
			at[i], longest = int32(s.Offset), max(longest, int32(s.Length))
		}
	}
	return longest
}

// list has the texts of a row as JSON.
func (t packedField) list(r group.Row[*record.Record]) string {
	all := make([]byte, 0, len("[]")+len(r.Segments)*32)
	for i := range r.Segments {
		all = append(all, "[,"[min(i, 1)])
		all = rawjson.AppendQuote(all, r.Segments[i].Item.Values.Texts[t.place.At]) // which may have any bytes
	}
	return string(append(all, ']'))
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

// upwards are numbers from 0.
func upwards(n int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// Tracks are the fields of packed rows.
func (l *Layout) Tracks(p recipe.Packing, schema sample.Schema, columns map[string]record.Column) (all []packedField) {
	text, sequences := 0, schema.Ragged()

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
				t.upwards = upwards(f.Shape[0])
				if p.Segments > 0 {
					t.cuSeqlens, t.maxSeqlen = l.field(f.Name+recipe.CuSeqlens), l.field(f.Name+recipe.MaxSeqlen)
				}
				if p.Lengths.Fields != nil {
					t.sequence = sequences.Find(f.Name)
				}
			}
		}
		all = append(all, t)
	}
	return all
}
