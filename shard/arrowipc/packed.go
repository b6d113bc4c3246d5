package arrowipc

import (
	"encoding/binary"
	"fmt"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/internal/packed"
)

// Codecs of blocks, and in batches one less.
const (
	codecLZ4  = 1
	codecZstd = 2
)

// mostUnpacked is how many bytes a buffer can have that is packed in n. What says more is
// a bomb rather than data.
func mostUnpacked(n int64) int64 { return 64<<20 + 1032*n }

// Flags of blocks that become something else than what is in a buffer. Such a block is
// all of a buffer, of which the length is in front if it is packed.
const (
	blockCodec  = 3
	blockBits   = 1 << 2 // booleans, which become bytes
	blockTarget = 1 << 3 // the validity of numbers that follow
	blockRefers = 1 << 4 // floats, of which those are NaN that the target says have no value
	blockTexts  = 1 << 5 // lists of text, or their offsets
	blockLong   = 1 << 6 // offsets have 8 bytes
	blockInner  = 1 << 7 // they are of lists in lists
	widthShift  = 8
)

// whole unpacks a buffer with the length in front of it.
func whole(b index.Block, data []byte) ([]byte, error) {
	codec := b.Codec & blockCodec
	if codec == 0 || len(data) == 0 { // without a byte it is not packed
		return data, nil
	}
	if len(data) < 8 {
		return nil, fmt.Errorf("%w: a packed buffer of %d bytes", shard.ErrCorrupt, len(data))
	}
	size := int64(binary.LittleEndian.Uint64(data))
	switch data = data[8:]; {
	case size == -1:
		return data, nil
	case size < 0 || size > mostUnpacked(int64(len(data))):
		return nil, fmt.Errorf("%w: a buffer of %d bytes is said to unpack to %d", shard.ErrCorrupt, len(data), size)
	}
	return inflate(nil, index.Block{Codec: codec, Size: size}, data)
}

func inflate(dst []byte, b index.Block, data []byte) ([]byte, error) {
	codec := packed.LZ4
	if b.Codec == codecZstd {
		codec = packed.Zstd
	}
	return packed.Append(dst, codec, data, b.Size)
}

// widthOf is how many bytes an offset has.
func widthOf(long bool) int64 {
	if long {
		return 8
	}
	return 4
}

func offset(raw []byte, i int, long bool) int64 {
	if long {
		return int64(binary.LittleEndian.Uint64(raw[8*i:]))
	}
	return int64(int32(binary.LittleEndian.Uint32(raw[4*i:])))
}
