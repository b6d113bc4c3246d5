package stills

import (
	"encoding/binary"
	"fmt"

	"github.com/headrace/headrace/media"
)

// decodeGIF has a reader of its own because image/gif forgets the colour under a
// transparent pixel, and refuses frames that reach beyond the canvas. The probe has
// walked the same way already.
func decodeGIF(dst media.Pixels, src []byte, info *media.Info) error {
	var p palette
	p.greys()
	rest, err := p.table(src[13:], src[10])
	if err != nil {
		return err
	}
	transparent := -1
	for {
		switch rest[0] {
		case '!':
			if len(rest) >= 7 && rest[1] == 0xF9 && rest[2] >= 4 && rest[3]&1 != 0 {
				transparent = int(rest[6])
			}
			for rest = rest[2:]; rest[0] != 0; { // the probe found the end of all blocks up to the frame
				rest = rest[1+int(rest[0]):]
			}
			rest = rest[1:]
		case ',':
			return p.frame(dst, rest[1:], transparent)
		default:
			rest = rest[1:]
		}
	}
}

// table reads colours, if flags announce them.
func (p *palette) table(data []byte, flags byte) (rest []byte, err error) {
	if flags&0x80 == 0 {
		return data, nil
	}
	n := 1 << (flags&7 + 1)
	if len(data) < 3*n {
		return nil, fmt.Errorf("%w: gif ends within its colours", media.ErrTruncated)
	}
	p.black()
	for i := range n {
		copy(p.rgba[i][:3], data[3*i:])
	}
	return data[3*n:], nil
}

// frame decodes a frame, which begins with its place, onto the canvas.
func (p *palette) frame(dst media.Pixels, data []byte, transparent int) error {
	at := func(i int) int { return int(binary.LittleEndian.Uint16(data[i:])) }
	left, top, width, height, flags := at(0), at(2), at(4), at(6), data[8]

	data, err := p.table(data[9:], flags)
	if err != nil {
		return err
	}

	background := byte(0)
	if transparent >= 0 {
		p.rgba[transparent][3] = 0
		background = byte(transparent)
	}
	line := make([]byte, dst.Width)
	for i := range line {
		line[i] = background
	}

	c, err := newCodes(data)
	if err != nil {
		return err
	}

	for n := range height {
		if err := c.fill(line[left:][:width]); err != nil {
			return fmt.Errorf("%w (row %d of %d)", err, n, height)
		}
		y := n
		if flags&0x40 != 0 {
			y = interlaced(n, height)
		}
		p.row(dst, top+y, line)
	}

	for i := range line {
		line[i] = background
	}
	for y := range dst.Height {
		if y < top || y >= top+height {
			p.row(dst, y, line)
		}
	}
	return nil
}

// interlaced is where the n-th row of an image belongs whose rows come in four passes:
// every eighth, those between, and so on.
func interlaced(n, height int) int {
	for _, pass := range [...]struct{ from, step int }{{0, 8}, {4, 8}, {2, 4}} {
		rows := (height - pass.from + pass.step - 1) / pass.step
		if n < rows {
			return pass.from + n*pass.step
		}
		n -= max(rows, 0)
	}
	return 1 + 2*n
}
