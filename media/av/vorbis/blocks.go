// Package vorbis knows of recordings in Vorbis what their packets do not say: how many
// samples each gives, and, in Ogg, where the recording begins and ends.
package vorbis

import "encoding/binary"

// Blocks counts the samples of packets of Vorbis, one after the other. A packet's block
// is long or short, by its mode; it gives half of its own block and of the one before,
// overlapping. The first that a decoder gets gives none.
type Blocks struct {
	sizes  [2]int
	long   []bool // by modes
	bits   int    // of a mode's number
	before int    // the size of the block before; 0: there was none
}

// NewBlocks begins with the headers of a stream, as libavcodec has them. It returns nil
// where they are none.
func NewBlocks(config []byte) *Blocks {
	h, ok := headers(config)
	if !ok {
		return nil
	}
	return blocksOf(h[0], h[2])
}

// blocksOf begins with the first header and the last.
func blocksOf(id, setup []byte) *Blocks {
	b := new(Blocks)
	var ok bool
	if b.sizes, b.long, b.bits, ok = modes(id, setup); !ok {
		return nil
	}
	return b
}

// Samples is how many of each channel the next packet gives; -1: it is damaged.
func (b *Blocks) Samples(packet []byte) (n int) {
	if len(packet) == 0 || packet[0]&1 != 0 {
		return -1
	}
	mode := int(packet[0]>>1) & (1<<b.bits - 1)
	if mode >= len(b.long) {
		return -1
	}
	size := b.sizes[0]
	if b.long[mode] {
		size = b.sizes[1]
	}
	if b.before > 0 {
		n = (b.before + size) / 4
	}
	b.before = size
	return n
}

// Unit is the largest number of which all packets give a multiple.
func (b *Blocks) Unit() int {
	if b.sizes[0] == b.sizes[1] {
		return b.sizes[0] / 2
	}
	return b.sizes[0] / 4
}

// modes reads the two sizes of blocks and which modes have long ones. Modes are at the
// end of the last header, of which nothing else has to be read: a mode is 41 bits, of
// which 32 are zeros, and 6 bits before them say how many there are.
func modes(id, setup []byte) (sizes [2]int, long []bool, bits int, ok bool) {
	if len(id) < 30 || id[0] != 1 || len(setup) < 16 || setup[0] != 5 {
		return sizes, nil, 0, false
	}
	sizes = [2]int{1 << (id[28] & 15), 1 << (id[28] >> 4)}

	r := backwards{b: setup, at: 8 * len(setup)}
	for r.at > 0 && r.bits(1) == 0 { // the frame bit, set, ends the header
	}
	found := 0
	r2 := r
	for n := 1; n <= 64 && r2.at > 97; n++ {
		if r2.bits(8) > 63 || r2.bits(16) != 0 || // mapping, transform and window
			r2.bits(16) != 0 {
			break
		}
		r2.bits(1)
		peek := r2
		if int(peek.bits(6)) == n-1 {
			found = n
		}
	}
	if found == 0 {
		return sizes, nil, 0, false
	}
	long = make([]bool, found)
	for i := range found {
		r.bits(40)
		long[found-1-i] = r.bits(1) != 0
	}
	for 1<<bits < found {
		bits++
	}
	return sizes, long, bits, true
}

// backwards reads bits from the last to the first. Numbers have their first bit lowest.
type backwards struct {
	b  []byte
	at int
}

func (r *backwards) bits(n int) (v uint64) {
	for range n {
		if r.at == 0 {
			return v << 1
		}
		r.at--
		v = v<<1 | uint64(r.b[r.at/8]>>(r.at%8)&1)
	}
	return v
}

// headers cuts the three headers apart, of which libavcodec has the lengths in Xiph's
// lacing or in two bytes each.
func headers(c []byte) (headers [3][]byte, ok bool) {
	if len(c) < 3 {
		return headers, false
	}
	if c[0] == 0 && c[1] == 30 { // two bytes each
		for i := range headers {
			if len(c) < 2 {
				return headers, false
			}
			n := int(binary.BigEndian.Uint16(c))
			if len(c)-2 < n {
				return headers, false
			}
			headers[i], c = c[2:2+n], c[2+n:]
		}
		return headers, true
	}
	if c[0] != 2 {
		return headers, false
	}
	c = c[1:]
	var sizes [2]int
	for i := range sizes {
		for {
			if len(c) == 0 {
				return headers, false
			}
			n := c[0]
			sizes[i], c = sizes[i]+int(n), c[1:]
			if n < 255 {
				break
			}
		}
	}
	if sizes[0] > len(c) || sizes[1] > len(c)-sizes[0] {
		return headers, false
	}
	return [3][]byte{c[:sizes[0]], c[sizes[0]:][:sizes[1]], c[sizes[0]+sizes[1]:]}, true
}
