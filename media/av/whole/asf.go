package whole

import (
	"encoding/binary"
	"math"
)

const (
	asfHeader = "\x30\x26\xB2\x75\x8E\x66\xCF\x11\xA6\xD9\x00\xAA\x00\x62\xCE\x6C"
	asfData   = "\x36\x26\xB2\x75\x8E\x66\xCF\x11\xA6\xD9\x00\xAA\x00\x62\xCE\x6C"
	asfFile   = "\xA1\xDC\xAB\x8C\x47\xA9\xCF\x11\x8E\xE4\x00\xC0\x0C\x20\x53\x65"
)

// asf follows the objects of ASF: of a broadcast, whose data have no size, the packets,
// which are all as long.
func asf(f *file) (End, error) {
	end, broadcast, each := Unknown, false, int64(0)

	for at := int64(0); at < f.Len; {
		b := f.Bytes(at, 104)
		if len(b) < 24 {
			if end == Unknown {
				return end, f.cutHead("an object")
			}
			break
		}
		if at == 0 && string(b[:16]) != asfHeader {
			return end, nil
		}
		id, size := string(b[:16]), int64(min(binary.LittleEndian.Uint64(b[16:]), math.MaxInt64/2))
		switch {
		case id == asfData && (broadcast || size < 50):
			rest := (f.Len - at - 50) % max(each, 1)
			if b := f.Bytes(f.Len-rest, 1); len(b) == 1 && b[0] == 0x82 { // else it is no packet: writers to pipes mark the end
				return Open, f.cut("a packet", f.Len-rest+each)
			}
			return Open, nil
		case id == asfData:
			end = Stated
		case size < 24:
			return end, nil
		}
		if at+size > f.Len {
			return end, f.cut("an object", at+size)
		}
		if id == asfHeader {
			for in := at + 30; in < at+size; {
				b := f.Bytes(in, 104)
				if len(b) < 24 {
					break
				}
				if string(b[:16]) == asfFile && len(b) >= 104 {
					broadcast, each = b[88]&1 != 0, int64(binary.LittleEndian.Uint32(b[92:]))
					if said := binary.LittleEndian.Uint64(b[40:]); !broadcast && said > uint64(f.Len) && said < math.MaxInt64/2 {
						return Stated, f.states(int64(said))
					}
				}
				size := int64(min(binary.LittleEndian.Uint64(b[16:]), math.MaxInt64/2))
				if size < 24 {
					break
				}
				in += size
			}
		}
		at += size
	}
	return end, nil
}
