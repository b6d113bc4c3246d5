package parquet

import (
	"errors"

	"github.com/headrace/headrace/shard"
)

// Lists of text are blocks as lists of numbers are, which unpack to streams of
// [textlist]. A list in a list begins with a mark, so that the levels are walked again
// when a page is unpacked.

// A block of such lists has in its codec the definition level of a value, as blocks of
// numbers have, of lists in lists that of an inner list, and whether texts are null: an
// element that is null is the empty text, and a list in a list the empty list.
const (
	blockTexts = 1 << 24
	blockGaps  = 1 << 25
	innerShift = elementShift
)

// textPage makes a block of a page of a column of lists of text. Its levels were read.
func (r *chunkReader) textPage(p pageParts, present int) error {
	h, kind := &r.header, blockList
	if h.encoding == encodingRLEDictionary || h.encoding == encodingPlainDictionary {
		if kind = blockRefers; !r.hasDict {
			return r.wrong("a page refers to a dictionary, and there is none")
		}
	}
	var err error
	r.flat, err = appendTexts(r.flat[:0], h.encoding, p.values, present, r.dictNumbers, mostTexts)
	if errors.Is(err, errTexts) {
		r.c.refused = err.Error()
		return nil
	}
	if errors.Is(err, shard.ErrUnsupported) {
		return r.unsupported(h.encoding)
	}
	if err != nil {
		return r.failed(err)
	}

	deep := len(r.c.lists)
	outer, element, inner := r.c.lists[0], r.c.lists[deep-1], r.c.inner()
	at, left, gaps := r.space, r.flat, 0
	for i, again := range r.ids {
		level := int(r.present[i])
		if int(again) > deep || again > 0 && level < r.c.lists[again-1] {
			return r.wrong("a page's repetition levels are damaged")
		}
		if again == 0 {
			s := span{at: at}
			if level < outer-1 {
				s.at = -1
			}
			r.into.spans = append(r.into.spans, s)
		}
		last := len(r.into.spans) - 1
		if last < 0 {
			return r.wrong("a page begins within a row")
		}
		row, size := &r.into.spans[last], int64(0)
		if again < 2 && inner > 0 && level >= inner {
			size += 4
		}
		switch {
		case level == r.c.levels:
			n := 4 + int64(little32(left))
			left, size = left[n:], size+n
		case level >= element:
			size += 4
			gaps = blockGaps
		}
		at += size
		row.n += size
	}
	if at == r.space {
		return nil
	}
	r.listBlock(kind, int(at-r.space), blockTexts|gaps|r.c.levels<<levelsShift|inner<<innerShift)
	return nil
}

// inner is the definition level of a list in a list; 0: there are none.
func (c *column) inner() int {
	if len(c.lists) < 2 {
		return 0
	}
	return c.lists[0]
}
