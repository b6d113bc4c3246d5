package column

import (
	"encoding/binary"
	"math/bits"
)

// The primes of XXH64, as its specification has them:
// https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
const (
	prime1 = 0x9E3779B185EBCA87
	prime2 = 0xC2B2AE3D27D4EB4F
	prime3 = 0x165667B19E3779F9
	prime4 = 0x85EBCA77C2B2AE63
	prime5 = 0x27D4EB2F165667C5
)

// xxh64 is the hash XXH64 of bytes.
func xxh64(b []byte, seed uint64) uint64 {
	size := uint64(len(b))
	h := seed + prime5
	// Four lanes take long texts, 32 bytes at a time.
	if len(b) >= 32 {
		v := [4]uint64{seed + prime1, seed + prime2, seed, seed - prime1}
		v[0] += prime2
		for ; len(b) >= 32; b = b[32:] {
			for i := range v {
				v[i] = xxhRound(v[i], binary.LittleEndian.Uint64(b[8*i:]))
			}
		}
		h = bits.RotateLeft64(v[0], 1) + bits.RotateLeft64(v[1], 7) + bits.RotateLeft64(v[2], 12) + bits.RotateLeft64(v[3], 18)
		for _, lane := range v {
			h = (h^xxhRound(0, lane))*prime1 + prime4
		}
	}

	h += size
	for ; len(b) >= 8; b = b[8:] {
		h ^= xxhRound(0, binary.LittleEndian.Uint64(b))
		h = bits.RotateLeft64(h, 27)*prime1 + prime4
	}
	if len(b) >= 4 {
		h ^= uint64(binary.LittleEndian.Uint32(b)) * prime1
		h = bits.RotateLeft64(h, 23)*prime2 + prime3
		b = b[4:]
	}
	for _, c := range b {
		h ^= uint64(c) * prime5
		h = bits.RotateLeft64(h, 11) * prime1
	}

	h = (h ^ h>>33) * prime2
	h = (h ^ h>>29) * prime3
	return h ^ h>>32
}

func xxhRound(v, input uint64) uint64 {
	return bits.RotateLeft64(v+input*prime2, 31) * prime1
}
