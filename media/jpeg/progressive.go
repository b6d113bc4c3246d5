//go:build cgo

package jpeg

// #include "header.h"
import "C"

import (
	"bytes"
	"encoding/binary"
)

// What a coefficient misses of its bits: none of them were in a scan yet, or so many are
// still to come.
const nothing = -1

// passes reads the scans of a picture that has several: the first begins at h.c.scan
// and has this header, T.81 G.1.1. It reports false for whatever is not in every usual
// picture, and where coefficients do not come whole: then libjpeg guesses them.
func (h *header) passes(src, first []byte) bool {
	c := &h.c
	var missing [C.HJ_COMPONENTS][64]int8
	for i := range missing {
		for k := range missing[i] {
			missing[i][k] = nothing
		}
	}

	at, scan := int(c.scan), first
	for c.passes = 0; ; {
		if c.passes == C.HJ_PASSES || !h.pass(&c.pass[c.passes], scan, &missing) {
			return false
		}
		pass := &c.pass[c.passes]
		c.passes++
		pass.at, pass.restart = C.int32_t(at), c.restart
		at = marker(src, at)
		pass.end = C.int32_t(at)

		var ok bool
		if scan, at, ok = h.between(src, at); !ok {
			return false
		}
		if scan == nil {
			break
		}
	}
	for i := range int(c.components) {
		if missing[i] != [64]int8{} {
			return false
		}
	}
	return true
}

// marker finds the first that is none of restarts.
func marker(src []byte, at int) int {
	for {
		i := bytes.IndexByte(src[at:], 0xFF)
		if i < 0 || len(src)-at-i < 2 {
			return len(src)
		}
		at += i
		if next := src[at+1]; next != 0 && (next < rst0 || next >= soi) {
			return at
		}
		at += 2
	}
}

// between reads the segments up to the next scan, and returns its header, and where its
// data begin; no header at the end of the picture.
func (h *header) between(src []byte, at int) (scan []byte, next int, ok bool) {
	for {
		if len(src)-at < 2 {
			return nil, 0, false
		}
		marker := src[at+1]
		if marker == eoi {
			return nil, 0, true
		}
		if len(src)-at < 4 {
			return nil, 0, false
		}
		size := int(binary.BigEndian.Uint16(src[at+2:]))
		if size < 2 || len(src)-at-2 < size {
			return nil, 0, false
		}
		body := src[at+4 : at+2+size]
		at += 2 + size
		switch marker {
		case sos:
			return body, at, true
		case dht, dri:
			if !h.segment(marker, body) {
				return nil, 0, false
			}
		case com:
		default:
			return nil, 0, false
		}
		if at >= len(src) || src[at] != 0xFF {
			return nil, 0, false
		}
	}
}

// pass reads the header of a scan, B.2.3 and G.1.1.1.
func (h *header) pass(p *C.hj_pass, b []byte, missing *[C.HJ_COMPONENTS][64]int8) bool {
	c := &h.c
	if len(b) < 6 || int(b[0]) == 0 || int(b[0]) > int(c.components) || len(b) != 4+2*int(b[0]) {
		return false
	}
	n := int(b[0])
	if n != 1 && n != int(c.components) {
		return false
	}
	from, to, high, low := b[1+2*n], b[2+2*n], b[3+2*n]>>4, b[3+2*n]&15
	if !h.isProgressive {
		return h.sequentialPass(p, b, missing)
	}
	isDC := from == 0
	switch {
	case isDC != (to == 0), // DC comes alone
		from > to, to > 63,
		!isDC && n != 1,                     // AC comes for one component
		high != 0 && high != low+1, low > 5: // a pass refines by one bit
		return false
	}
	p.components = C.uint8_t(n)
	p.from, p.to, p.high, p.low = C.uint8_t(from), C.uint8_t(to), C.uint8_t(high), C.uint8_t(low)

	for i := range n {
		component := bytes.IndexByte(h.ids[:c.components], b[1+2*i])
		dc, ac := b[2+2*i]>>4, b[2+2*i]&15
		switch {
		case component < 0,
			n > 1 && component != i, // several are in the order of the frame
			dc > 3, ac > 3,
			!h.quantised[c.quantised[component]]: // a table that did not come
			return false
		}
		p.component[i] = C.uint8_t(component)
		switch {
		case isDC && high == 0:
			if !h.coded[dc] {
				return false
			}
			p.code[i] = c.dc_code[dc]
		case !isDC:
			if !h.codedAC[ac] || missing[component][0] == nothing {
				return false
			}
			p.code[i] = c.ac_code[ac]
		}
		for k := from; k <= to; k++ {
			was := int8(nothing)
			if high > 0 {
				was = int8(high)
			}
			if missing[component][k] != was {
				return false
			}
			missing[component][k] = int8(low)
		}
	}
	return true
}

// sequentialPass reads the header of a scan that has all of a component.
func (h *header) sequentialPass(p *C.hj_pass, b []byte, missing *[C.HJ_COMPONENTS][64]int8) bool {
	c := &h.c
	component := bytes.IndexByte(h.ids[:c.components], b[1])
	if b[0] != 1 || !bytes.Equal(b[3:], []byte{0, 63, 0}) || component < 0 || missing[component][0] != nothing {
		return false
	}
	dc, ac := b[2]>>4, b[2]&15
	if dc > 3 || ac > 3 {
		return false
	}
	if tables := h.coded[dc] && h.codedAC[ac] && h.quantised[c.quantised[component]]; !tables {
		return false
	}
	missing[component] = [64]int8{}
	p.components, p.component[0] = 1, C.uint8_t(component)
	p.from, p.to, p.high, p.low = 0, 63, 0, 0
	p.code[0], p.code[1] = c.dc_code[dc], c.ac_code[ac]
	return true
}
