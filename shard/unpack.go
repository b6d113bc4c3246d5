package shard

import (
	"context"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/headrace/headrace/shard/index"
)

// segmentOf is the index of a shard.
type segmentOf struct {
	shard   int
	segment *index.Segment
}

// mostBlock bounds what one block may unpack to.
const mostBlock = 1 << 31

// packedBlocks is memory for blocks as they are in files.
var packedBlocks = sync.Pool{New: func() any { return new([]byte) }}

// unpackInto fills memory from the blocks in which it is, from a place on.
func (d *Dataset) unpackInto(ctx context.Context, in segmentOf, f *opened, at int64, to []byte) (read int64, err error) {
	var room [4]index.Block
	format, ok := d.formatOf(in.shard).(Unpacker)
	if !ok {
		return 0, Wrong(f, -1, ErrUnsupported, "it has blocks, which the format %s does not unpack", d.Format.Name())
	}
	all, first, skip, err := in.segment.Covering(at, int64(len(to)), room[:0])
	if err != nil {
		return read, &Error{Shard: f.Name(), At: -1, Err: err}
	}
	for k, b := range all {
		if b.Size > mostBlock && !b.Plain() || b.At > f.Size()-b.Len {
			return read, Wrong(f, b.At, ErrCorrupt, "a block of %d bytes unpacks to %d", b.Len, b.Size)
		}
		if b.Codec == index.Stored {
			n := min(int64(len(to)), max(0, b.Len-skip))
			if err := readFull(f, to[:n], b.At+skip); err != nil {
				return read, err
			}
			to, skip, read = to[n:], 0, read+n
			continue
		}
		if b.Plain() {
			if skip != 0 || int64(len(to)) < b.Len {
				return read, &Error{Shard: f.Name(), At: b.At, Err: index.ErrDamaged}
			}
			if err := readFull(f, to[:b.Len], b.At); err != nil {
				return read, err
			}
			if crc32.ChecksumIEEE(to[:b.Len]) != uint32(b.Codec) {
				return read, Wrong(f, b.At, ErrCorrupt, "the checksum of %d bytes is wrong", b.Len)
			}
			to, read = to[b.Len:], read+b.Len
			continue
		}
		data, n, err := d.block(ctx, in, f, format, first+k, b, 0)
		read += n
		if err != nil {
			return read, err
		}
		to = to[copy(to, data[min(skip, int64(len(data))):]):]
		skip = 0
	}
	if len(to) > 0 {
		return read, &Error{Shard: f.Name(), At: -1, Err: index.ErrDamaged}
	}
	return read, nil
}

// mostReferring is how many blocks refer to each other in a row at most.
const mostReferring = 2

// block returns what is in a block, and how many bytes of the file that took. So many
// blocks refer to it, one to the other.
func (d *Dataset) block(ctx context.Context, in segmentOf, f *opened, format Unpacker, number int,
	b index.Block, referring int) (data []byte, read int64, err error) {
	data, err = d.blocks.get(ctx, blockID{in.shard, number}, b.Size, func() ([]byte, error) {
		unpack := format.Unpack
		if refers, ok := format.(Referring); ok && refers.Refers(b) {
			target, n, err := d.target(ctx, in, f, refers, number, referring+1)
			if read += n; err != nil {
				return nil, err
			}
			unpack = func(dst []byte, b index.Block, packed []byte) ([]byte, error) {
				return refers.UnpackWith(dst, b, packed, target)
			}
		}

		packed := packedBlocks.Get().(*[]byte)
		defer packedBlocks.Put(packed)
		*packed = slices.Grow((*packed)[:0], int(b.Len))[:b.Len]
		if err := readFull(f, *packed, b.At); err != nil {
			return nil, err
		}
		read += b.Len
		data, err := unpack(make([]byte, 0, b.Size), b, *packed)
		if err == nil && int64(len(data)) != b.Size {
			err = ErrCorrupt
		}
		if err != nil {
			return nil, &Error{Shard: f.Name(), At: b.At, Err: err}
		}
		return data, nil
	})
	return data, read, err
}

// target returns what is in the block to which another one refers.
func (d *Dataset) target(ctx context.Context, in segmentOf, f *opened, format Referring, number,
	referring int) (data []byte, read int64, err error) {
	b, at, err := in.segment.Before(number, format.Target)
	if err == nil && (referring > mostReferring || b.Size > mostBlock || b.At > f.Size()-b.Len) {
		err = index.ErrDamaged
	}
	if err != nil {
		return nil, 0, &Error{Shard: f.Name(), At: b.At, Err: err}
	}
	return d.block(ctx, in, f, format, at, b, referring)
}
