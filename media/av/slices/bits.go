package slices

// bitReader reads numbers of bits, the highest first. After the end they are 0, and
// short is set.
type bitReader struct {
	b     []byte
	at    int // in bits
	short bool
}

// u returns the next n bits, 32 at most.
func (r *bitReader) u(n int) uint32 {
	v := uint32(0)
	for range n {
		if r.at>>3 >= len(r.b) {
			r.short = true
			return 0
		}
		v = v<<1 | uint32(r.b[r.at>>3]>>(7-r.at&7)&1)
		r.at++
	}
	return v
}

func (r *bitReader) flag() bool { return r.u(1) == 1 }

// uvlc skips a number of AV1 whose length comes first.
func (r *bitReader) uvlc() {
	zeros := 0
	for !r.flag() && !r.short {
		zeros++
	}
	if zeros < 32 {
		r.u(zeros)
	}
}

// ue reads a number of H.264 whose length comes first: Exp-Golomb.
func (r *bitReader) ue() uint32 {
	zeros := 0
	for !r.flag() {
		if zeros++; r.short || zeros > 32 {
			r.short = true
			return 0
		}
	}
	return uint32(uint64(1)<<zeros - 1 + uint64(r.u(zeros)))
}

// se reads one that may be negative.
func (r *bitReader) se() int32 {
	n := r.ue()
	if n&1 == 1 {
		return int32(n/2 + 1)
	}
	return -int32(n / 2)
}

// most is how many bytes of a unit are read: no header is longer.
const most = 1024

// payload returns a reader of a unit of H.264, after its header, without the bytes that
// keep it from looking like a start code.
func payload(unit []byte) bitReader {
	unit = unit[min(1, len(unit)):min(len(unit), most)]
	plain := make([]byte, 0, len(unit))
	zeros := 0
	for _, c := range unit {
		if zeros >= 2 && c == 3 {
			zeros = 0
			continue
		}
		if zeros++; c != 0 {
			zeros = 0
		}
		plain = append(plain, c)
	}
	return bitReader{b: plain}
}
