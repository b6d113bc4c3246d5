package parquet

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace/shard"
)

// A list of numbers is one value of a sample, an array whose length is open, and so is a
// list of text. Its elements have to follow each other in the space of unpacked bytes,
// whichever way they are encoded. So a page of such a column is one block, which unpacks
// to its elements alone, and so is the dictionary that it refers to. A row that reaches
// over pages is a range of several blocks.

// Kinds of blocks, in the highest bits of their codec. Those of lists have the codec of
// the page beside it, and how its numbers are stored.
const (
	blockKind       = 3 << 6
	blockList       = 1 << 6 // of a page
	blockDictionary = 2 << 6
	blockRefers     = 3 << 6 // of a page with indexes into the last dictionary before it

	// Of a page in which elements are null, the definition level of a value, and that of
	// an element. Elsewhere both are 0.
	levelsShift  = 8
	elementShift = 16
)

// mostLevels is how many levels a page can have when it is unpacked.
const mostLevels = 1 << 26

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
	deep := len(r.c.lists)
	if r.ids, ok = hybrid(r.ids[:0], p.repetition, bitsFor(deep), n); !ok {
		return r.wrong("a page's repetition levels are damaged")
	}
	present, err := r.levels(p.definition, n)
	if err != nil {
		return err
	}
	if r.c.meaning == asText {
		return r.textPage(p, present)
	}

	num := numbers[r.c.number]
	at := r.space
	outer, element, elements := r.c.lists[0], r.c.lists[deep-1], 0
	for i, again := range r.ids {
		level := int(r.present[i])
		if int(again) > deep {
			return r.wrong("a page's repetition levels are damaged")
		}
		if deep > 1 {
			if again > 0 && (len(r.into.spans) == 0 || r.nesting.counts[again-1] == notSeen) {
				return r.wrong("an empty list has elements")
			}
			if r.nesting.next(int(again), level); r.c.refused != "" {
				return nil
			}
		}
		if again == 0 {
			s := span{at: at}
			if level < outer-1 {
				s.at = -1
			}
			r.into.spans = append(r.into.spans, s)
		}
		switch last := len(r.into.spans) - 1; {
		case last < 0:
			return r.wrong("a page begins within a row")
		case level == r.c.levels || level >= element && num.float:
			r.into.spans[last].n += int64(num.size)
			at += int64(num.size)
			elements++
		case level >= element:
			r.c.refused = fmt.Sprintf("the list in row %d of a row group has an element without a value (null), "+
				"which only floats have (NaN): fill it when you write the file", last)
			return nil
		case again != 0 && deep == 1:
			return r.wrong("an empty list has elements")
		}
	}
	if elements == 0 {
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
	if elements == present {
		r.listBlock(kind, len(r.flat), 0)
		return nil
	}
	if r.c.levels > 255 {
		r.c.refused = "it is too deep for elements without a value (null)"
		return nil
	}
	r.listBlock(kind, elements*num.size, r.c.levels<<levelsShift|element<<elementShift)
	return nil
}

// listDictionary makes a block of the dictionary of a list column.
func (r *chunkReader) listDictionary(raw []byte) (err error) {
	if r.c.meaning == asText {
		if r.dictNumbers, err = appendTexts(nil, encodingPlain, raw, int(r.header.values), nil, mostTexts); err != nil {
			return r.failed(err)
		}
		r.listBlock(blockDictionary, len(r.dictNumbers), blockTexts)
		return nil
	}
	num := numbers[r.c.number]
	if r.dictNumbers, err = num.append(nil, encodingPlain, raw, int(r.header.values), nil); err != nil {
		return r.failed(err)
	}
	r.listBlock(blockDictionary, len(r.dictNumbers), 0)
	return nil
}

// listBlock makes a block of the page at hand.
func (r *chunkReader) listBlock(kind, size, nulls int) {
	r.pageBlock(int64(size), kind|r.c.number<<3|r.codec|nulls)
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
