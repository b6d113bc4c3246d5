package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"

	"headrace/sample"
	"headrace/shard"
	"headrace/shard/index"
	"headrace/tensor"
)

// A list of numbers is one value of a sample, an array whose length is open. Its numbers
// have to follow each other in the space of unpacked bytes, whichever way they are
// encoded. So a page of such a column is one block, which unpacks to its numbers alone,
// and so is the dictionary that it refers to. A row that reaches over pages is a range of
// several blocks.

// Kinds of blocks, in the highest bits of their codec. Those of lists have the codec of
// the page beside it, and how its numbers are stored.
const (
	blockKind       = 3 << 6
	blockList       = 1 << 6 // of a page
	blockDictionary = 2 << 6
	blockRefers     = 3 << 6 // of a page with indexes into the last dictionary before it
)

// number is how the numbers of a list are stored, and how they come out.
type number struct {
	size   int  // that comes out
	stored int  // bytes; 0: bits
	float  bool // not stored as differences
}

// numbers are told apart by three bits of a codec.
var numbers = [8]number{{size: 1}, {size: 1, stored: 4}, {size: 2, stored: 4}, {size: 2, stored: 2, float: true},
	{size: 4, stored: 4}, {size: 4, stored: 4, float: true}, {size: 8, stored: 8}, {size: 8, stored: 8, float: true}}

// ofList has a column be a list, if its elements are numbers.
func (c *column) ofList() {
	switch {
	case c.refused != "":
	case c.isNumber():
		c.list = true
	default:
		c.refused = "it is a list of text or bytes, and only lists of numbers have a place in a batch"
	}
}

func (c *column) listType() sample.Type { return sample.TensorType(c.dtype, tensor.Unknown) }

// listPage makes a block of a page of a list column, and finds the lists that are in it.
func (r *chunkReader) listPage(packed []byte) error {
	h := &r.header
	if h.kind == pageData && h.levels != encodingRLE {
		r.c.refused = "its definition levels are encoded as " + encodingName(h.levels)
		return nil
	}
	if h.unpacked > mostUnpacked(h.packed) {
		return r.wrong("a page of %d bytes is said to unpack to %d", h.packed, h.unpacked)
	}
	p, err := splitPage(r.unpacked[:0], h, r.codec, packed)
	if err != nil {
		return r.failed(err)
	}
	if p.memory != nil {
		r.unpacked = p.memory
	}

	n, ok := int(h.values), false
	if r.ids, _, ok = hybrid(r.ids[:0], p.repetition, 1, n); !ok {
		return r.wrong("a page's repetition levels are damaged")
	}
	present, err := r.levels(p.definition, n)
	if err != nil {
		return err
	}
	num := numbers[r.c.number]
	at := r.space
	for i, again := range r.ids {
		level := int(r.present[i])
		if again == 0 {
			s := span{at: at}
			if level < r.c.empty {
				s.at = -1
			}
			r.into.spans = append(r.into.spans, s)
		}
		switch last := len(r.into.spans) - 1; {
		case last < 0:
			return r.wrong("a page begins within a row")
		case level == r.c.levels:
			r.into.spans[last].n += int64(num.size)
			at += int64(num.size)
		case level > r.c.empty:
			r.c.refused = fmt.Sprintf("the list in row %d of a row group has an element without a value (null): fill it when you write the file", last)
			return nil
		case again != 0:
			return r.wrong("an empty list has elements")
		}
	}
	if present == 0 {
		return nil
	}

	kind := blockList
	if h.encoding == encodingRLEDictionary || h.encoding == encodingPlainDictionary {
		if kind = blockRefers; !r.hasDict {
			return r.wrong("a page refers to a dictionary, and there is none")
		}
	}
	r.flat, err = num.append(r.flat[:0], h.encoding, p.values, present, r.dictNumbers)
	if errors.Is(err, shard.ErrUnsupported) {
		return r.unsupported(h.encoding)
	}
	if err != nil {
		return r.failed(err)
	}
	r.listBlock(kind, len(r.flat))
	return nil
}

// listDictionary makes a block of the dictionary of a list column.
func (r *chunkReader) listDictionary(packed []byte) error {
	raw, err := r.unpack(packed, r.header.unpacked)
	if err != nil {
		return err
	}
	if r.header.values > 8*int64(len(raw)) {
		return r.wrong("a dictionary of %d bytes is said to have %d values", len(raw), r.header.values)
	}
	num := numbers[r.c.number]
	if r.dictNumbers, err = num.append(nil, encodingPlain, raw, int(r.header.values), nil); err != nil {
		return r.failed(err)
	}
	r.hasDict = true
	r.listBlock(blockDictionary, len(r.dictNumbers))
	return nil
}

// listBlock makes a block of the page at hand, with its header.
func (r *chunkReader) listBlock(kind, size int) {
	codec := uint32(kind | r.c.number<<3 | r.codec)
	r.found.Block(index.Block{At: r.head, Len: r.at - r.head + r.header.packed, Size: int64(size), Codec: codec})
	r.space += int64(size)
}

func (r *chunkReader) failed(err error) error {
	return &shard.Error{Shard: r.f.Name(), At: r.at, Err: fmt.Errorf("column %s: a page: %w", r.c.name, err)}
}

// pageParts are those of a page of a list column.
type pageParts struct {
	repetition, definition, values []byte
	memory                         []byte // of what was unpacked
}

// splitPage unpacks a page into dst.
func splitPage(dst []byte, h *pageHeader, codec int, packed []byte) (p pageParts, err error) {
	levels := int64(0)
	if h.kind == pageData2 {
		if levels = h.repetition + h.definition; levels > int64(len(packed)) || levels > h.unpacked {
			return p, fmt.Errorf("%w: %d bytes of levels are more than it has", shard.ErrCorrupt, levels)
		}
		p.repetition, p.definition = packed[:h.repetition], packed[h.repetition:levels]
		if h.plain {
			codec = codecNone
		}
	}
	if size := h.unpacked - levels; size > 0 || int64(len(packed)) > levels {
		if p.memory, err = inflate(dst, codec, packed[levels:], size); err != nil {
			return p, err
		}
	}
	p.values = p.memory
	if h.kind == pageData {
		for _, into := range []*[]byte{&p.repetition, &p.definition} {
			if len(p.values) < 4 || int64(little32(p.values)) > int64(len(p.values)-4) {
				return p, fmt.Errorf("%w: it ends before its levels", shard.ErrCorrupt)
			}
			n := 4 + little32(p.values)
			*into, p.values = p.values[4:n], p.values[n:]
		}
	}
	return p, nil
}

// append appends n numbers, as they come out.
func (k number) append(dst []byte, encoding int, b []byte, n int, dictionary []byte) ([]byte, error) {
	short := fmt.Errorf("%w: it ends before its %d numbers", shard.ErrCorrupt, n)
	switch {
	case encoding == encodingRLEDictionary || encoding == encodingPlainDictionary:
		if len(b) == 0 {
			return dst, short
		}
		ids, _, ok := hybrid(nil, b[1:], int(b[0]), n)
		if !ok {
			return dst, short
		}
		for _, id := range ids {
			at := int64(id) * int64(k.size)
			if at >= int64(len(dictionary)) {
				return dst, fmt.Errorf("%w: it refers past the end of its dictionary", shard.ErrCorrupt)
			}
			dst = append(dst, dictionary[at:at+int64(k.size)]...)
		}
	case k.stored == 0:
		return k.appendBools(dst, encoding, b, n)
	case encoding == encodingPlain || encoding == encodingSplit:
		if len(b)/k.stored < n {
			return dst, short
		}
		step, next := k.stored, 1
		if encoding == encodingSplit {
			step, next = 1, len(b)/k.stored
		}
		if encoding == encodingPlain && k.size == k.stored {
			return append(dst, b[:n*k.size]...), nil
		}
		for i := range n {
			for j := range k.size {
				dst = append(dst, b[i*step+j*next])
			}
		}
	case encoding == encodingDelta && !k.float:
		all, _, ok := deltas(nil, b, n)
		if !ok {
			return dst, short
		}
		for _, v := range all {
			var word [8]byte
			binary.LittleEndian.PutUint64(word[:], uint64(v))
			dst = append(dst, word[:k.size]...)
		}
	default:
		return dst, fmt.Errorf("%w: %s", shard.ErrUnsupported, encodingName(encoding))
	}
	return dst, nil
}

func (number) appendBools(dst []byte, encoding int, b []byte, n int) ([]byte, error) {
	short := fmt.Errorf("%w: it ends before its %d numbers", shard.ErrCorrupt, n)
	switch encoding {
	case encodingPlain:
		if len(b) < (n+7)/8 {
			return dst, short
		}
		for i := range n {
			dst = append(dst, b[i/8]>>(i%8)&1)
		}
	case encodingRLE:
		if len(b) < 4 || int64(little32(b)) > int64(len(b)-4) {
			return dst, short
		}
		bits, _, ok := hybrid(nil, b[4:][:little32(b)], 1, n)
		if !ok {
			return dst, short
		}
		for _, v := range bits {
			dst = append(dst, byte(v))
		}
	default:
		return dst, fmt.Errorf("%w: %s", shard.ErrUnsupported, encodingName(encoding))
	}
	return dst, nil
}

// Refers implements [shard.Referring].
func (Format) Refers(b index.Block) bool { return b.Codec&blockKind == blockRefers }

// Target implements [shard.Referring].
func (Format) Target(b index.Block) bool { return b.Codec&blockKind == blockDictionary }

// UnpackWith implements [shard.Referring]: it unpacks a page whose numbers are in a
// dictionary.
func (Format) UnpackWith(dst []byte, b index.Block, page, dictionary []byte) ([]byte, error) {
	damaged := fmt.Errorf("%w: a page of a list", shard.ErrCorrupt)
	h, head, err := readHeader(page)
	if err != nil || h.packed != int64(len(page)-head) || h.unpacked > mostUnpacked(h.packed) {
		return nil, damaged
	}
	num, codec := numbers[b.Codec>>3&7], int(b.Codec&7)
	if b.Codec&blockKind == blockDictionary {
		raw, err := inflate(nil, codec, page[head:], h.unpacked)
		if err != nil {
			return nil, err
		}
		return num.append(dst, encodingPlain, raw, int(b.Size)/num.size, nil)
	}
	p, err := splitPage(nil, &h, codec, page[head:])
	if err != nil {
		return nil, err
	}
	return num.append(dst, h.encoding, p.values, int(b.Size)/num.size, dictionary)
}
