package parquet

import (
	"encoding/binary"

	"github.com/klauspost/compress/s2"
)

// fragment is what can be unpacked by itself, as the encoders of others have it.
const fragment = 64 << 10

// snappy compresses bytes, each fragment for itself.
func snappy(b []byte) []byte {
	out := binary.AppendUvarint(nil, uint64(len(b)))
	for len(b) > 0 {
		n := min(len(b), fragment)
		packed := s2.EncodeSnappy(nil, b[:n])
		_, length := binary.Uvarint(packed)
		out = append(out, packed[length:]...)
		b = b[n:]
	}
	return out
}
