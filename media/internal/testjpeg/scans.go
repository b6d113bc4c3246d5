package testjpeg

import "math/bits"

// ManyScans writes a gray image of one color in so many progressive scans, up to 505:
// each refines a single coefficient of all blocks, by nothing, in a few bytes.
func ManyScans(width, height, scans int) []byte {
	blocks := divideUp(width, 8) * divideUp(height, 8)
	b := []byte{0xFF, 0xD8, 0xFF, 0xDB, 0, 67, 0}
	for range 64 {
		b = append(b, 1)
	}
	b = append(b, 0xFF, 0xC2, 0, 11, 8, byte(height>>8), byte(height), byte(width>>8), byte(width), 1, 1, 0x11, 0)
	b = append(b, 0xFF, 0xC4, 0, 20, 0x00, 1) // one code of one bit: no difference
	b = append(append(b, make([]byte, 15)...), 0)
	b = append(b, 0xFF, 0xC4, 0, 34, 0x10, 0, 0, 0, 15) // 15 codes of four bits: runs of blocks that end
	b = append(b, make([]byte, 12)...)
	for i := range byte(15) {
		b = append(b, i<<4)
	}
	b = append(b, 0xFF, 0xDA, 0, 8, 1, 1, 0x00, 0, 0, 0)
	b = append(b, make([]byte, blocks/8)...)
	b = append(b, byte(0xFF>>(blocks%8)))

	const steps = 8 // that a coefficient comes in
	for n := range scans - 1 {
		k, low := byte(1+n/steps), byte(steps-1-n%steps)
		high := low + 1
		if n%steps == 0 {
			high = 0
		}
		b = append(b, 0xFF, 0xDA, 0, 8, 1, 1, 0x00, k, k, high<<4|low)
		b = append(b, ends(blocks)...)
	}
	return append(b, 0xFF, 0xD9)
}

// ends says that so many blocks have nothing more.
func ends(blocks int) []byte {
	var w bitWriter
	for blocks > 0 {
		size := min(bits.Len(uint(blocks))-1, 14)
		run := min(blocks, 1<<(size+1)-1)
		w.put(uint64(size), 4)
		w.put(uint64(run-1<<size), size)
		blocks -= run
	}
	w.flush()
	return w.out
}
