package shard

import (
	"context"

	"github.com/headrace/headrace/shard/index"
)

// lent holds bytes of a shard that were read last: an unpacked block, or a piece of the
// file. The parts of neighbours are taken from it without a copy.
type lent struct {
	segment *index.Segment
	begin   int64 // place of data, as of the segment's parts
	data    []byte
	isBlock bool   // data is one of a shard's blocks
	own     []byte // memory for bytes of files
}

// of returns a part; false: it is elsewhere.
func (l *lent) of(s *index.Segment, at, size int64) ([]byte, bool) {
	if l.segment != s || at < l.begin || at+size > l.begin+int64(len(l.data)) {
		return nil, false
	}
	return l.data[at-l.begin:][:size:size], true
}

// As much of a file is read ahead as was used before, up to these bounds. A store takes
// long to answer, so it is asked for more.
const (
	aheadLocal  = 64 << 10
	aheadRemote = 1 << 20
)

// ahead returns the number of bytes to read for a part of that size: more than the part
// if its neighbours have been read, and at most those that the file has.
func (l *lent) ahead(f *opened, s *index.Segment, at, size, most int64) int64 {
	had := int64(len(l.data))
	if l.segment != s || at < l.begin || at > l.begin+had+gap {
		return min(size, most)
	}
	limit := int64(aheadLocal)
	if f.file != nil && !f.file.IsLocal() {
		limit = aheadRemote
	}
	return min(max(size, min(2*had, limit)), most)
}

// read fills l with bytes of a file, of which the first is at from there.
func (l *lent) read(f *opened, s *index.Segment, at, from, n int64) error {
	if int64(cap(l.own)) < n {
		l.own = make([]byte, n)
	}
	l.segment, l.begin, l.data, l.isBlock = s, at, l.own[:n], false
	err := readFull(f, l.data, from)
	if err != nil {
		l.data = nil
	}
	return err
}

// mostOwn is the most memory that is kept for bytes of files.
const mostOwn = 256 << 10

// letGo lets go of blocks, which are kept elsewhere or no longer, and of much memory.
func (l *lent) letGo() {
	if l.isBlock || cap(l.own) > mostOwn {
		l.data = nil
	}
	if cap(l.own) > mostOwn {
		l.own = nil
	}
}

// lend returns a part without a copy, from the bytes that were read last or from one
// other block. The part is valid until the next call. Nil without an error: it has to be
// read as of any sample.
func (d *Dataset) lend(ctx context.Context, in segmentOf, l *lent, at, size int64) (part []byte, read int64, err error) {
	if size == 0 {
		return []byte{}, 0, nil
	}
	if part, ok := l.of(in.segment, at, size); ok {
		return part, 0, nil
	}
	h, err := d.handles.take(in.shard)
	if err != nil {
		return nil, 0, err
	}
	defer d.handles.give(h)

	from, most := at, d.index.Shards[in.shard].Size-at // of the file
	if in.segment.Blocks() > 0 {
		format, ok := d.formatOf(in.shard).(Unpacker)
		if !ok {
			return nil, 0, nil
		}
		var room [4]index.Block
		all, first, skip, err := in.segment.Covering(at, size, room[:0])
		if err != nil || len(all) != 1 {
			return nil, 0, nil
		}
		switch b := all[0]; {
		case b.At > h.file.Size()-b.Len, b.Size > mostBlock && !b.Plain():
			return nil, 0, nil
		case b.Codec == index.Stored:
			from, most = b.At+skip, b.Len-skip
		case b.Plain():
			return nil, 0, nil
		default:
			data, n, err := d.block(ctx, in, h.file, format, first, b, 0)
			if err != nil {
				return nil, n, err
			}
			l.segment, l.begin, l.data, l.isBlock = in.segment, at-skip, data, true
			part, _ := l.of(in.segment, at, size)
			return part, n, nil
		}
	}
	if size > most {
		return nil, 0, nil
	}
	n := l.ahead(h.file, in.segment, at, size, most)
	if err := l.read(h.file, in.segment, at, from, n); err != nil {
		return nil, 0, err
	}
	return l.data[:size:size], n, nil
}
