package parquet

// In pages of DELTA_BYTE_ARRAY a value says how much of the one before it begins with.
// Such a page is one block, of which the values come out one after the other.

// deltaBytes takes the values of such a page, which is unpacked in raw.
func (r *chunkReader) deltaBytes(raw []byte, skip, n int) error {
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
	r.pageBlock(size, codec)
	return nil
}
