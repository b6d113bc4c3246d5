package parquet

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// hybrid appends n numbers of a width in bits to dst, which are runs of one number and
// runs of packed ones. False: the runs end early, or make no sense.
func hybrid(dst []uint32, b []byte, width, n int) ([]uint32, bool) {
	if width > 32 {
		return dst, false
	}
	at := 0
	for n > 0 {
		head, k := binary.Uvarint(b[at:])
		if k <= 0 {
			return dst, false
		}
		at += k
		if head&1 == 0 {
			size := (width + 7) / 8
			if head>>1 == 0 || len(b)-at < size {
				return dst, false
			}
			v := uint32(0)
			for i := range size {
				v |= uint32(b[at+i]) << (8 * i)
			}
			at += size
			run := min(uint64(n), head>>1)
			dst = slices.Grow(dst, int(run))
			for range run {
				dst = append(dst, v)
			}
			n -= int(run)
			continue
		}

		// Eight numbers take as many bytes as one has bits. A writer may leave the rest
		// of its last eight away.
		groups := head >> 1
		if groups == 0 {
			return dst, false
		}
		run := n
		if groups < uint64(n+7)/8 {
			run = int(groups) * 8
		}
		if need := (run*width + 7) / 8; len(b)-at < need {
			return dst, false
		}
		dst = unpackBits(dst, b[at:], width, run)
		n -= run
		if skip := groups * uint64(width); skip > uint64(len(b)-at) {
			at = len(b)
		} else {
			at += int(skip)
		}
	}
	return dst, true
}

// unpackBits appends n numbers of a width in bits, of which b has the bytes.
func unpackBits(dst []uint32, b []byte, width, n int) []uint32 {
	mask := uint64(1)<<width - 1
	if width == 0 {
		return append(dst, make([]uint32, n)...)
	}

	first := len(dst)
	dst = slices.Grow(dst, n)[:first+n]
	to, bit := dst[first:], 0
	for i := range to[:min(n, max(0, len(b)-7)*8/width)] { // eight bytes can be read of all these
		to[i] = uint32(binary.LittleEndian.Uint64(b[bit/8:]) >> (bit % 8) & mask)
		bit += width
	}

	var end [8]byte // and zeros after it
	for ; bit < n*width; bit += width {
		clear(end[copy(end[:], b[bit/8:]):])
		to[bit/width] = uint32(binary.LittleEndian.Uint64(end[:]) >> (bit % 8) & mask)
	}
	return dst
}

// definitionLevels appends n levels up to top, and counts those at the top, which have a
// value.
func definitionLevels(dst []uint32, b []byte, top, n int) (levels []uint32, present int, ok bool) {
	levels, ok = hybrid(dst, b, bitsFor(top), n)
	for _, l := range levels[len(dst):] {
		if int(l) == top {
			present++
		}
	}
	return levels, present, ok
}

// bitsFor is how many bits levels up to top take.
func bitsFor(top int) int { return bits.Len(uint(top)) }
