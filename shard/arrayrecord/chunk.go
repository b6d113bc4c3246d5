package arrayrecord

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/internal/packed"

	"github.com/minio/highwayhash"
)

// The file is cut into blocks of Riegeli, whatever is in it: at the beginning of each
// there is a header, in the middle of a chunk or of its header.
const (
	blockSize   = 64 << 10
	blockHeader = 24
	usable      = blockSize - blockHeader
	chunkHeader = 40
)

// hashKey is that of all checksums.
var hashKey = []byte("Riegeli/records\nRiegeli/records\n")

func hash(data []byte) uint64 { return highwayhash.Sum64(data, hashKey) }

// Kinds of chunks.
const (
	signature  = 's'
	metadata   = 'm'
	padding    = 'p'
	simple     = 'r'
	transposed = 't'
)

// chunk is what the header of one says.
type chunk struct {
	data    int64 // bytes, without headers of blocks
	sum     uint64
	kind    byte
	records int64
	decoded int64 // bytes of its records
}

// chunkOf reads a header.
func chunkOf(header []byte) (c chunk, err error) {
	if binary.LittleEndian.Uint64(header) != hash(header[8:chunkHeader]) {
		return c, fmt.Errorf("%w: the checksum of a chunk's header is wrong", shard.ErrCorrupt)
	}
	var records [8]byte
	copy(records[:7], header[25:])
	c = chunk{
		data: int64(binary.LittleEndian.Uint64(header[8:])), sum: binary.LittleEndian.Uint64(header[16:]), kind: header[24],
		records: int64(binary.LittleEndian.Uint64(records[:])), decoded: int64(binary.LittleEndian.Uint64(header[32:])),
	}
	if c.data < 0 || c.decoded < 0 {
		return c, fmt.Errorf("%w: a chunk has 2⁶³ bytes or more", shard.ErrCorrupt)
	}
	return c, nil
}

// after is the place after n bytes of a chunk from a place on, with the headers of blocks
// between them.
func after(at, n int64) int64 {
	blocks := (n + (at+usable-1)%blockSize) / usable
	return at + n + blocks*blockHeader
}

// end is where the chunk that begins at a place ends, with its padding.
func (c chunk) end(at int64) int64 {
	padded := at + c.records
	if rest := blockSize - 1 - (padded+blockSize-1)%blockSize; rest > usable-1 {
		padded += rest - (usable - 1)
	}
	return max(after(at, chunkHeader+c.data), padded)
}

// join takes the headers of blocks out of bytes of a file that are from a place on.
func join(at int64, raw []byte) []byte {
	next := int((blockSize - at%blockSize) % blockSize)
	if next >= len(raw) {
		return raw
	}
	joined := make([]byte, 0, len(raw))
	for next < len(raw) {
		joined = append(joined, raw[:next]...)
		raw = raw[min(next+blockHeader, len(raw)):]
		next = usable
	}
	return append(joined, raw...)
}

// codecs are how simple chunks are compressed.
var codecs = map[byte]packed.Codec{0: packed.None, 'b': packed.Brotli, 'z': packed.Zstd, 's': packed.Snappy}

// split reads what is before the values of a simple chunk, from the beginning of its
// data: how it is compressed, and how long the sizes of its records are.
func split(data []byte) (codec packed.Codec, sizes uint64, rest []byte, err error) {
	if len(data) == 0 {
		return 0, 0, nil, fmt.Errorf("%w: a chunk without data", shard.ErrCorrupt)
	}
	codec, ok := codecs[data[0]]
	if !ok {
		return 0, 0, nil, fmt.Errorf("%w: chunks compressed with %q", shard.ErrUnsupported, data[0])
	}
	sizes, n := binary.Uvarint(data[1:])
	if n <= 0 {
		return 0, 0, nil, fmt.Errorf("%w: a chunk has no sizes", shard.ErrCorrupt)
	}
	return codec, sizes, data[1+n:], nil
}

// unpack appends what compressed data hold to dst. Want is how many bytes these should
// be; -1: as many as they say, up to most.
func unpack(dst []byte, codec packed.Codec, data []byte, want, most int64) ([]byte, error) {
	size := uint64(len(data))
	if codec != packed.None {
		var n int
		if size, n = binary.Uvarint(data); n <= 0 {
			return dst, fmt.Errorf("%w: compressed data have no size", shard.ErrCorrupt)
		}
		data = data[n:]
	}
	if want < 0 { // then it is as many as they say, up to most
		want = min(int64(size), most)
	}
	if size > math.MaxInt64 || int64(size) != want {
		return dst, fmt.Errorf("%w: compressed data have %d bytes", shard.ErrCorrupt, size)
	}
	return packed.Append(dst, codec, data, int64(size))
}
