package whole

import "math/bits"

// Elements of EBML, by their numbers with the bits that tell their length.
const (
	ebmlHeader = 0x1A45DFA3
	segment    = 0x18538067
	cluster    = 0x1F43B675
)

// element is one of EBML.
type element struct {
	id   uint32
	body int64
	end  int64 // -1: the size is not known
}

// element reads a head. Where the bytes are none, junk is true; where they end, cut.
func (f *file) element(at int64) (e element, junk, cut bool) {
	b := f.bytes(at, 12)
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
		e.id = e.id<<8 | uint32(c)
	}
	b = b[n:]

	k := bits.LeadingZeros8(b[0]) + 1
	if k > 8 {
		return e, true, false
	}
	if len(b) < k {
		return e, false, true
	}
	size, mask := int64(b[0])&(1<<(8-k)-1), int64(1)<<(8-k)-1
	for _, c := range b[1:k] {
		size, mask = size<<8|int64(c), mask<<8|0xFF
	}
	e.body = at + int64(n+k)
	e.end = e.body + size
	if size == mask {
		e.end = -1
	}
	return e, false, false
}

// matroska follows the sizes of Matroska and WebM. A segment that has one need not be
// looked into.
func matroska(f *file) (End, error) {
	end := Unknown
	live := false // the segment has no size

	for at := int64(0); at < f.size; {
		e, junk, cut := f.element(at)
		known := e.id == ebmlHeader || e.id == segment || live
		switch {
		case junk || !live && !cut && !known:
			return end, nil // behind the file, or damage
		case cut && (live || end == Unknown):
			return end, f.cutHead("an element")
		case cut:
			return end, nil
		}

		switch {
		case e.id == ebmlHeader:
			live = false
		case e.id == segment && e.end <= e.body: // some writers leave 0 where others say that they do not know
			live, end, at = true, Open, e.body
			continue
		case e.id == segment:
			live, end = false, Stated
		case e.end < 0 && e.id == cluster:
			at = e.body
			continue
		case e.end < 0:
			return end, nil
		}
		if e.end > f.size {
			return end, f.cut(e.name(), e.end)
		}
		at = e.end
	}
	if end == Unknown {
		return end, f.cutHead("its segment")
	}
	return end, nil
}

func (e element) name() string {
	switch e.id {
	case segment:
		return "its segment"
	case cluster:
		return "a cluster"
	case 0xA3, 0xA0:
		return "a block"
	}
	return "an element"
}
