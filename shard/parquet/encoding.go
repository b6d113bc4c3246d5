package parquet

import (
	"math"
	"slices"

	"github.com/headrace/headrace/tensor"
)

// decode appends n values to dst, which are in b, and b begins at a place of the space of
// unpacked bytes.
func (r *chunkReader) decode(dst *values, encoding int, b []byte, from int64, n int) error {
	switch r.c.meaning {
	case asInt:
		return r.decodeInts(dst, encoding, b, n)
	case asFloat:
		return r.decodeFloats(dst, encoding, b, n)
	}
	switch {
	case encoding == encodingPlain && r.c.kind == typeBytes:
		return r.plainBytes(dst, b, from, n)
	case encoding == encodingPlain:
		return r.plainFixed(dst, b, from, n)
	case encoding == encodingDeltaLength && r.c.kind == typeBytes:
		return r.deltaLengths(dst, b, from, n)
	}
	return r.unsupported(encoding)
}

func (r *chunkReader) endsEarly(i, n int) error {
	return r.wrong("a page ends in value %d of %d", i, n)
}

func (r *chunkReader) plainBytes(dst *values, b []byte, from int64, n int) error {
	at := 0
	for i := range n {
		if len(b)-at < 4 {
			return r.endsEarly(i, n)
		}
		size := int64(little32(b[at:]))
		at += 4
		if size > int64(len(b)-at) {
			return r.wrong("value %d of a page has %d bytes, and %d are left", i, size, len(b)-at)
		}
		dst.spans = append(dst.spans, span{from + int64(at), size})
		at += int(size)
	}
	return nil
}

func (r *chunkReader) plainFixed(dst *values, b []byte, from int64, n int) error {
	size := r.c.length
	if len(b)/size < n {
		return r.endsEarly(len(b)/size, n)
	}
	for i := range n {
		dst.spans = append(dst.spans, span{from + int64(i*size), int64(size)})
	}
	return nil
}

func (r *chunkReader) deltaLengths(dst *values, b []byte, from int64, n int) error {
	lengths, at, ok := deltas(r.lengths[:0], b, n)
	if r.lengths = lengths; !ok {
		return r.wrong("a page's lengths are damaged")
	}
	for i, size := range lengths {
		if size < 0 || size > int64(len(b)-at) {
			return r.wrong("value %d of a page has %d bytes, and %d are left", i, size, len(b)-at)
		}
		dst.spans = append(dst.spans, span{from + int64(at), size})
		at += int(size)
	}
	return nil
}

func (r *chunkReader) decodeInts(dst *values, encoding int, b []byte, n int) error {
	if r.c.kind == typeBoolean {
		return r.decodeBools(dst, encoding, b, n)
	}
	switch r.c.kind {
	case typeInt96, typeFixed, typeBytes:
		return r.decodeWide(dst, encoding, b, n)
	}
	size, first := r.c.width(), len(dst.ints)
	if encoding == encodingDelta {
		var ok bool
		if dst.ints, _, ok = deltas(dst.ints, b, n); !ok {
			return r.wrong("a page's numbers are damaged")
		}
		if size == 4 { // the sum of differences overflows as 32 bits do
			for i, v := range dst.ints[first:] {
				dst.ints[first+i] = int64(int32(v))
			}
		}
	} else {
		at, err := r.numbers(encoding, b, size, n)
		if err != nil || at == nil {
			return err
		}
		dst.ints = slices.Grow(dst.ints, n)
		for i := range n {
			v := int64(at(i))
			if size == 4 {
				v = int64(int32(v))
			}
			dst.ints = append(dst.ints, v)
		}
	}

	if r.c.unsigned && size == 4 {
		for i, v := range dst.ints[first:] {
			dst.ints[first+i] = int64(uint32(v))
		}
	}
	return nil
}

func (r *chunkReader) decodeBools(dst *values, encoding int, b []byte, n int) error {
	switch encoding {
	case encodingPlain:
		if len(b) < (n+7)/8 {
			return r.endsEarly(8*len(b), n)
		}
		for i := range n {
			dst.ints = append(dst.ints, int64(b[i/8]>>(i%8)&1))
		}
	case encodingRLE:
		if len(b) < 4 || int64(little32(b)) > int64(len(b)-4) {
			return r.endsEarly(0, n)
		}
		var ok bool
		if r.ids, ok = hybrid(r.ids[:0], b[4:][:little32(b)], 1, n); !ok {
			return r.wrong("a page's booleans are damaged")
		}
		for _, v := range r.ids {
			dst.ints = append(dst.ints, int64(v))
		}
	default:
		return r.unsupported(encoding)
	}
	return nil
}

func (r *chunkReader) decodeFloats(dst *values, encoding int, b []byte, n int) error {
	size := r.c.width()
	at, err := r.numbers(encoding, b, size, n)
	if err != nil || at == nil {
		return err
	}
	dst.floats = slices.Grow(dst.floats, n)
	for i := range n {
		v := at(i)
		switch {
		case r.c.half:
			dst.floats = append(dst.floats, float64(tensor.FromFloat16(uint16(v))))
		case size == 4:
			dst.floats = append(dst.floats, float64(math.Float32frombits(uint32(v))))
		default:
			dst.floats = append(dst.floats, math.Float64frombits(v))
		}
	}
	return nil
}

// numbers returns the bits of each of n values; nil: their encoding is refused.
func (r *chunkReader) numbers(encoding int, b []byte, size, n int) (func(i int) uint64, error) {
	if encoding != encodingPlain && encoding != encodingSplit {
		return nil, r.unsupported(encoding)
	}
	if len(b)/size < n {
		return nil, r.endsEarly(len(b)/size, n)
	}
	step, next := size, 1
	if encoding == encodingSplit { // the first bytes of all values, then the second ones
		step, next = 1, len(b)/size
	}
	return func(i int) (v uint64) {
		for k := range size {
			v |= uint64(b[i*step+k*next]) << (8 * k)
		}
		return v
	}, nil
}
