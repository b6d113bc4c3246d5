package parquet

import (
	"encoding/binary"
	"fmt"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/internal/textlist"
)

// mostTexts is how many bytes of text a page can have.
const mostTexts = 1 << 30

var errTexts = fmt.Errorf("a page has more than %d bytes of text when its dictionary is filled in", mostTexts)

// appendTexts appends n texts as a stream, which has at most so many bytes.
func appendTexts(dst []byte, encoding int, b []byte, n int, dictionary []byte, most int64) ([]byte, error) {
	short := fmt.Errorf("%w: it ends before its %d texts", shard.ErrCorrupt, n)
	if n == 0 {
		return dst, nil
	}
	switch encoding {
	case encodingPlain:
		at := 0
		for range n {
			if len(b)-at < 4 || int64(little32(b[at:])) > int64(len(b)-at-4) {
				return dst, short
			}
			at += 4 + int(little32(b[at:]))
		}
		return append(dst, b[:at]...), nil
	case encodingRLEDictionary, encodingPlainDictionary:
		if len(b) == 0 {
			return dst, short
		}
		ids, ok := hybrid(nil, b[1:], int(b[0]), n)
		if !ok {
			return dst, short
		}
		return appendNamed(dst, ids, dictionary, most)
	case encodingDeltaLength:
		lengths, at, ok := deltas(nil, b, n)
		if !ok {
			return dst, short
		}
		for b = b[at:]; len(lengths) > 0; lengths = lengths[1:] {
			size := lengths[0]
			if size < 0 || size > int64(len(b)) {
				return dst, short
			}
			dst = textlist.AppendText(dst, b[:size])
			b = b[size:]
		}
		return dst, nil
	case encodingDeltaBytes:
		var p prefixed
		size, ok := p.read(b, n)
		if !ok {
			return dst, short
		}
		if size+4*int64(n) > most {
			return dst, errTexts
		}
		before := len(dst)
		for i, prefix := range p.prefixes {
			at, n := len(dst)+4, p.suffixes[i]
			dst = textlist.AppendText(dst, dst[before:before+int(prefix)])
			dst, p.bytes = append(dst, p.bytes[:n]...), p.bytes[n:]
			binary.LittleEndian.PutUint32(dst[at-4:], uint32(prefix+n))
			before = at
		}
		return dst, nil
	}
	return dst, fmt.Errorf("%w: %s", shard.ErrUnsupported, encodingName(encoding))
}

// appendNamed appends texts of a dictionary.
func appendNamed(dst []byte, ids []uint32, dictionary []byte, most int64) ([]byte, error) {
	var ends []int
	for at := 0; at < len(dictionary); {
		if len(dictionary)-at < 4 || int64(little32(dictionary[at:])) > int64(len(dictionary)-at-4) {
			return dst, fmt.Errorf("%w: its dictionary", shard.ErrCorrupt)
		}
		at += 4 + int(little32(dictionary[at:]))
		ends = append(ends, at)
	}
	size := int64(0)
	for _, id := range ids {
		if int64(id) >= int64(len(ends)) {
			return dst, fmt.Errorf("%w: it refers past the end of its dictionary", shard.ErrCorrupt)
		}
		begin := 0
		if id > 0 {
			begin = ends[id-1]
		}
		if size += int64(ends[id] - begin); size > most {
			return dst, errTexts
		}
		dst = append(dst, dictionary[begin:ends[id]]...)
	}
	return dst, nil
}
