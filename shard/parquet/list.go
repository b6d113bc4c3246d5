package parquet

import (
	"errors"
	"fmt"
	"slices"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/internal/textlist"
	"github.com/headrace/headrace/tensor"
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

// ofList has a column be a list, if its elements are numbers or text.
func (c *column) ofList() {
	switch {
	case c.refused != "":
	case c.isNumber():
		c.list = true
	case c.meaning == asText && len(c.lists) > textlist.MostAxes:
		c.refused = fmt.Sprintf("its lists of text are %d deep, and can be %d: write it as one text, such as JSON", len(c.lists), textlist.MostAxes)
	case c.meaning == asText && c.levels > 255:
		c.refused = "it is too deep for lists of text"
	case c.meaning == asText:
		c.list = true
	default:
		c.refused = "it is a list of bytes, and only lists of numbers and of text have a place in a batch"
	}
}

// listType is the type of a list, when all were seen.
func (c *column) listType() sample.Type {
	if c.meaning == asText {
		return sample.Type{Kind: sample.Text, Shape: slices.Repeat([]int{tensor.Unknown}, len(c.lists))}
	}
	t := sample.TensorType(c.dtype, tensor.Unknown)
	for _, n := range c.shape[1:] {
		t.Shape = append(t.Shape, max(n, 0))
	}
	if n := c.fixedExtent(0); n > 0 && (c.shape[0] == n || c.shape[0] == notSeen) {
		t.Shape[0] = n
	}
	for axis := 1; axis < len(t.Shape); axis++ {
		if n := c.fixedExtent(axis); n > 0 && c.shape[axis] == notSeen {
			t.Shape[axis] = n
		}
	}
	return t
}

func (c *column) fixedExtent(axis int) int {
	if len(c.fixed) != len(c.shape) {
		return 0
	}
	return c.fixed[axis]
}

// varies marks an outermost extent that is not the same in all rows.
const varies = -2

// measured notes how many elements the lists of rows have.
func (c *column) measured(rows []span) {
	if c.fixedExtent(0) == 0 || c.meaning == asText {
		return
	}
	each := int64(numbers[c.number].size)
	for _, n := range c.shape[1:] {
		each *= int64(max(n, 1))
	}
	for _, s := range rows {
		switch n := int(s.n / each); {
		case s.at < 0:
		case c.shape[0] == notSeen:
			c.shape[0] = n
		case c.shape[0] != n:
			c.shape[0] = varies
			return
		}
	}
}

// nesting follows lists in lists through the levels of a column, which may go on from
// page to page.
type nesting struct {
	c      *column
	counts []int // elements so far, of lists that are open; notSeen: it is not
}

// close ends lists from one on.
func (n *nesting) close(from int) {
	for j := from; j < len(n.counts); j++ {
		if n.counts[j] != notSeen {
			n.long(j, n.counts[j])
		}
		n.counts[j] = notSeen
	}
}

// long notes how long a list is. Those in others have to be alike.
func (n *nesting) long(j, elements int) {
	switch have := &n.c.shape[j]; {
	case j == 0:
	case *have == notSeen:
		*have = elements
	case *have != elements && n.c.refused == "":
		n.c.refused = fmt.Sprintf("it is a list of lists of %d and of %d elements, and an array needs equally long ones", *have, elements)
	}
}

// next takes the levels of an entry.
func (n *nesting) next(repetition, definition int) {
	n.close(repetition)
	if repetition > 0 {
		n.counts[repetition-1]++
	}
	for j := repetition; j < len(n.counts); j++ {
		if definition < n.c.lists[j] {
			switch {
			case j > 0 && definition < n.c.lists[j]-1 && n.c.refused == "":
				n.c.refused = "it is a list of lists, of which some have no value (null): fill them when you write the file"
			case definition == n.c.lists[j]-1:
				n.long(j, 0)
			}
			return
		}
		n.counts[j] = 1
	}
}

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
	if r.ids, _, ok = hybrid(r.ids[:0], p.repetition, bitsFor(deep), n); !ok {
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
			r.c.refused = fmt.Sprintf("the list in row %d of a row group has an element without a value (null), which only floats have (NaN): fill it when you write the file", last)
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
func (r *chunkReader) listDictionary(packed []byte) error {
	raw, err := r.unpack(packed, r.header.unpacked)
	if err != nil {
		return err
	}
	if r.header.values > 8*int64(len(raw)) {
		return r.wrong("a dictionary of %d bytes is said to have %d values", len(raw), r.header.values)
	}
	r.hasDict = true
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

// listBlock makes a block of the page at hand, with its header.
func (r *chunkReader) listBlock(kind, size, nulls int) {
	codec := uint64(kind | r.c.number<<3 | r.codec | nulls)
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
