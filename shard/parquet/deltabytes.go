package parquet

import (
	"encoding/binary"
	"fmt"

	"headrace/shard"
	"headrace/shard/index"
)

// In pages of DELTA_BYTE_ARRAY a value says how much of the one before it begins with.
// Such a page is one block, of which the values come out one after the other.

// prefixed is the values of such a page.
type prefixed struct {
	prefixes, suffixes []int64
	bytes              []byte // of suffixes
}

// readPrefixed checks that no prefix is longer than the value before, and that all
// suffixes are there. It returns how many bytes all values have.
func (p *prefixed) read(b []byte, n int) (size int64, ok bool) {
	var at, used int
	if p.prefixes, at, ok = deltas(p.prefixes[:0], b, n); !ok {
		return 0, false
	}
	if p.suffixes, used, ok = deltas(p.suffixes[:0], b[at:], n); !ok {
		return 0, false
	}
	p.bytes = b[at+used:]
	before, left := int64(0), int64(len(p.bytes))
	for i, prefix := range p.prefixes {
		suffix := p.suffixes[i]
		if prefix < 0 || prefix > before || suffix < 0 || suffix > left {
			return 0, false
		}
		left -= suffix
		before = prefix + suffix
		size += before
	}
	return size, true
}

// deltaBytes takes the values of such a page, which is unpacked in raw.
func (r *chunkReader) deltaBytes(packed, raw []byte, skip, n int) error {
	p := prefixed{prefixes: r.lengths, suffixes: r.wide}
	size, ok := p.read(raw[skip:], n)
	if r.lengths, r.wide = p.prefixes, p.suffixes; !ok {
		return r.wrong("a page's prefixes are damaged")
	}
	if size > mostUnpacked(r.header.packed) {
		return r.wrong("values of %d bytes in a page of %d", size, r.header.packed)
	}
	from := r.space
	for i, prefix := range p.prefixes {
		n := prefix + p.suffixes[i]
		if r.c.kind == typeFixed && n != int64(r.c.length) {
			return r.wrong("value %d of a page has %d bytes, all have %d", i, n, r.c.length)
		}
		r.into.spans = append(r.into.spans, span{from, n})
		from += n
	}
	if size == 0 {
		return nil
	}

	codec := blockDelta | r.codec
	if r.c.levels > 0 {
		codec |= blockLevels
	}
	r.found.Block(index.Block{At: r.head, Len: r.at - r.head + r.header.packed, Size: size, Codec: uint64(codec)})
	r.space += size
	return nil
}

// unpackDelta unpacks such a page.
func unpackDelta(dst []byte, b index.Block, page []byte) ([]byte, error) {
	damaged := fmt.Errorf("%w: a page of DELTA_BYTE_ARRAY", shard.ErrCorrupt)
	h, head, err := readHeader(page)
	if err != nil || h.packed != int64(len(page)-head) || h.unpacked > mostUnpacked(h.packed) {
		return nil, damaged
	}
	packed, levels := page[head:], h.repetition+h.definition
	codec := int(b.Codec & blockCodec)
	if levels > h.packed || levels > h.unpacked {
		return nil, damaged
	}
	if h.kind == pageData2 && h.plain {
		codec = codecNone
	}
	raw, err := inflate(nil, codec, packed[levels:], h.unpacked-levels)
	if err != nil {
		return nil, err
	}
	if h.kind == pageData && b.Codec&blockLevels != 0 {
		if len(raw) < 4 || int64(little32(raw)) > int64(len(raw)-4) {
			return nil, damaged
		}
		raw = raw[4+little32(raw):]
	}

	n, ok := deltaCount(raw)
	if !ok || int64(n) > h.values {
		return nil, damaged
	}
	var p prefixed
	if size, ok := p.read(raw, n); !ok || size != b.Size {
		return nil, damaged
	}
	before := len(dst)
	for i, prefix := range p.prefixes {
		at := len(dst)
		dst = append(dst, dst[before:before+int(prefix)]...)
		dst = append(dst, p.bytes[:p.suffixes[i]]...)
		p.bytes = p.bytes[p.suffixes[i]:]
		before = at
	}
	return dst, nil
}

// deltaCount is how many numbers are said to follow.
func deltaCount(b []byte) (int, bool) {
	var v uint64
	for range 3 {
		n := 0
		if v, n = binary.Uvarint(b); n <= 0 {
			return 0, false
		}
		b = b[n:]
	}
	return int(min(v, 1<<31)), true
}
