package shard

import (
	"context"

	"github.com/headrace/headrace/shard/index"
)

// direct returns the value of a text column without a copy, from the block that was
// unpacked last or from one other block; false: read it as any sample.
func (g *rowGroup) direct(ctx context.Context, reader, row int) (v *Value, ok bool) {
	to := &g.read[reader]
	if !g.locate(reader) {
		return nil, false
	}
	part := &to.parts[row]
	to.own = Value{}
	switch v = &to.own; {
	case part.Field < 0:
		v.Null = true
		return v, true
	case part.Len == 0:
		return v, true
	case part.Len > g.c.most:
		return nil, false
	case part.At < to.begin || part.At+part.Len > to.begin+int64(len(to.block)):
		if !g.load(ctx, to, part) {
			return nil, false
		}
	}
	v.Bytes = to.block[part.At-to.begin:][:part.Len]
	return v, true
}

// locate finds the parts of the rows that are a column; false: not by itself.
func (g *rowGroup) locate(reader int) bool {
	to := &g.read[reader]
	if to.placed {
		return true
	}
	w, err := g.c.readers[reader].wires(g.piece.shard, g.segment)
	if err != nil || len(w.field[0]) > 1 {
		return false
	}
	if len(w.field[0]) == 0 { // a shard without the column
		for row := range g.n {
			to.parts[row].Field = -1
		}
	} else if g.segment.PartsOf(g.from, w.field[0][0], &to.parts) != nil {
		return false
	}
	to.placed = true
	return true
}

// present has the bits of rows that have a part which is a column.
func (g *rowGroup) present(reader int) (has uint64, ok bool) {
	if !g.locate(reader) {
		return 0, false
	}
	for row := range g.n {
		if g.read[reader].parts[row].Field >= 0 {
			has |= 1 << row
		}
	}
	return has, true
}

// plainAtOnce bounds the bytes of an uncompressed block that are read together.
const plainAtOnce = 1 << 20

// load unpacks the block that a part is in, or reads what comes after it in a file.
func (g *rowGroup) load(ctx context.Context, to *rowsRead, part *index.Part) bool {
	d := g.c.d
	format, ok := d.formatOf(g.piece.shard).(Unpacker)
	if !ok || g.segment.Blocks() == 0 {
		return false
	}
	var room [4]index.Block
	all, first, skip, err := g.segment.Covering(part.At, part.Len, room[:0])
	if err != nil || len(all) != 1 {
		return false
	}

	h, err := d.handles.take(g.piece.shard)
	if err != nil {
		return false
	}
	defer d.handles.give(h)
	b := all[0]
	switch {
	case b.At > h.file.Size()-b.Len, b.Size > mostBlock && !b.Plain():
		return false
	case b.Codec == index.Stored:
		n := min(max(plainAtOnce, part.Len), b.Len-skip)
		if n < part.Len {
			return false
		}
		data := make([]byte, n)
		if readFull(h.file, data, b.At+skip) != nil {
			return false
		}
		to.block, to.begin = data, part.At
		return true
	case b.Plain():
		return false
	}
	to.place.shard, to.place.segment = g.piece.shard, g.segment
	data, _, err := d.block(ctx, &to.place, h.file, format, first, b, 0)
	if err != nil || int64(len(data)) < skip+part.Len {
		return false
	}
	to.block, to.begin = data, part.At-skip
	return true
}
