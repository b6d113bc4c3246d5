package heads

import "encoding/binary"

// Page returns the size of the page that b begins with, as far as that is known, and
// whether all of it is there.
func Page(b []byte) (size int, whole bool) {
	if len(b) < 27 {
		return 0, false
	}
	n := 27 + int(b[26])
	if len(b) < n {
		return 0, false
	}
	size = n
	for _, lace := range b[27:n] {
		size += int(lace)
	}
	return size, b[4] == 0 && len(b) >= size
}

// oggSums are the sums of one byte, and of a byte with up to fifteen zeros after it.
var oggSums = func() (t [16][256]uint32) {
	for i := range t[0] {
		r := uint32(i) << 24
		for range 8 {
			top := r >> 31
			r = r<<1 ^ top*0x04C11DB7
		}
		t[0][i] = r
	}
	for n := 1; n < len(t); n++ {
		for i, r := range t[n-1] {
			t[n][i] = r<<8 ^ t[0][r>>24]
		}
	}
	return t
}()

// Summed reports whether a page has the checksum that it says.
func Summed(page []byte) bool { return Sum(page) == binary.LittleEndian.Uint32(page[22:]) }

// Sum returns the checksum of a page.
func Sum(page []byte) uint32 {
	head := [27]byte(page)
	clear(head[22:26]) // the sum itself counts as zeros
	return sumMore(sumMore(0, head[:]), page[len(head):])
}

// sumMore takes sixteen bytes at a time, which is several times as fast as one by one.
func sumMore(sum uint32, b []byte) uint32 {
	t := &oggSums
	for ; len(b) >= 16; b = b[16:] {
		c := (*[16]byte)(b)
		first := sum ^ binary.BigEndian.Uint32(c[:])
		sum = t[15][first>>24] ^ t[14][byte(first>>16)] ^ t[13][byte(first>>8)] ^ t[12][byte(first)] ^
			t[11][c[4]] ^ t[10][c[5]] ^ t[9][c[6]] ^ t[8][c[7]] ^
			t[7][c[8]] ^ t[6][c[9]] ^ t[5][c[10]] ^ t[4][c[11]] ^
			t[3][c[12]] ^ t[2][c[13]] ^ t[1][c[14]] ^ t[0][c[15]]
	}
	for _, c := range b {
		sum = sum<<8 ^ t[0][byte(sum>>24)^c]
	}
	return sum
}
