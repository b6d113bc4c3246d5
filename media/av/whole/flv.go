package whole

import (
	"bytes"
	"encoding/binary"
	"math"
)

// flv: every tag is followed by its size, so the end of a whole file leads back to its
// last tag. Only where it does not are all tags followed.
func flv(f *file) (End, error) {
	b := f.Bytes(0, 13)
	if len(b) < 13 {
		return Unknown, f.cutHead("the file")
	}
	first := int64(binary.BigEndian.Uint32(b[5:])) + 4
	if said := f.fileSize(first); said > 0 && said <= math.MaxInt64/2 {
		if int64(said) > f.Len {
			return Stated, f.states(int64(said))
		}
		if int64(said) == f.Len {
			return Stated, nil
		}
	}

	if b := f.Bytes(f.Len-4, 4); len(b) == 4 {
		n := int64(binary.BigEndian.Uint32(b))
		if at := f.Len - 4 - n; n >= 11 && at >= first {
			if size, ok := f.Tag(at); ok && size == n {
				return Open, nil
			}
		}
	}
	for at := first; at < f.Len; {
		size, ok := f.Tag(at)
		switch {
		case size == 0 && !ok:
			return Unknown, nil // behind the last tag
		case !ok:
			return Open, f.cutHead("a tag")
		case at+size > f.Len:
			return Open, f.cut("a tag", at+size)
		}
		at += size + 4
	}
	return Open, nil
}

// fileSize is what the first tag says of the file; 0: it does not say it.
func (f *file) fileSize(first int64) float64 {
	size, ok := f.Tag(first)
	b := f.Bytes(first, int(min(size, 1<<16)))
	if !ok || len(b) == 0 || b[0]&0x1F != 18 {
		return 0
	}
	name := []byte("\x00\x08filesize\x00")
	at := bytes.Index(b, name)
	if at < 0 || len(b) < at+len(name)+8 {
		return 0
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b[at+len(name):]))
}
