package parquet

import "encoding/binary"

// Type is what a column has. Rows have its values as PLAIN has them: numbers with their
// lowest byte first.
type Type struct {
	physical  int64
	converted int64 // -1: none
	bits      int64 // of whole numbers, if they have a sign or fewer bits than the physical type
	signed    bool
	size      int // of a value; 0: each has its own
}

// Types of columns. Whole numbers of fewer than 32 bits come as 4 bytes, truth values as
// one.
var (
	Bool    = Type{physical: 0, converted: -1, size: 1}
	Int8    = Type{1, 15, 8, true, 4}
	Int16   = Type{1, 16, 16, true, 4}
	Int32   = Type{1, 17, 32, true, 4}
	Int64   = Type{2, 18, 64, true, 8}
	Uint8   = Type{1, 11, 8, false, 4}
	Uint16  = Type{1, 12, 16, false, 4}
	Uint32  = Type{1, 13, 32, false, 4}
	Uint64  = Type{2, 14, 64, false, 8}
	Float32 = Type{physical: 4, converted: -1, size: 4}
	Float64 = Type{physical: 5, converted: -1, size: 8}
	Bytes   = Type{physical: 6, converted: -1}
	Text    = Type{physical: 6, converted: 0}
)

// Size returns the bytes of a value; 0: each has its own length.
func (y Type) Size() int { return y.size }

// Column is one by its name, or by those of the groups that it is in and its own.
type Column struct {
	Path []string
	Type Type
}

// pages are what a column has of a row group.
type pages struct {
	Column
	plain  []byte // of the page that grows
	values int    // in it
	bits   byte   // of truth values, of which the page has not eight yet

	done     []byte // pages that are complete
	unpacked int64  // bytes of these before they were compressed
}

// pageBytes is how long pages become: 1 MiB, as those of other writers.
const pageBytes = 1 << 20

func (p *pages) add(value []byte, scratch *scratch) {
	switch {
	case p.Type == Bool:
		if p.bits |= value[0] & 1 << (p.values % 8); p.values%8 == 7 {
			p.plain, p.bits = append(p.plain, p.bits), 0
		}
	case p.Type.size == 0:
		n := len(value)
		p.plain = append(p.plain, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
		fallthrough
	default:
		p.plain = append(p.plain, value...)
	}
	if p.values++; len(p.plain) >= pageBytes {
		p.end(scratch)
	}
}

// scratch is memory for a page, which all columns use.
type scratch struct{ page, packed, fragment []byte }

// end completes a page.
func (p *pages) end(s *scratch) {
	if p.values == 0 {
		return
	}
	if p.Type == Bool && p.values%8 != 0 {
		p.plain = append(p.plain, p.bits)
	}

	// Before the values are their levels: one run, for none is null.
	run := append(binary.AppendUvarint(nil, uint64(p.values)<<1), byte(len(p.Path)))
	s.page = append(append(binary.LittleEndian.AppendUint32(s.page[:0], uint32(len(run))), run...), p.plain...)
	page, packed := s.page, s.page
	if p.codec() == codecSnappy {
		packed = s.snappy(page)
	}

	before := len(p.done)
	var h thrift
	h.number(1, kindI32, pageData)
	h.number(2, kindI32, int64(len(page)))
	h.number(3, kindI32, int64(len(packed)))
	h.group(5, func() {
		h.number(1, kindI32, int64(p.values))
		h.number(2, kindI32, encodingPlain)
		h.number(3, kindI32, encodingRLE) // of levels
		h.number(4, kindI32, encodingRLE)
	})
	p.done = append(append(append(p.done, h.b...), 0), packed...)
	p.unpacked += int64(len(p.done) - before - len(packed) + len(page))
	p.plain, p.values, p.bits = p.plain[:0], 0, 0
}

func (p *pages) codec() int64 {
	if p.Type == Bytes {
		return codecNone
	}
	return codecSnappy
}
