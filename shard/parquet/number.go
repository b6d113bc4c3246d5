package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/tensor"
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

// append appends n numbers, as they come out.
func (k number) append(dst []byte, encoding int, b []byte, n int, dictionary []byte) ([]byte, error) {
	short := fmt.Errorf("%w: it ends before its %d numbers", shard.ErrCorrupt, n)
	switch {
	case encoding == encodingRLEDictionary || encoding == encodingPlainDictionary:
		if len(b) == 0 {
			return dst, short
		}
		ids := idsOfPages.Get().(*[]uint32)
		defer idsOfPages.Put(ids)
		var ok bool
		if *ids, ok = hybrid((*ids)[:0], b[1:], int(b[0]), n); !ok {
			return dst, short
		}
		if dst, ok = k.look(dst, *ids, dictionary); !ok {
			return dst, fmt.Errorf("%w: it refers past the end of its dictionary", shard.ErrCorrupt)
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

// idsOfPages is memory for the ids of a page's numbers in a dictionary.
var idsOfPages = sync.Pool{New: func() any { return new([]uint32) }}

// look appends numbers of a dictionary; false: it has too few.
func (k number) look(dst []byte, ids []uint32, dictionary []byte) ([]byte, bool) {
	before := len(dst)
	dst = slices.Grow(dst, len(ids)*k.size)[:before+len(ids)*k.size]
	to := dst[before:]
	switch k.size {
	case 4: // as token ids most often are
		return dst, chosen(wordsOf[uint32](to), ids, wordsOf[uint32](dictionary))
	case 8:
		return dst, chosen(wordsOf[uint64](to), ids, wordsOf[uint64](dictionary))
	}
	for i, id := range ids {
		if int64(id) >= int64(len(dictionary)/k.size) {
			return dst[:before], false
		}
		copy(to[i*k.size:][:k.size], dictionary[int(id)*k.size:])
	}
	return dst, true
}

// chosen sets words to those of a dictionary; false: it has too few.
func chosen[T uint32 | uint64](to []T, ids []uint32, dictionary []T) bool {
	to = to[:len(ids)]
	for i, id := range ids {
		if uint64(id) >= uint64(len(dictionary)) {
			return false
		}
		to[i] = dictionary[id]
	}
	return true
}

// wordsOf is memory as words; an incomplete one at its end does not count.
func wordsOf[T uint32 | uint64](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(T))))
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
		bits, ok := hybrid(nil, b[4:][:little32(b)], 1, n)
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

// missing is NaN.
func (k number) missing() []byte {
	switch k.size {
	case 2:
		return binary.LittleEndian.AppendUint16(nil, tensor.ToFloat16(index.Missing))
	case 4:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(index.Missing)))
	}
	return binary.LittleEndian.AppendUint64(nil, math.Float64bits(index.Missing))
}
