package parquet

import (
	"encoding/binary"

	"github.com/klauspost/compress/s2"
)

// fragment is what can be unpacked by itself, as the encoders of others have it.
const fragment = 64 << 10

// snappy compresses bytes, each fragment for itself. The result is valid until the next
// call.
func (s *scratch) snappy(b []byte) []byte {
	s.packed = binary.AppendUvarint(s.packed[:0], uint64(len(b)))
	if s.fragment == nil {
		s.fragment = make([]byte, s2.MaxEncodedLen(fragment))
	}
	for len(b) > 0 {
		n := min(len(b), fragment)
		packed := s2.EncodeSnappy(s.fragment, b[:n])
		_, length := binary.Uvarint(packed)
		s.packed = append(s.packed, packed[length:]...)
		b = b[n:]
	}
	return s.packed
}
