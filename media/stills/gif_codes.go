package stills

import (
	"fmt"

	"github.com/headrace/headrace/media"
)

// codes reads the indexes of a GIF's frame: codes of growing width (LZW), the lower bits
// of a byte first, in blocks.
//
// compress/lzw has no initial codes of 1 bit or over 8, which some encoders write and
// other programs read. A literal over 255 means its lower 8 bits, as in Pillow.
type codes struct {
	blocks blocks
	bits   uint   // of a literal
	buffer uint32 // bits that were read and are not yet used, and how many
	held   uint

	clear, end uint16 // the codes that mean: forget all strings; no more pixels
	next       uint16 // the code that the next string gets
	width      uint   // of a code
	last       uint16 // the code before this one, or none

	prefix [maxCodes]uint16 // of each string: the string before its last index,
	suffix [maxCodes]byte   // and that index

	// What was decoded and found no place in a row, from its end on.
	waiting [maxCodes]byte
	at      int
}

const (
	maxWidth = 12
	maxCodes = 1 << maxWidth
	none     = 1<<16 - 1
)

// newCodes reads what begins with the width of a literal.
func newCodes(data []byte) (*codes, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("%w: gif ends before its pixels", media.ErrTruncated)
	}
	bits := uint(data[0])
	if bits < 1 || bits >= maxWidth {
		return nil, fmt.Errorf("%w: gif with codes of %d bits", media.ErrCorrupt, bits)
	}
	c := &codes{blocks: blocks{data: data[1:]}, bits: bits, clear: 1 << bits, end: 1<<bits + 1, at: maxCodes}
	c.forget()
	return c, nil
}

func (c *codes) forget() {
	c.next, c.width, c.last = c.end+1, c.bits+1, none
}

// fill decodes a row.
func (c *codes) fill(row []byte) error {
	for {
		n := copy(row, c.waiting[c.at:])
		c.at += n
		if row = row[n:]; len(row) == 0 {
			return nil
		}

		code, err := c.code()
		switch {
		case err != nil:
			return err
		case code == c.clear:
			c.forget()
		case code == c.end:
			return errEnds
		default:
			if err := c.string(code); err != nil {
				return err
			}
		}
	}
}

func (c *codes) code() (uint16, error) {
	for c.held < c.width {
		b, err := c.blocks.next()
		if err != nil {
			return 0, errEnds
		}
		c.buffer |= uint32(b) << c.held
		c.held += 8
	}
	code := uint16(c.buffer & (1<<c.width - 1))
	c.buffer >>= c.width
	c.held -= c.width
	return code, nil
}

// string has what a code stands for wait, and remembers a new string: the one before,
// and the first index of this one.
func (c *codes) string(code uint16) error {
	from := code
	switch {
	case c.last == none && code > c.clear, code > c.next:
		return errCodes
	case code == c.next:
		// The string that is remembered below: it ends in its own first index.
		from = c.last
		c.at--
	}

	// A string has its last index first. It is shorter than the table, which has no
	// circles, because a string is made of an older one.
	for from > c.clear {
		c.at--
		c.waiting[c.at] = c.suffix[from]
		from = c.prefix[from]
	}
	c.at--
	c.waiting[c.at] = byte(from)
	if code == c.next {
		c.waiting[maxCodes-1] = byte(from)
	}

	if c.last != none && c.next < maxCodes {
		c.prefix[c.next], c.suffix[c.next] = c.last, byte(from)
		if c.next++; c.next == 1<<c.width && c.width < maxWidth {
			c.width++
		}
	}
	c.last = code
	return nil
}

var errCodes = fmt.Errorf("%w: gif with a code that means nothing", media.ErrCorrupt)
var errEnds = fmt.Errorf("%w: gif ends before its last pixel", media.ErrTruncated)

// blocks reads what is in blocks, each after its length, up to an empty one.
type blocks struct {
	data []byte
	left int // of the block that is being read
}

// next is the next byte. The end of the blocks and that of the file are the same to a
// frame that needs more.
func (b *blocks) next() (byte, error) {
	for b.left == 0 {
		if len(b.data) == 0 || b.data[0] == 0 {
			return 0, errEnds
		}
		b.left = int(b.data[0])
		b.data = b.data[1:]
	}
	if len(b.data) == 0 {
		return 0, errEnds
	}
	v := b.data[0]
	b.data, b.left = b.data[1:], b.left-1
	return v, nil
}
