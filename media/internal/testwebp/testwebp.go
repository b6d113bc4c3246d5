// Package testwebp writes WebP files that no encoder writes.
package testwebp

import "encoding/binary"

// ManyGroups is a black lossless image of side × side pixels, at most 1,024, each of
// whose blocks of 4 × 4 has prefix codes of its own.
func ManyGroups(side int) []byte {
	w := writer{}
	w.bits(uint(side-1), 14)
	w.bits(uint(side-1), 14)
	w.bits(0, 1+3) // no alpha; the version
	w.bits(0, 1)   // no transform
	w.bits(0, 1)   // no cache of colors
	w.bits(1, 1)   // blocks with codes of their own
	w.bits(0, 3)   // of 4 × 4

	n := ((side + 3) / 4) * ((side + 3) / 4)
	w.bits(0, 1) // no cache of colors
	w.flat()     // green
	w.flat()     // red
	for range 3 {
		w.only()
	}
	for i := range n {
		w.code(i & 0xFF)
		w.code(i >> 8)
	}

	for range 5 * n {
		w.only()
	}

	image := append([]byte{0x2F}, w.data...)
	image = append(image, make([]byte, 8+len(image)&1)...)
	file := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(12+len(image)))
	file = binary.LittleEndian.AppendUint32(append(file, "WEBPVP8L"...), uint32(len(image)))
	return append(file, image...)
}

type writer struct {
	data []byte
	used int
}

func (w *writer) bits(v uint, n int) {
	for i := range n {
		if w.used%8 == 0 {
			w.data = append(w.data, 0)
		}
		w.data[w.used/8] |= byte(v>>i&1) << (w.used % 8)
		w.used++
	}
}

// only writes a code of one symbol, 0.
func (w *writer) only() { w.bits(1, 4) }

// flat writes a code in which 256 symbols have 8 bits each, and those beyond none.
func (w *writer) flat() {
	w.bits(0, 1)
	w.bits(12-4, 4) // lengths of codes of lengths: the twelfth is that of 8
	for range 11 {
		w.bits(0, 3)
	}
	w.bits(1, 3)
	w.bits(1, 1)
	w.bits(3, 3) // the number of lengths has 8 bits
	w.bits(256-2, 8)
}

// code writes a symbol of such a code, from the top.
func (w *writer) code(symbol int) {
	for i := 7; i >= 0; i-- {
		w.bits(uint(symbol>>i&1), 1)
	}
}
