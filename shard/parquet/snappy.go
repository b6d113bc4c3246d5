package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/headrace/headrace/shard"

	"github.com/klauspost/compress/s2"
)

// fragment is how many bytes encoders of Snappy work in. It is a habit and no part of the
// format: whether a page was made so is found out.
const fragment = 64 << 10

// storedFrom is the length from which bytes that did not compress become a block of their
// own, which is read in place.
const storedFrom = 4 << 10

// piece is a range of what Snappy has packed that needs no bytes before it.
type piece struct {
	from, to int // packed
	size     int
	stored   bool
}

// snappyElement is a run of bytes as they are, or a copy of earlier ones.
type snappyElement struct {
	from, to int // packed
	data     int // packed: where bytes are as they are; 0: it is a copy
	at, end  int // unpacked
	source   int // of a copy, unpacked
}

// pieces splits a page, of which it is known that it can be unpacked. Where a fragment
// reaches into the one before, the page is one piece. The memory is used again.
func pieces(packed []byte, memory *[]snappyElement) []piece {
	size, head := binary.Uvarint(packed)
	whole := []piece{{from: head, to: len(packed), size: int(size)}}
	if size <= storedFrom {
		return whole
	}
	var found []piece
	elements := (*memory)[:0]
	defer func() { *memory = elements }()
	start, out := 0, 0
	for at := head; at < len(packed); {
		e, ok := nextElement(packed, at, out)
		if !ok || e.data == 0 && e.source < start || e.end > start+fragment {
			return whole
		}
		elements = append(elements, e)
		at, out = e.to, e.end
		if out == start+fragment || at == len(packed) {
			found = split(found, elements)
			elements, start = elements[:0], out
		}
	}
	if out != int(size) {
		return whole
	}
	return found
}

func nextElement(packed []byte, at, out int) (e snappyElement, ok bool) {
	tag := packed[at]
	e.from, e.at = at, out

	n, length, offset := 0, 0, 0
	switch tag & 3 {
	case 0:
		length, n = int(tag>>2)+1, 1
		if extra := length - 60; extra > 0 { // 60 and more say how many bytes the length has
			if len(packed)-at < 1+extra {
				return e, false
			}
			length = 0
			for i := range extra {
				length |= int(packed[at+1+i]) << (8 * i)
			}
			length++
			n = 1 + extra
		}
		e.data = at + n
		n += length
	case 1:
		if len(packed)-at < 2 {
			return e, false
		}
		length, offset, n = int(tag>>2&7)+4, int(tag>>5)<<8|int(packed[at+1]), 2
	case 2:
		if len(packed)-at < 3 {
			return e, false
		}
		length, offset, n = int(tag>>2)+1, int(binary.LittleEndian.Uint16(packed[at+1:])), 3
	default:
		if len(packed)-at < 5 {
			return e, false
		}
		length, offset, n = int(tag>>2)+1, int(binary.LittleEndian.Uint32(packed[at+1:])), 5
	}
	e.to, e.end, e.source = at+n, out+length, out-offset
	return e, e.to <= len(packed)
}

// split appends the pieces of a fragment: runs that did not compress and to which nothing
// refers, and what is between them.
func split(found []piece, all []snappyElement) []piece {
	last := all[len(all)-1]
	rest := piece{from: all[0].from, to: last.to, size: last.end - all[0].at}
	if !slices.ContainsFunc(all, snappyElement.long) {
		return append(found, rest)
	}

	// An element can be cut off from those before it where no copy from there on refers
	// to what is before it.
	cut := make([]bool, len(all)+1)
	cut[len(all)] = true
	reach := last.end
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].data == 0 {
			reach = min(reach, all[i].source)
		}
		cut[i] = reach >= all[i].at
	}
	begin := 0
	flush := func(end int) {
		if end > begin {
			found = append(found, piece{from: all[begin].from, to: all[end-1].to, size: all[end-1].end - all[begin].at})
		}
	}
	for i, e := range all {
		if e.long() && cut[i] && cut[i+1] {
			flush(i)
			found = append(found, piece{from: e.data, to: e.to, size: e.end - e.at, stored: true})
			begin = i + 1
		}
	}
	flush(len(all))
	return found
}

func (e snappyElement) long() bool { return e.data > 0 && e.end-e.at >= storedFrom }

// unpackPiece unpacks a piece. The decoder needs a length in front, and gets one.
func unpackPiece(dst []byte, packed []byte, size int) ([]byte, error) {
	p, _ := scratches.Get().(*[]byte)
	if p == nil {
		p = new([]byte)
	}
	defer scratches.Put(p)
	*p = append(binary.AppendUvarint((*p)[:0], uint64(size)), packed...)
	from := len(dst)
	dst = slices.Grow(dst, size)
	out, err := s2.Decode(dst[from:from+size], *p)
	if err == nil && len(out) != size {
		err = errors.New("it unpacks to another size")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: Snappy: %w", shard.ErrCorrupt, err)
	}
	return dst[:from+size], nil
}

var scratches sync.Pool
