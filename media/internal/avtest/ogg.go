package avtest

import "encoding/binary"

// Page makes a page of Ogg of zeros, number 0 at time 0, with these flags and the given
// laces.
func Page(flags byte, serial uint32, laces ...byte) []byte {
	n := 0
	for _, l := range laces {
		n += int(l)
	}
	p := append([]byte("OggS\x00"), flags)
	p = append(p, make([]byte, 8)...)
	p = binary.LittleEndian.AppendUint32(p, serial)
	p = append(p, make([]byte, 8)...)
	p = append(append(p, byte(len(laces))), laces...)
	return SumPage(append(p, make([]byte, n)...))
}

// SumPage writes the checksum of a page into it, bit by bit.
func SumPage(page []byte) []byte {
	clear(page[22:26])
	sum := uint32(0)
	for _, c := range page {
		sum ^= uint32(c) << 24
		for range 8 {
			top := sum >> 31
			sum = sum<<1 ^ top*0x04C11DB7
		}
	}
	binary.LittleEndian.PutUint32(page[22:], sum)
	return page
}
