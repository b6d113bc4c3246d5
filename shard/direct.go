package shard

import "context"

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
	}
	if g.segment.Blocks() == 0 {
		return nil, false
	}
	v.Bytes, _, _ = g.c.d.lend(ctx, segmentOf{g.piece.shard, g.segment}, &to.lent, part.At, part.Len)
	return v, v.Bytes != nil // reading it as any sample gives the error
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
