package packed

import (
	"compress/bzip2"
	"compress/flate"
	"compress/zlib"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Codec is a way in which blocks are compressed. The numbers are kept in indexes: they
// never change, and none is index.Stored.
type Codec uint8

// The codecs.
const (
	None    Codec = index.Stored
	Gzip    Codec = 1
	Zlib    Codec = 2
	Deflate Codec = 3 // without a header
	Zstd    Codec = 4
	Brotli  Codec = 5
	Snappy  Codec = 6 // one block, without frames
	Bzip2   Codec = 7
	LZ4     Codec = 8 // frames
)

// maxWindow is how far back zstd may refer, as zstd itself has it up to level 22.
const maxWindow = 128 << 20

// believed is how many times a block may become larger for its memory to be taken at
// once. Others get it as they are unpacked.
const believed = 64

// Append appends what a block holds to dst: size bytes, or it is an error.
func Append(dst []byte, c Codec, packed []byte, size int64) ([]byte, error) {
	switch {
	case size < 0:
		return dst, fmt.Errorf("%w: a block of %d bytes", shard.ErrCorrupt, size)
	case c == None:
		return plain(dst, packed, size)
	case c == Snappy:
		return snapped(dst, packed, size)
	case c == Zstd && size/believed <= int64(len(packed)):
		return zstandard(dst, packed, size)
	}
	r, err := NewReader(c, &source{packed})
	if err != nil {
		return dst, err
	}
	defer r.Close() // it was opened for reading
	return exactly(dst, r, size, len(packed))
}

func plain(dst, packed []byte, size int64) ([]byte, error) {
	if int64(len(packed)) != size {
		return dst, wrongSize(int64(len(packed)), size)
	}
	return append(dst, packed...), nil
}

func snapped(dst, packed []byte, size int64) ([]byte, error) {
	n, err := snappy.DecodedLen(packed)
	if err != nil || int64(n) != size {
		return dst, wrongSize(int64(n), size)
	}
	// A copy of 64 bytes takes 2: more than that is a lie.
	if size/believed > int64(len(packed)) {
		return dst, fmt.Errorf("%w: %d bytes of snappy cannot hold %d", shard.ErrCorrupt, len(packed), size)
	}
	dst = slices.Grow(dst, n)
	out, err := snappy.Decode(dst[len(dst):len(dst)+n], packed)
	if err != nil {
		return dst, damaged(err)
	}
	return dst[:len(dst)+len(out)], nil
}

// whole unpacks blocks of zstd into memory that is there.
var whole = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxWindow(maxWindow))
})

func zstandard(dst, packed []byte, size int64) ([]byte, error) {
	d, err := whole()
	if err != nil {
		return dst, err
	}
	dst = slices.Grow(dst, int(size))
	before := len(dst)
	out, err := d.DecodeAll(packed, dst[:before:before+int(size)])
	if err != nil {
		return dst, damaged(err)
	}
	if int64(len(out)-before) != size {
		return dst, wrongSize(int64(len(out)-before), size)
	}
	return out, nil
}

// exactly appends size bytes of r, and sees that there are no more.
func exactly(dst []byte, r io.Reader, size int64, packed int) ([]byte, error) {
	start := len(dst)
	dst = slices.Grow(dst, int(min(size, believed*int64(packed)+512)))
	for got := int64(0); got < size; got = int64(len(dst) - start) {
		if len(dst) == cap(dst) {
			dst = slices.Grow(dst, int(min(size-got, max(got, 4096))))
		}
		n, err := r.Read(dst[len(dst) : len(dst)+int(min(int64(cap(dst)-len(dst)), size-got))])
		dst = dst[:len(dst)+n]
		if err == io.EOF && int64(len(dst)-start) < size {
			return dst[:start], wrongSize(int64(len(dst)-start), size)
		}
		if err != nil && err != io.EOF {
			return dst[:start], damaged(err)
		}
	}

	// The end has checksums, which are compared when it is read.
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return dst[:start], fmt.Errorf("%w: a block has more than the %d bytes that it should have", shard.ErrCorrupt, size)
	case err != io.EOF:
		return dst[:start], damaged(err)
	}
	return dst, nil
}

// source is bytes, of which none is read before it is needed.
type source struct{ rest []byte }

// Read implements [io.Reader].
func (s *source) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// ReadByte implements [io.ByteReader], so that flate does not read ahead.
func (s *source) ReadByte() (byte, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	b := s.rest[0]
	s.rest = s.rest[1:]
	return b, nil
}

// NewReader returns what c unpacks of r, from its beginning on.
func NewReader(c Codec, r io.Reader) (io.ReadCloser, error) {
	switch c {
	case None:
		return io.NopCloser(r), nil
	case Gzip:
		z, err := gzip.NewReader(r)
		return readCloser(z, err)
	case Zlib:
		z, err := zlib.NewReader(r)
		return readCloser(z, err)
	case Deflate:
		return flate.NewReader(r), nil
	case Zstd:
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, damaged(err)
		}
		return z.IOReadCloser(), nil
	case Snappy:
		return unsnapped(r)
	case Brotli:
		return io.NopCloser(brotli.NewReader(r)), nil
	case LZ4:
		return io.NopCloser(lz4.NewReader(r)), nil
	case Bzip2:
		return io.NopCloser(bzip2.NewReader(r)), nil
	}
	return nil, fmt.Errorf("%w: codec %d", shard.ErrUnsupported, c)
}

// unsnapped unpacks all that r has: a block of snappy cannot be read in part.
func unsnapped(r io.Reader) (io.ReadCloser, error) {
	block, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	n, err := snappy.DecodedLen(block)
	if err != nil {
		return nil, damaged(err)
	}
	data, err := snapped(nil, block, int64(n))
	return io.NopCloser(&source{data}), err
}

// HeaderOfZstd is how many bytes of a frame of zstd have its header in them.
const HeaderOfZstd = zstd.HeaderMaxSize

// SizeOfZstd reads what a frame of zstd has unpacked from its first bytes, which say it
// if the frame was written at once.
func SizeOfZstd(head []byte) (int64, error) {
	var h zstd.Header
	if err := h.Decode(head); err != nil {
		return 0, damaged(err)
	}
	if !h.HasFCS || h.Skippable || int64(h.FrameContentSize) < 0 {
		return 0, fmt.Errorf("%w: a frame of zstd that does not say its size", shard.ErrUnsupported)
	}
	return int64(h.FrameContentSize), nil
}

func readCloser(r io.ReadCloser, err error) (io.ReadCloser, error) {
	if err != nil {
		return nil, damaged(err)
	}
	return r, nil
}

// damaged is the error of a decompressor.
func damaged(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("%w: compressed data end before they should", shard.ErrTruncated)
	}
	return fmt.Errorf("%w: %w", shard.ErrCorrupt, err)
}

func wrongSize(got, want int64) error {
	return fmt.Errorf("%w: a block has %d bytes, and should have %d", shard.ErrCorrupt, got, want)
}
