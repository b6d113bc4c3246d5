//go:build cgo

package jpeg

// #include "header.h"
import "C"

import (
	"bytes"
	"encoding/binary"
)

// Markers, ITU-T T.81, table B.1.
const (
	sof0, sof1 = 0xC0, 0xC1
	sof2       = 0xC2
	dht        = 0xC4
	rst0       = 0xD0
	soi        = 0xD8
	eoi        = 0xD9
	sos        = 0xDA
	dqt        = 0xDB
	dri        = 0xDD
	app0       = 0xE0
	app14      = 0xEE
	app15      = 0xEF
	com        = 0xFE
)

// header is what C needs to know of an image.
type header struct {
	c C.hj_header

	ids                     [C.HJ_COMPONENTS]byte
	quantised, coded        [4]bool // tables that were defined, of the second DC and AC
	codedAC                 [4]bool
	framed, isJFIF, isAdobe bool
	isProgressive           bool
	transform               byte // Adobe's
}

// read reads the segments before the scan. It reports false for whatever is not in every
// usual image: libjpeg-turbo knows better then.
func (h *header) read(src []byte) bool {
	h.quantised, h.coded, h.codedAC = [4]bool{}, [4]bool{}, [4]bool{}
	h.framed, h.isJFIF, h.isAdobe = false, false, false
	h.c.restart, h.c.passes, h.isProgressive = 0, 0, false
	if len(src) < 4 || src[0] != 0xFF || src[1] != soi {
		return false
	}
	for at := 2; ; {
		if len(src)-at < 4 || src[at] != 0xFF {
			return false
		}
		marker, size := src[at+1], int(binary.BigEndian.Uint16(src[at+2:]))
		if size < 2 || len(src)-at-2 < size {
			return false
		}
		body := src[at+4 : at+2+size]
		at += 2 + size
		if marker == sos {
			h.c.scan = C.int32_t(at)
			switch {
			case !h.framed || h.c.components == 3 && !h.isYCC():
				return false
			case h.isProgressive, len(body) == 6 && h.c.components > 1:
				return h.passes(src, body)
			}
			return h.scan(body)
		}
		if !h.segment(marker, body) {
			return false
		}
	}
}

func (h *header) segment(marker byte, body []byte) bool {
	switch {
	case marker == sof0 || marker == sof1 || marker == sof2:
		h.isProgressive = marker == sof2
		return !h.framed && h.frame(body)
	case marker == dqt:
		return h.quantisation(body)
	case marker == dht:
		return h.codes(body)
	case marker == dri:
		if len(body) != 2 {
			return false
		}
		h.c.restart = C.int32_t(binary.BigEndian.Uint16(body))
		return true
	case marker == app0:
		h.isJFIF = h.isJFIF || len(body) >= 14 && bytes.HasPrefix(body, []byte("JFIF\x00"))
		return true
	case marker == app14:
		if len(body) >= 12 && bytes.HasPrefix(body, []byte("Adobe")) {
			h.isAdobe, h.transform = true, body[11]
		}
		return true
	}
	return marker > app0 && marker <= app15 || marker == com
}

// frame reads SOF, B.2.2.
func (h *header) frame(b []byte) bool {
	if len(b) < 6 || b[0] != 8 {
		return false
	}
	c := &h.c
	n := int(b[5])
	c.height, c.width = C.int32_t(binary.BigEndian.Uint16(b[1:])), C.int32_t(binary.BigEndian.Uint16(b[3:]))
	c.components = C.int32_t(n)
	switch {
	case c.width == 0, c.height == 0: // DNL says the height, after the scan
		return false
	case n != 1 && n != 3, len(b) != 6+3*n:
		return false
	}

	across, down, blocks := 1, 1, 0
	for i := range n {
		x, y, q := int(b[7+3*i]>>4), int(b[7+3*i]&15), b[8+3*i]
		switch {
		case x < 1, x > 4, y < 1, y > 4, q > 3:
			return false
		}
		h.ids[i] = b[6+3*i]
		c.across[i], c.down[i], c.quantised[i] = C.uint8_t(x), C.uint8_t(y), C.uint8_t(q)
		across, down, blocks = max(across, x), max(down, y), blocks+x*y
	}
	for i := range n {
		if across%int(c.across[i]) != 0 || down%int(c.down[i]) != 0 {
			return false
		}
	}
	repeats := h.ids[0] == h.ids[1] || h.ids[1] == h.ids[2] || h.ids[0] == h.ids[2]
	switch {
	case n == 1 && blocks != 1, n == 3 && repeats:
		return false
	case blocks > C.HJ_MCU_BLOCKS:
		return false
	}
	h.framed = true
	return true
}

// quantisation reads DQT, B.2.4.1. Tables of 16 bits are for images of 12, and for very
// coarse ones.
func (h *header) quantisation(b []byte) bool {
	for ; len(b) > 0; b = b[65:] {
		id := b[0]
		if id > 3 || len(b) < 65 {
			return false
		}
		for i, step := range b[1:65] {
			if step == 0 {
				return false
			}
			h.c.quant[id][rows[i]] = C.int16_t(step)
		}
		h.quantised[id] = true
	}
	return true
}

// codes reads DHT, B.2.4.2.
func (h *header) codes(b []byte) bool {
	for len(b) > 0 {
		if len(b) < 17 || b[0]&0xEC != 0 {
			return false
		}
		id, isAC := b[0]&3, b[0]>>4 == 1
		total := 0
		for _, n := range b[1:17] {
			total += int(n)
		}
		if total > 256 || len(b) < 17+total {
			return false
		}
		code, defined := &h.c.dc_code[id], &h.coded[id]
		if isAC {
			code, defined = &h.c.ac_code[id], &h.codedAC[id]
		}
		*code, *defined = C.hj_code{}, true
		for i, n := range b[1:17] {
			code.count[i] = C.uint8_t(n)
		}
		for i, s := range b[17 : 17+total] {
			code.symbol[i] = C.uint8_t(s)
		}
		b = b[17+total:]
	}
	return true
}

// scan reads SOS, B.2.3, and looks whether there is all that it needs.
func (h *header) scan(b []byte) bool {
	c := &h.c
	n := int(c.components)
	if len(b) != 4+2*n || int(b[0]) != n || !bytes.Equal(b[1+2*n:], []byte{0, 63, 0}) {
		return false
	}
	for i := range n {
		dc, ac := b[2+2*i]>>4, b[2+2*i]&15
		switch {
		case b[1+2*i] != h.ids[i], // components are in the order of the frame
			dc > 3, ac > 3,
			!h.coded[dc], !h.codedAC[ac], !h.quantised[c.quantised[i]]: // tables that did not come
			return false
		}
		c.dc[i], c.ac[i] = C.uint8_t(dc), C.uint8_t(ac)
	}
	return true
}

// isYCC reports whether three components are Y, Cb and Cr, by the rules of libjpeg.
func (h *header) isYCC() bool {
	switch {
	case h.isJFIF:
		return true
	case h.isAdobe:
		return h.transform == 1
	}
	return string(h.ids[:]) != "RGB"
}

// rows is the place of a coefficient in a block, by its place in zigzag order, figure
// A.6.
var rows = zigzag()

func zigzag() (places [64]uint8) {
	x, y := 0, 0
	for i := range places {
		places[i] = uint8(8*y + x)
		switch up := (x+y)%2 == 0; {
		case up && x == 7, !up && y < 7 && x == 0:
			y++
		case up && y == 0, !up && y == 7:
			x++
		case up:
			x, y = x+1, y-1
		default:
			x, y = x-1, y+1
		}
	}
	return places
}
