package parquet

import (
	"encoding/binary"
	"fmt"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/internal/textlist"
)

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
	if b.Codec&blockTexts != 0 {
		return unpackTexts(dst, b, &h, page[head:], dictionary)
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
	if top := int(b.Codec >> levelsShift & 255); top > 0 {
		return num.withNulls(dst, &h, p, top, int(b.Codec>>elementShift), dictionary)
	}
	return num.append(dst, h.encoding, p.values, int(b.Size)/num.size, dictionary)
}

// withNulls appends the numbers of a page, and NaN for elements without a value.
func (k number) withNulls(dst []byte, h *pageHeader, p pageParts, top, element int, dictionary []byte) ([]byte, error) {
	levels, present, ok := definitionLevels(nil, p.definition, top, int(min(h.values, mostLevels)))
	if !ok {
		return nil, fmt.Errorf("%w: its levels", shard.ErrCorrupt)
	}

	flat, err := k.append(nil, h.encoding, p.values, present, dictionary)
	if err != nil {
		return nil, err
	}
	for _, l := range levels {
		switch {
		case int(l) == top:
			dst, flat = append(dst, flat[:k.size]...), flat[k.size:]
		case int(l) >= element:
			dst = append(dst, k.missing()...)
		}
	}
	return dst, nil
}

// unpackTexts unpacks such a page, or a dictionary.
func unpackTexts(dst []byte, b index.Block, h *pageHeader, page, dictionary []byte) ([]byte, error) {
	codec := int(b.Codec & 7)
	if b.Codec&blockKind == blockDictionary {
		raw, err := inflate(nil, codec, page, h.unpacked)
		if err != nil {
			return nil, err
		}
		return appendTexts(dst, encodingPlain, raw, int(min(h.values, int64(len(raw)))), nil, b.Size)
	}
	p, err := splitPage(nil, h, codec, page)
	if err != nil {
		return nil, err
	}
	top, inner := int(b.Codec>>levelsShift&255), int(b.Codec>>innerShift&255)
	levels, present, ok := definitionLevels(nil, p.definition, top, int(min(h.values, mostLevels)))
	if !ok {
		return nil, fmt.Errorf("%w: its levels", shard.ErrCorrupt)
	}
	gaps := b.Codec&blockGaps != 0
	if inner == 0 && !gaps {
		return appendTexts(dst, h.encoding, p.values, present, dictionary, b.Size)
	}

	flat, err := appendTexts(nil, h.encoding, p.values, present, dictionary, b.Size)
	if err != nil {
		return nil, err
	}
	var again []uint32
	if inner > 0 {
		if again, ok = hybrid(nil, p.repetition, bitsFor(textlist.MostAxes), len(levels)); !ok {
			return nil, fmt.Errorf("%w: its levels", shard.ErrCorrupt)
		}
	}
	for i, l := range levels {
		if inner > 0 && again[i] < 2 && int(l) >= inner {
			dst = textlist.AppendMark(dst, 1)
		}
		switch {
		case int(l) == top:
			n := 4 + little32(flat)
			dst, flat = append(dst, flat[:n]...), flat[n:]
		case gaps && int(l) == top-1: // a text that can be null adds one level
			dst = textlist.AppendText(dst, "")
		}
	}
	return dst, nil
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

// Unpack unpacks a page, or a piece of one.
func (Format) Unpack(dst []byte, b index.Block, page []byte) ([]byte, error) {
	switch {
	case b.Codec&blockKind != 0:
		return Format{}.UnpackWith(dst, b, page, nil)
	case b.Codec&blockDelta != 0:
		return unpackDelta(dst, b, page)
	case b.Codec == codecSnappy:
		return unpackPiece(dst, page, int(b.Size))
	}
	return inflate(dst, int(b.Codec), page, b.Size)
}
