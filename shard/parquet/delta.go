package parquet

import (
	"encoding/binary"
)

// deltas appends numbers that are stored as differences, want of them, and returns how
// many bytes they took; false: they end early, or are another number of them.
func deltas(dst []int64, b []byte, want int) ([]int64, int, bool) {
	at := 0
	next := func() uint64 {
		v, n := binary.Uvarint(b[at:])
		if n <= 0 {
			at, b = 0, nil
			return 0
		}
		at += n
		return v
	}
	size := next()
	minis := next()
	total := next()
	v := zigzag(next())
	switch {
	case b == nil, total != uint64(want),
		minis == 0, minis > 1<<16, size%minis != 0:
		return dst, 0, false
	}
	each := size / minis
	if each == 0 || each%8 != 0 || each > 1<<20 {
		return dst, 0, false
	}
	if want == 0 {
		return dst, at, true
	}

	dst = append(dst, v)
	for left := want - 1; left > 0; {
		least := zigzag(next())
		if b == nil || uint64(len(b)-at) < minis {
			return dst, 0, false
		}
		widths := b[at:][:minis]
		at += int(minis)
		for _, width := range widths {
			if left == 0 {
				break // what has no numbers has no bytes, but a width
			}
			n := min(left, int(each))
			used := int(each) * int(width) / 8
			if width > 64 || len(b)-at < (n*int(width)+7)/8 {
				return dst, 0, false
			}
			wide := bitReader{b: b[at:]}
			for range n {
				v += least + int64(wide.take(int(width)))
				dst = append(dst, v)
			}
			at = min(at+used, len(b))
			left -= n
		}
	}
	return dst, at, true
}

func zigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// bitReader takes numbers of up to 64 bits. There are as many as are taken.
type bitReader struct {
	b    []byte
	at   int
	have uint64
	left int
}

func (r *bitReader) take(width int) uint64 {
	if width > 32 {
		low := r.take(32)
		return low | r.take(width-32)<<32
	}
	for r.left < width {
		r.have |= uint64(r.b[r.at]) << r.left
		r.at++
		r.left += 8
	}
	v := r.have & (1<<width - 1)
	r.have >>= width
	r.left -= width
	return v
}
