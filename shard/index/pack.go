package index

import (
	"encoding/binary"
	"math/bits"
)

// Numbers of a group are packed: the least of them, how many bits the others have more,
// and these bits. What is read is not trusted: a cursor that has run out of bytes is bad,
// and gives zeros.

// packed is a list of numbers that was written by appendPacked.
type packed struct {
	least int64
	width uint
	bits  []byte // with slack bytes after it
}

// slack is how many bytes are readable after packed bits, so that eight bytes can be
// read anywhere.
const slack = 8

// at returns number i of the list.
func (p *packed) at(i int) int64 {
	if p.width == 0 {
		return p.least
	}
	bit := uint(i) * p.width
	b := p.bits[bit>>3:]
	v := binary.LittleEndian.Uint64(b) >> (bit & 7)
	if have := 64 - bit&7; have < p.width {
		v |= uint64(b[8]) << have
	}
	return p.least + int64(v&(1<<p.width-1))
}

// all sets dst to the numbers of the list from one on.
func (p *packed) all(dst []int64, from int) {
	if p.width == 0 {
		for k := range dst {
			dst[k] = p.least
		}
		return
	}
	if p.width > 56 { // a number and the bits before it may take nine bytes
		for k := range dst {
			dst[k] = p.at(from + k)
		}
		return
	}
	mask := uint64(1)<<p.width - 1
	for k, bit := 0, uint(from)*p.width; k < len(dst); k, bit = k+1, bit+p.width {
		dst[k] = p.least + int64(binary.LittleEndian.Uint64(p.bits[bit>>3:])>>(bit&7)&mask)
	}
}

// appendPacked writes numbers.
func appendPacked(dst []byte, numbers []int64) []byte {
	least, most := numbers[0], numbers[0]
	for _, v := range numbers {
		least, most = min(least, v), max(most, v)
	}
	width := uint(bits.Len64(uint64(most - least)))
	dst = binary.AppendVarint(dst, least)
	dst = append(dst, byte(width))

	var word uint64
	var have uint
	for _, v := range numbers {
		u := uint64(v - least)
		word |= u << have
		if have+width >= 64 {
			dst = binary.LittleEndian.AppendUint64(dst, word)
			word = 0
			if have > 0 {
				word = u >> (64 - have)
			}
			have = have + width - 64
		} else {
			have += width
		}
	}
	for ; have > 0; have -= min(have, 8) {
		dst = append(dst, byte(word))
		word >>= 8
	}
	return dst
}

// cursor reads what was written.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) fail() { c.b, c.bad = nil, true }

func (c *cursor) uvarint() uint64 {
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.fail()
		return 0
	}
	c.b = c.b[n:]
	return v
}

func (c *cursor) varint() int64 {
	v, n := binary.Varint(c.b)
	if n <= 0 {
		c.fail()
		return 0
	}
	c.b = c.b[n:]
	return v
}

// count reads how many there are of what takes at least a byte each.
func (c *cursor) count() int {
	n := c.uvarint()
	if n > uint64(len(c.b)) {
		c.fail()
		return 0
	}
	return int(n)
}

func (c *cursor) bytes(n int) []byte {
	if n < 0 || n > len(c.b) {
		c.fail()
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

// text reads bytes with their count before them.
func (c *cursor) text() []byte { return c.bytes(c.count()) }

func appendText[T []byte | string](dst []byte, text T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// packed reads n numbers that appendPacked has written.
func (c *cursor) packed(n int) (p packed) {
	p.least = c.varint()
	width := c.bytes(1)
	if c.bad || width[0] > 64 {
		c.fail()
		return packed{}
	}
	p.width = uint(width[0])
	size := (uint64(n)*uint64(p.width) + 7) / 8
	if size+slack > uint64(len(c.b)) {
		c.fail()
		return packed{}
	}
	p.bits = c.b[:size+slack]
	c.b = c.b[size:]
	return p
}
