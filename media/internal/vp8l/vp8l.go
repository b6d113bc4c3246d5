// Package vp8l reads as much of a lossless WebP image as tells how much memory decoding
// it takes.
package vp8l

// Needs is what a lossless image asks of its decoder.
type Needs struct {
	Groups int // of five prefix codes each
	Cache  int // colors in the cache, which are symbols of the first code
}

// longest is how long a code may be, in bits.
const longest = 15

// The smallest group has five codes of 4 bits: one symbol, which is 0.
const groupBits = 5 * 4

// Read returns the needs of an image of that size, whose data begin with its
// transforms. Data that end before its codes need nothing: a decoder stops there, too.
//
// The image is cut into blocks, and another image says which group of codes is the
// block's. A file of some 100 KB can ask for 65,536 of them, which are 1 GiB for an
// image of 1,024 × 1,024. Where copies of pixels come from is of no interest for that:
// no group is the largest that was not the largest before.
func Read(data []byte, width, height int) Needs {
	r := reader{data: data}
	for seen := 0; r.bits(1) != 0; {
		kind := r.bits(2)
		if seen&(1<<kind) != 0 || r.ended() {
			return Needs{}
		}
		seen |= 1 << kind
		switch kind {
		case 0, 1: // what neighbours or other channels predict
			block := int(r.bits(3)) + 2
			r.image(blocks(width, block), blocks(height, block))
		case 3: // a palette; several indexes share a pixel
			colors := int(r.bits(8)) + 1
			r.image(colors, 1)
			switch {
			case colors <= 2:
				width = blocks(width, 3)
			case colors <= 4:
				width = blocks(width, 2)
			case colors <= 16:
				width = blocks(width, 1)
			}
		}
	}

	n := Needs{Groups: 1, Cache: r.cache()}
	if r.bits(1) != 0 {
		block := int(r.bits(3)) + 2
		n.Groups = r.image(blocks(width, block), blocks(height, block)) + 1
	}
	if r.ended() {
		return Needs{}
	}
	n.Groups = min(n.Groups, (8*len(data)-r.at)/groupBits+1)
	return n
}

// blocks is how many blocks of 1<<bits pixels cover n.
func blocks(n, bits int) int { return (n + 1<<bits - 1) >> bits }

// reader reads bits, the lowest of each byte first. After the end are zeros.
type reader struct {
	data []byte
	at   int // in bits
}

func (r *reader) ended() bool { return r.at > 8*len(r.data) }

func (r *reader) bits(n int) (v uint) {
	for i := range n {
		if at := r.at + i; at < 8*len(r.data) {
			v |= uint(r.data[at>>3]>>(at&7)&1) << i
		}
	}
	r.at += n
	return v
}

// cache reads how many colors are in the cache.
func (r *reader) cache() int {
	if r.bits(1) == 0 {
		return 0
	}
	return 1 << r.bits(4)
}

// image skips an image that belongs to another one, and returns the largest number that
// red and green of a pixel make.
func (r *reader) image(width, height int) (largest int) {
	cache := r.cache()
	var codes [5]code // green, lengths of copies, and places in the cache; red, blue, alpha; distances of copies
	for i, n := range [5]int{256 + 24 + cache, 256, 256, 256, 40} {
		codes[i] = r.code(n)
	}
	left := width * height
	if codes[0].only() && codes[1].only() && codes[2].only() && codes[3].only() {
		left = 1 // all pixels are the same, and have no bits
	}
	for left > 0 && !r.ended() {
		green := codes[0].next(r)
		switch {
		case green < 256:
			red := codes[1].next(r)
			codes[2].next(r)
			codes[3].next(r)
			largest = max(largest, red<<8|green)
			left--
		case green < 256+24:
			left -= r.number(green - 256)
			r.number(codes[4].next(r))
		default:
			left--
		}
	}
	return largest
}

// number reads the bits that belong to the symbol of a length or a distance.
func (r *reader) number(symbol int) int {
	if symbol < 4 {
		return symbol + 1
	}
	extra := (symbol - 2) >> 1
	return (2+symbol&1)<<extra + int(r.bits(extra)) + 1
}

// code is a canonical prefix code: how many symbols have each length, and which, in the
// order of their codes.
type code struct {
	count   [longest + 1]int
	symbols []uint16
}

// codeOf makes a code of the lengths of its symbols; 0: the symbol does not occur.
func codeOf(lengths []uint8) (c code) {
	for _, n := range lengths {
		c.count[n]++
	}
	c.count[0] = 0
	var at [longest + 1]int
	for n := 1; n < longest; n++ {
		at[n+1] = at[n] + c.count[n]
	}
	c.symbols = make([]uint16, at[longest]+c.count[longest])
	for symbol, n := range lengths {
		if n > 0 {
			c.symbols[at[n]] = uint16(symbol)
			at[n]++
		}
	}
	return c
}

// only reports whether there is one symbol.
func (c *code) only() bool { return len(c.symbols) <= 1 }

// next reads a symbol. The only one of a code takes no bits.
func (c *code) next(r *reader) int {
	if c.only() {
		for _, only := range c.symbols {
			return int(only)
		}
		return 0
	}
	value, first, at := 0, 0, 0
	for n := 1; n <= longest; n++ {
		value |= int(r.bits(1))
		if value-first < c.count[n] {
			return int(c.symbols[at+value-first])
		}
		at += c.count[n]
		first = (first + c.count[n]) << 1
		value <<= 1
	}
	return 0 // no decoder takes a code with gaps
}

// order is that in which the lengths of a code of lengths come.
var order = [19]uint8{17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

// code reads a code of n symbols.
func (r *reader) code(n int) code {
	lengths := make([]uint8, max(n, 256))
	if r.bits(1) != 0 { // one symbol or two
		two, wide := r.bits(1) != 0, r.bits(1) != 0
		first := r.bits(1)
		if wide {
			first |= r.bits(7) << 1
		}
		lengths[first] = 1
		if two {
			lengths[r.bits(8)] = 1
		}
		return codeOf(lengths)
	}

	var own [19]uint8
	for i := range min(int(r.bits(4))+4, len(own)) {
		own[order[i]] = uint8(r.bits(3))
	}
	left := n
	if r.bits(1) != 0 {
		left = 2 + int(r.bits(2+2*int(r.bits(3))))
	}
	of, before := codeOf(own[:]), uint8(8)
	for at := 0; at < n && left > 0 && !r.ended(); left-- {
		length, times := uint8(0), 1
		switch symbol := of.next(r); symbol {
		case 16:
			length, times = before, 3+int(r.bits(2))
		case 17:
			times = 3 + int(r.bits(3))
		case 18:
			times = 11 + int(r.bits(7))
		default:
			length = uint8(symbol)
			if length > 0 {
				before = length
			}
		}
		for ; times > 0 && at < n; times-- {
			lengths[at] = length
			at++
		}
	}
	return codeOf(lengths)
}
