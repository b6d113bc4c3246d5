package shard

import (
	"context"
	"slices"
	"sort"

	"github.com/headrace/headrace/shard/index"
)

// Blocks returns the first sample of each block of neighbours: of at least so many, that
// end where something ends which is unpacked as one, or with a shard. Nil: of no sample
// is anything unpacked, so that reading it alone costs no more than its bytes.
func (r *Reader) Blocks(least int64) (starts []int64, err error) {
	r.d.life.RLock()
	defer r.d.life.RUnlock()
	if r.d.closed {
		return nil, ErrClosed
	}
	if !r.d.HasBlocks() {
		return nil, nil
	}

	// Of a billion rows, an index is gone through here for the first time, and checked.
	all := make([]blocksOf, len(r.d.shards))
	err = each(context.Background(), len(all), 0, 1, func(n int) (err error) {
		all[n], err = r.blocksOf(n, max(1, least))
		return err
	})
	if err != nil {
		return nil, err
	}
	packed := false
	before := int64(0) // samples of the shards before
	for _, b := range all {
		for _, in := range b.starts {
			starts = append(starts, before+in)
		}
		before, packed = before+b.samples, packed || b.packed
	}
	if !packed {
		return nil, nil
	}
	return starts, nil
}

// blocksOf has the blocks of one shard, counted from its first sample.
type blocksOf struct {
	starts  []int64
	samples int64
	packed  bool // some sample is unpacked
}

func (r *Reader) blocksOf(shard int, least int64) (b blocksOf, err error) {
	k := neighbours{least: least}
	if k.s, err = r.d.segment(shard); err != nil {
		return b, err
	}
	if k.field, err = r.largest(shard, k.s); err != nil {
		return b, err
	}
	b.samples = int64(k.s.Len())
	for in := int64(0); in < b.samples; {
		b.starts = append(b.starts, in)
		end, together, err := k.end(in)
		if err != nil {
			return b, &Error{Shard: r.d.shards[shard].key, At: -1, Err: err}
		}
		in, b.packed = end, b.packed || together
	}
	return b, nil
}

// largest is the part that most bytes are read of; -1: none is.
func (r *Reader) largest(shard int, s *index.Segment) (field int, err error) {
	w, err := r.wires(shard, s)
	if err != nil {
		return 0, err
	}
	field = -1
	consider := func(fields []int) {
		for _, f := range fields {
			if field < 0 || s.Fields[f].Bytes > s.Fields[field].Bytes {
				field = f
			}
		}
	}
	for k, c := range r.columns {
		switch {
		case c.ofPart():
			consider(w.field[k])
		case c.ofRecord():
			consider(w.record)
		}
	}
	return field, nil
}

// neighbours finds blocks in a shard.
type neighbours struct {
	least int64
	s     *index.Segment
	field int
	parts []index.Part
}

// end is the first sample after the block that begins with one, and whether what is
// unpacked as one decided that.
func (k *neighbours) end(from int64) (end int64, packed bool, err error) {
	samples := int64(k.s.Len())
	end = from + min(k.least, samples-from)
	last, found, err := k.part(end - 1)
	if err != nil || !found || last.Len == 0 || k.s.Blocks() == 0 {
		return end, false, err
	}

	var room [4]index.Block
	blocks, _, skip, err := k.s.Covering(last.At, last.Len, room[:0])
	if err != nil || blocks[len(blocks)-1].Plain() {
		return end, false, err
	}
	edge := last.At - skip
	for _, b := range blocks {
		edge += b.Size
	}
	beyond := func(i int64) bool { // samples that lack the part are where the others are
		if err != nil {
			return true
		}
		var p index.Part
		p, found, err = k.part(i)
		return err != nil || found && p.At >= edge
	}

	step := int64(1)
	for end+step <= samples && !beyond(end+step-1) {
		end, step = end+step, 2*step
	}
	end += int64(sort.Search(int(min(step-1, samples-end)), func(i int) bool { return beyond(end + int64(i)) }))
	return end, true, err
}

// part is where a sample's largest part is.
func (k *neighbours) part(i int64) (p index.Part, found bool, err error) {
	if k.parts, err = k.s.Parts(int(i), k.parts[:0]); err != nil {
		return p, false, err
	}
	at := slices.IndexFunc(k.parts, func(p index.Part) bool { return p.Field == k.field })
	if at < 0 {
		return p, false, nil
	}
	return k.parts[at], true, nil
}
