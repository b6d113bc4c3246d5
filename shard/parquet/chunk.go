package parquet

import (
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
)

// chunk reads a column of a row group. What it cannot read of a valid file it refuses.
func (s *scan) chunk(c *column, k *chunk, g *group, most int64, into *values) error {
	rows := int(g.rows)
	into.spans, into.ints, into.floats, into.absent = into.spans[:0], into.ints[:0], into.floats[:0], nil
	switch {
	case k.encrypted || !k.known && k.elsewhere == "":
		c.refused = "it is encrypted"
	case k.elsewhere != "":
		c.refused = fmt.Sprintf("it is in another file, %q", k.elsewhere)
	default:
		c.refused = refusedCodec(k.codec)
	}
	if c.refused != "" || rows == 0 {
		return nil // of no rows there may be no pages, and no place of them
	}

	at := k.data
	if k.dict > 0 {
		at = min(at, k.dict)
	}
	if at < int64(len(magic)) || at > s.end || k.packed < 0 || k.packed > s.end-at {
		return shard.Wrong(s.f, s.end, shard.ErrCorrupt, "column %s: %d bytes at %d are not all in the file", c.name, k.packed, at)
	}
	if k.values != g.rows && !c.list || k.values < g.rows || k.values > most {
		return shard.Wrong(s.f, at, shard.ErrCorrupt, "column %s: %d values for %d rows", c.name, k.values, rows)
	}

	s.last = at + k.packed
	r := chunkReader{scan: s, c: c, codec: k.codec, into: into, left: int(k.values)}
	r.nesting = nesting{c, slices.Repeat([]int{notSeen}, len(c.lists))}
	for r.left > 0 {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		next, err := r.page(at)
		if err != nil || c.refused != "" {
			return err
		}
		at = next
	}
	if c.list {
		if len(into.spans) != rows {
			return r.wrong("%d lists for %d rows", len(into.spans), rows)
		}
		r.nesting.close(0)
		c.measured(into.spans)
	}
	return nil
}

// maxHeader is more than any header has. Statistics can be in it.
const maxHeader = 16 << 20

// readHeader reads the header of the page at a place, and returns where its data is.
func (r *chunkReader) readHeader(at int64) error {
	r.head, r.at = at, at
	for n := min(512, r.last-at); ; n = min(n*8, r.last-at) {
		b, err := r.win.At(at, int(n))
		if err != nil {
			return err
		}
		h, size, err := readHeader(b)
		switch {
		case err == nil:
			r.header, r.at = h, at+int64(size)
			return nil
		case err == errShort && n < maxHeader && n < r.last-at:
		case err == errShort:
			return shard.Wrong(r.f, at, shard.ErrTruncated, "column %s: a page's header ends early, "+
				"with %d rows to follow", r.c.name, r.left)
		default:
			return r.wrong("a page's header: %v", err)
		}
	}
}

// page reads the page whose header is at a place, and returns where the next one is.
func (r *chunkReader) page(at int64) (next int64, err error) {
	if err := r.readHeader(at); err != nil {
		return 0, err
	}
	h := &r.header
	next = r.at + h.packed
	if h.packed > r.last-r.at {
		return 0, r.wrong("a page of %d bytes is longer than its column", h.packed)
	}
	if h.kind != pageData && h.kind != pageData2 && h.kind != pageDictionary {
		return next, nil
	}
	packed, err := r.win.At(r.at, int(h.packed))
	if err != nil {
		return 0, err
	}
	if h.checked && crc32.ChecksumIEEE(packed) != h.crc {
		return 0, r.wrong("a page's checksum is not that of its bytes")
	}

	if h.kind == pageDictionary {
		return next, r.dictionary(packed)
	}
	if h.values > int64(r.left) {
		return 0, r.wrong("a page has %d values, and %d rows are left", h.values, r.left)
	}
	switch {
	case r.c.list:
		err = r.listPage(packed)
	case h.kind == pageData:
		err = r.data(packed)
	default:
		err = r.data2(packed)
	}
	r.left -= int(h.values)
	return next, err
}

// dictionary reads the values that data pages refer to.
func (r *chunkReader) dictionary(packed []byte) error {
	if r.hasDict {
		return r.wrong("it has two dictionaries")
	}
	if e := r.header.encoding; e != encodingPlain && e != encodingPlainDictionary {
		return r.wrong("a dictionary is encoded as %s", encodingName(e))
	}
	raw, err := r.unpack(packed, r.header.unpacked)
	if err != nil {
		return err
	}
	// A value has at least a bit, so that the count cannot be much larger than the page.
	if r.header.values > 8*int64(len(raw)) {
		return r.wrong("a dictionary of %d bytes is said to have %d values", len(raw), r.header.values)
	}
	r.hasDict = true
	if r.c.list {
		return r.listDictionary(raw)
	}
	from := r.base(r.at, packed, raw, r.codec)
	err = r.decode(&r.dict, encodingPlain, raw, from, int(r.header.values))
	r.name(r.dict.spans, raw, from)
	return err
}

// name collects texts, if they are those of a dictionary.
func (r *chunkReader) name(texts []span, raw []byte, from int64) {
	if !r.c.dictionary {
		return
	}
	for _, s := range texts {
		r.c.names.Add(raw[s.at-from:][:s.n])
	}
}

// data reads a page of the first kind, which is compressed as a whole.
func (r *chunkReader) data(packed []byte) error {
	h := &r.header
	raw, err := r.unpack(packed, h.unpacked)
	if err != nil {
		return err
	}

	n, skip := int(h.values), 0
	present := n
	if r.c.levels > 0 {
		if h.levels != encodingRLE {
			r.c.refused = "its definition levels are encoded as " + encodingName(h.levels)
			return nil
		}
		if len(raw) < 4 {
			return r.wrong("a page ends before its levels")
		}
		size := int64(little32(raw))
		if size > int64(len(raw)-4) {
			return r.wrong("%d bytes of levels are more than a page has", size)
		}
		skip = 4 + int(size)
		if present, err = r.levels(raw[4:skip], n); err != nil {
			return err
		}
	}

	return r.take(packed, raw, r.at, skip, present, r.codec)
}

// data2 reads a page of the second kind, of which the levels are not compressed.
func (r *chunkReader) data2(packed []byte) error {
	h := &r.header
	n := int(h.values)
	levels := h.repetition + h.definition
	if levels > int64(len(packed)) || levels > h.unpacked {
		return r.wrong("%d bytes of levels are more than a page has", levels)
	}
	present := n
	var err error
	if r.c.levels > 0 {
		if present, err = r.levels(packed[h.repetition:levels], n); err != nil {
			return err
		}
	}
	codec := r.codec
	if h.plain {
		codec = codecNone
	}
	raw, err := r.unpackAs(codec, packed[levels:], h.unpacked-levels)
	if err != nil {
		return err
	}
	return r.take(packed[levels:], raw, r.at+levels, 0, present, codec)
}

// take takes the values of a data page: present of them, from raw[skip:] on.
func (r *chunkReader) take(packed, raw []byte, at int64, skip, present, codec int) error {
	h := &r.header
	first := len(r.into.spans) + len(r.into.ints) + len(r.into.floats)
	var err error
	switch e := h.encoding; {
	case present == 0:
	case e == encodingRLEDictionary || e == encodingPlainDictionary:
		err = r.fromDictionary(raw[skip:], present)
	case e == encodingDeltaBytes && r.isBytes():
		r.c.dictionary = false // its texts are not in the page
		err = r.deltaBytes(raw, skip, present)
	default:
		from := int64(0)
		if r.isBytes() && present > 0 {
			from = r.base(at, packed, raw, codec)
		}
		before := len(r.into.spans)
		if err = r.decode(r.into, e, raw[skip:], from+int64(skip), present); err == nil {
			r.name(r.into.spans[before:], raw, from)
		}
	}
	if err != nil || r.c.refused != "" || present == int(h.values) {
		return err
	}
	return r.spread(first, present)
}

func (r *chunkReader) isBytes() bool {
	return r.c.meaning == asBytes || r.c.meaning == asText || r.c.meaning == asDecimal
}

// fromDictionary takes values of the dictionary.
func (r *chunkReader) fromDictionary(b []byte, n int) error {
	if n == 0 {
		return nil
	}
	if !r.hasDict {
		return r.wrong("a page refers to a dictionary, and there is none")
	}
	if len(b) == 0 {
		return r.wrong("a page ends before its values")
	}

	var ok bool
	if r.ids, ok = hybrid(r.ids[:0], b[1:], int(b[0]), n); !ok {
		return r.wrong("a page's places in the dictionary are damaged")
	}
	switch r.c.meaning {
	case asInt:
		r.into.ints, ok = pick(r.into.ints, r.dict.ints, r.ids)
	case asFloat:
		r.into.floats, ok = pick(r.into.floats, r.dict.floats, r.ids)
	default:
		r.into.spans, ok = pick(r.into.spans, r.dict.spans, r.ids)
	}
	if !ok {
		return r.wrong("a page refers past the end of its dictionary")
	}
	return nil
}

func pick[T any](dst, all []T, ids []uint32) ([]T, bool) {
	dst = slices.Grow(dst, len(ids))
	for _, id := range ids {
		if int64(id) >= int64(len(all)) {
			return dst, false
		}
		dst = append(dst, all[id])
	}
	return dst, true
}

// spread moves the values of a page to the rows that have one: there are fewer than rows.
func (r *chunkReader) spread(first, present int) error {
	top := uint32(r.c.levels)
	switch r.c.meaning {
	case asInt:
		r.into.ints = spread(r.into.ints, first, present, r.present, top, 0)
	case asFloat:
		r.into.floats = spread(r.into.floats, first, present, r.present, top, index.Missing)
	default:
		r.into.spans = spread(r.into.spans, first, present, r.present, top, span{at: -1})
		return nil
	}
	r.into.absent = append(r.into.absent, make([]bool, first+len(r.present)-len(r.into.absent))...)
	for i, l := range r.present {
		r.into.absent[first+i] = l != top
	}
	return nil
}

// spread moves from back to front, so that nothing is overwritten that is still to move.
func spread[T any](all []T, first, present int, levels []uint32, top uint32, null T) []T {
	all = append(all, make([]T, len(levels)-present)...)
	from := first + present
	for i := len(levels) - 1; i >= 0; i-- {
		if levels[i] == top {
			from--
			all[first+i] = all[from]
		} else {
			all[first+i] = null
		}
	}
	return all
}
