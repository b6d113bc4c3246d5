package heads

import "math/bits"

// Elements of EBML and Matroska (RFC 9559), by their numbers with the bits that tell how
// long these are.
const (
	EBML        = 0x1A45DFA3
	Segment     = 0x18538067
	Cluster     = 0x1F43B675
	Tracks      = 0x1654AE6B
	TrackEntry  = 0xAE
	TrackNumber = 0xD7
	Info        = 0x1549A966
	Void        = 0xEC
	Checksum    = 0xBF
	Timestamp   = 0xE7
	SimpleBlock = 0xA3
	BlockGroup  = 0xA0
	Block       = 0xA1
)

// An Element is one of EBML.
type Element struct {
	ID   uint32
	Body int64
	End  int64 // -1: the size is not known
}

// Element reads the head of one. It is junk if there is none at the place, and cut if the
// file ends before it does.
func (f *File) Element(at int64) (e Element, junk, cut bool) {
	b := f.Bytes(at, 12)
	if len(b) == 0 {
		return e, false, true
	}
	n := bits.LeadingZeros8(b[0]) + 1
	if n > 4 {
		return e, true, false
	}
	if len(b) < n+1 {
		return e, false, true
	}
	for _, c := range b[:n] {
		e.ID = e.ID<<8 | uint32(c)
	}
	b = b[n:]

	if b[0] == 0 {
		return e, true, false
	}
	size, k := Vint(b)
	if k == 0 {
		return e, false, true
	}
	e.Body = at + int64(n+k)
	e.End = e.Body + int64(size)
	if size == 1<<(7*k)-1 {
		e.End = -1
	}
	return e, false, false
}

// Vint reads a number of EBML, of n bytes; 0: b begins with none, or it is cut off.
func Vint(b []byte) (v uint64, n int) {
	if len(b) == 0 || b[0] == 0 {
		return 0, 0
	}
	n = bits.LeadingZeros8(b[0]) + 1
	if len(b) < n {
		return 0, 0
	}
	v = uint64(b[0]) & (1<<(8-n) - 1)
	for _, c := range b[1:n] {
		v = v<<8 | uint64(c)
	}
	return v, n
}

// Name names an element, for errors.
func (e Element) Name() string {
	switch e.ID {
	case Segment:
		return "its segment"
	case Cluster:
		return "a cluster"
	case Tracks:
		return "its tracks"
	case SimpleBlock, BlockGroup:
		return "a block"
	}
	return "an element"
}
