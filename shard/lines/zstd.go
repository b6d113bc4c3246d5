package lines

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/headrace/headrace/shard"

	"github.com/klauspost/compress/zstd"
)

// maxWindow is what a decoder of Zstandard allows by default, and so what files need.
const maxWindow = 128 << 20

const zstdMagic = 0xfd2fb528

// skippable are magics of frames that have no text.
func skippable(magic uint32) bool { return magic&^15 == 0x184d2a50 }

func isZstd(b []byte) bool {
	if len(b) < 4 {
		return false
	}
	magic := binary.LittleEndian.Uint32(b)
	return magic == zstdMagic || skippable(magic)
}

// zstdBlock is how many bytes a block of Zstandard has at most, unpacked.
const zstdBlock = 128 << 10

// frame returns how long the frame is that begins at a place, by going from block to
// block, and how many bytes come out of it at most; 0: it is none with text.
func frame(f shard.File, at int64) (n, most int64, err error) {
	var b [zstd.HeaderMaxSize]byte
	head, err := peek(f, b[:], at)
	if err != nil {
		return 0, 0, err
	}
	if len(head) < 8 {
		return 0, 0, cutOff(f, at)
	}
	if skippable(binary.LittleEndian.Uint32(head)) {
		n = 8 + int64(binary.LittleEndian.Uint32(head[4:]))
		if n > f.Size()-at {
			return 0, 0, cutOff(f, at)
		}
		return n, 0, nil
	}
	var h zstd.Header
	if err := h.Decode(head); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, 0, cutOff(f, at)
		}
		return 0, 0, shard.Wrong(f, at, shard.ErrCorrupt, "Zstandard: %v", err)
	}
	if h.DictionaryID != 0 {
		return 0, 0, shard.Wrong(f, at, shard.ErrUnsupported, "Zstandard: it needs dictionary %d", h.DictionaryID)
	}

	n = int64(h.HeaderSize)
	for last := false; !last; {
		head, err := peek(f, b[:3], at+n)
		if err != nil {
			return 0, 0, err
		}
		if len(head) < 3 {
			return 0, 0, cutOff(f, at)
		}
		v := uint32(head[0]) | uint32(head[1])<<8 | uint32(head[2])<<16
		last = v&1 == 1
		size := int64(v >> 3)
		switch v >> 1 & 3 {
		case 0: // as it is
			most += size
		case 1: // one byte, many times
			most += size
			size = 1
		default:
			most += zstdBlock
		}
		n += 3 + size
	}
	if h.HasCheckSum {
		n += 4
	}
	if n > f.Size()-at {
		return 0, 0, cutOff(f, at)
	}
	return n, max(1, most), nil
}

func cutOff(f shard.File, at int64) error {
	return shard.Wrong(f, at, shard.ErrTruncated, "a frame of Zstandard is longer than the file")
}

// peek reads as many bytes as there are, at most len(b).
func peek(f shard.File, b []byte, at int64) ([]byte, error) {
	b = b[:max(0, min(int64(len(b)), f.Size()-at))]
	n, err := f.ReadAt(b, at)
	if n < len(b) && err != nil && !errors.Is(err, io.EOF) {
		return nil, &shard.Error{Shard: f.Name(), At: at, Err: err}
	}
	return b[:n], nil
}
