package parquet

import (
	"fmt"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/internal/packed"
)

// Codecs as metadata numbers them.
const (
	codecNone   = 0
	codecSnappy = 1
	codecGzip   = 2
	codecLZO    = 3
	codecBrotli = 4
	codecLZ4    = 5
	codecZstd   = 6
	codecLZ4Raw = 7
)

// Codecs of blocks are those of pages, except that a block of Snappy has no length in
// front: it is a piece of a page, or all of it. Flags are of pages encoded as
// DELTA_BYTE_ARRAY, of which the block is the page with its header.
const (
	blockCodec  = 15
	blockDelta  = 16
	blockLevels = 32 // there are definition levels
)

// refusedCodec says why a codec is not read; "": it is.
func refusedCodec(codec int) string {
	switch codec {
	case codecNone, codecSnappy, codecGzip, codecBrotli, codecZstd:
		return ""
	case codecLZ4, codecLZ4Raw:
		return "it is compressed with LZ4, which writers of Parquet frame in ways that do not agree: write it with Snappy or Zstandard"
	case codecLZO:
		return "it is compressed with LZO"
	}
	return fmt.Sprintf("it is compressed with codec %d, which is not known", codec)
}

// mostUnpacked is how many bytes a page can have that is packed in n. Deflate packs 1032
// times at most; a page that says more is a bomb rather than data.
func mostUnpacked(n int64) int64 { return 64<<20 + 1032*n }

// unpack unpacks a page of this column. The bytes are there until the next call.
func (r *chunkReader) unpack(page []byte, size int64) ([]byte, error) {
	return r.unpackAs(r.codec, page, size)
}

func (r *chunkReader) unpackAs(codec int, page []byte, size int64) ([]byte, error) {
	if size > mostUnpacked(int64(len(page))) {
		return nil, r.wrong("a page of %d bytes is said to unpack to %d", len(page), size)
	}
	if codec == codecNone {
		if int64(len(page)) != size {
			return nil, r.wrong("a page of %d bytes is said to have %d", len(page), size)
		}
		return page, nil
	}
	if size == 0 && len(page) == 0 {
		return nil, nil
	}
	raw, err := inflate(r.unpacked[:0], codec, page, size)
	if err != nil {
		return nil, r.failed(err)
	}
	r.unpacked = raw
	return raw, nil
}

// base makes blocks of a page that begins at a place of the file, and returns where it
// begins in the space of unpacked bytes.
func (r *chunkReader) base(at int64, page, raw []byte, codec int) int64 {
	from := r.space
	if len(raw) == 0 {
		return from
	}
	r.space += int64(len(raw))
	if codec != codecSnappy {
		r.found.Block(index.Block{At: at, Len: int64(len(page)), Size: int64(len(raw)), Codec: uint64(codec)})
		return from
	}
	for _, p := range pieces(page, &r.elements) {
		b := index.Block{At: at + int64(p.from), Len: int64(p.to - p.from), Size: int64(p.size), Codec: codecSnappy}
		if p.stored {
			b.Codec = index.Stored
		}
		r.found.Block(b)
	}
	return from
}

// inflate appends what is unpacked, size bytes.
func inflate(dst []byte, codec int, bytes []byte, size int64) ([]byte, error) {
	c, ok := codecs[codec]
	if !ok {
		return nil, fmt.Errorf("%w: codec %d", shard.ErrUnsupported, codec)
	}
	return packed.Append(dst, c, bytes, size)
}

var codecs = map[int]packed.Codec{
	codecNone:   packed.None,
	codecSnappy: packed.Snappy,
	codecGzip:   packed.Gzip,
	codecBrotli: packed.Brotli,
	codecZstd:   packed.Zstd,
}
