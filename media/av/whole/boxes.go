package whole

import (
	"encoding/binary"
	"math"
	"slices"
)

// topBoxes are the boxes at the top of a file in fragments. Another that does not fit is
// no box, but what somebody has put after the file.
var topBoxes = []string{"moov", "moof", "mdat", "mfra", "sidx", "styp", "emsg", "prft"}

// boxes follows the boxes of MP4 and MOV. Where a file is not in fragments its index
// says where its packets are, and whoever reads them sees which are missing. Of one in
// fragments the index may be missing, too.
func boxes(f *file) (End, error) {
	fragments, indexed := false, false
	end := Stated
	for at := int64(0); at < f.Len; {
		b := f.Bytes(at, 16)
		if len(b) < 8 {
			// Zeros that are a whole size are padding; fewer may begin the size of a box.
			if fragments && (len(b) < 4 || binary.BigEndian.Uint32(b) != 0) {
				return end, f.cutHead("a box")
			}
			break
		}
		size, head, kind := int64(binary.BigEndian.Uint32(b)), int64(8), string(b[4:8])
		switch {
		case size == 1 && len(b) == 16:
			size, head = int64(min(binary.BigEndian.Uint64(b[8:]), math.MaxInt64/2)), 16
		case size == 0:
			size = f.Len - at
		}
		if size < head {
			break
		}

		known := slices.Contains(topBoxes, kind)
		if at+size > f.Len {
			if fragments && known {
				return end, f.cut("its box "+kind, at+size)
			}
			break
		}
		switch kind {
		case "moov":
			fragments = f.hasBox(at+head, at+size, "mvex")
		case "moof":
			if fragments = true; !indexed {
				end = Open
			}
		case "mfra":
			end = Stated
		case "sidx":
			if until := f.segments(at, head, size); until > f.Len {
				return Stated, f.cut("what its box sidx names", until)
			} else if until == f.Len {
				end, indexed = Stated, true
			}
		}
		at += size
	}
	return end, nil
}

// hasBox reports whether there is a box of a kind in another.
func (f *file) hasBox(at, until int64, kind string) bool {
	for at < until {
		b := f.Bytes(at, 8)
		if len(b) < 8 {
			return false
		}
		if string(b[4:]) == kind {
			return true
		}
		size := int64(binary.BigEndian.Uint32(b))
		if size < 8 {
			return false
		}
		at += size
	}
	return false
}

// segments is where those end that a box sidx names.
func (f *file) segments(at, head, size int64) int64 {
	b := f.Bytes(at+head, int(min(size-head, 1<<20)))
	if len(b) < 12 {
		return 0
	}
	until, from := at+size, 12
	if b[0] == 0 {
		from += 8
	} else {
		from += 16
	}
	if len(b) < from+4 {
		return 0
	}
	if b[0] == 0 {
		until += int64(binary.BigEndian.Uint32(b[16:]))
	} else {
		until += int64(min(binary.BigEndian.Uint64(b[20:]), math.MaxInt64/4))
	}

	n := int(binary.BigEndian.Uint16(b[from+2:]))
	for i := from + 4; n > 0 && i+12 <= len(b); n, i = n-1, i+12 {
		until += int64(binary.BigEndian.Uint32(b[i:]) & math.MaxInt32)
	}
	return until
}
