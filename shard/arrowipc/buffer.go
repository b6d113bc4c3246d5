package arrowipc

import (
	"encoding/binary"
	"fmt"
	"math"

	"headrace/shard"
	"headrace/shard/index"
	"headrace/shard/internal/packed"
	"headrace/tensor"
)

// buffer is where a buffer is in the file, packed or not.
type buffer struct{ at, n int64 }

// buffer takes the next buffer of a batch.
func (b *batch) buffer() (buffer, error) {
	if len(b.buffers) == 0 {
		return buffer{}, b.wrong("there are fewer buffers than columns need")
	}
	at, n := b.buffers[0][0], b.buffers[0][1]
	b.buffers = b.buffers[1:]
	if size := b.m.end - b.m.body; at < 0 || n < 0 || n > size || at > size-n {
		return buffer{}, b.wrong("a buffer of %d bytes at %d of a message of %d", n, at, size)
	}
	return buffer{b.m.body + at, n}, nil
}

// variadicBuffers takes those that the views of one array are of.
func (b *batch) variadicBuffers() ([]buffer, error) {
	if len(b.variadic) < 8 {
		return nil, b.wrong("an array of views does not say how many buffers it has")
	}
	n := binary.LittleEndian.Uint64(b.variadic)
	b.variadic = b.variadic[8:]
	if n > uint64(len(b.buffers)) {
		return nil, b.wrong("an array of views has %d buffers, and %d are left", n, len(b.buffers))
	}
	all := make([]buffer, n)
	var err error
	for i := range all {
		if all[i], err = b.buffer(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// mostUnpacked is how many bytes a buffer can have that is packed in n. What says more is
// a bomb rather than data.
func mostUnpacked(n int64) int64 { return 64<<20 + 1032*n }

// unpacked says how a buffer is packed: as a block of the index.
func (b *batch) unpacked(buf buffer) (index.Block, error) {
	k := index.Block{At: buf.at, Len: buf.n, Size: buf.n, Codec: index.Stored}
	if b.codec == 0 || buf.n == 0 {
		return k, nil
	}
	var head [8]byte
	if buf.n < 8 {
		return k, b.wrong("a packed buffer of %d bytes", buf.n)
	}
	if _, err := b.bytes(buf.at, 8, head[:]); err != nil {
		return k, err
	}
	k.At, k.Len = buf.at+8, buf.n-8
	size := int64(binary.LittleEndian.Uint64(head[:]))
	if size == -1 {
		k.Size = k.Len
		return k, nil
	}
	if size < 0 || size > mostUnpacked(k.Len) {
		return k, b.wrong("a buffer of %d bytes is said to unpack to %d", k.Len, size)
	}
	k.Size, k.Codec = size, b.codec
	return k, nil
}

// raw reads a buffer of which n bytes are needed.
func (b *batch) raw(buf buffer, n int64) ([]byte, error) {
	k, err := b.unpacked(buf)
	if err != nil {
		return nil, err
	}
	if k.Size < n {
		return nil, b.wrong("a buffer has %d bytes, and the rows need %d", k.Size, n)
	}
	if k.Codec == index.Stored {
		return b.bytes(k.At, n, nil)
	}
	data, err := b.bytes(k.At, k.Len, nil)
	if err != nil {
		return nil, err
	}
	all, err := inflate(nil, k, data)
	if err != nil {
		return nil, &shard.Error{Shard: b.f.Name(), At: k.At, Err: fmt.Errorf("a buffer: %w", err)}
	}
	return all, nil
}

// base returns where the bytes of a buffer begin for parts, and how many they are.
func (b *batch) base(buf buffer) (at, size int64, err error) {
	if !b.blocks {
		return buf.at, buf.n, nil
	}
	k, err := b.unpacked(buf)
	if err != nil {
		return 0, 0, err
	}
	at = b.space
	if k.Size > 0 {
		b.found.Block(k)
		b.space += k.Size
	}
	return at, k.Size, nil
}

// Flags of blocks that become something else than what is in a buffer. Such a block is
// all of a buffer, of which the length is in front if it is packed.
const (
	blockCodec  = 3
	blockBits   = 1 << 2 // booleans, which become bytes
	blockTarget = 1 << 3 // the validity of numbers that follow
	blockRefers = 1 << 4 // floats, of which those are NaN that the target says have no value
	widthShift  = 8
)

// rewritten adds a block of a buffer that becomes size bytes.
func (b *batch) rewritten(buf buffer, size int64, flags uint64) error {
	if !b.blocks {
		return b.wrong("an array needs blocks, and there are none")
	}
	b.found.Block(index.Block{At: buf.at, Len: buf.n, Size: size, Codec: b.codec | flags})
	b.space += size
	return nil
}

// sized returns how many bytes a buffer has, unpacked.
func (b *batch) sized(buf buffer) (index.Block, int64, error) {
	k, err := b.unpacked(buf)
	return k, k.Size, err
}

// Unpack unpacks a buffer.
func (Format) Unpack(dst []byte, b index.Block, data []byte) ([]byte, error) {
	if b.Codec&^blockCodec == 0 {
		return inflate(dst, b, data)
	}
	raw, err := whole(b, data)
	if err != nil {
		return nil, err
	}
	switch {
	case b.Codec&blockBits != 0:
		if int64(len(raw)) < (b.Size+7)/8 {
			break
		}
		for i := range int(b.Size) {
			dst = append(dst, raw[i/8]>>(i%8)&1)
		}
		return dst, nil
	case int64(len(raw)) >= b.Size:
		return append(dst, raw[:b.Size]...), nil
	}
	return nil, fmt.Errorf("%w: a buffer of %d bytes becomes %d", shard.ErrCorrupt, len(raw), b.Size)
}

// Refers implements [shard.Referring].
func (Format) Refers(b index.Block) bool { return b.Codec&blockRefers != 0 }

// Target implements [shard.Referring].
func (Format) Target(b index.Block) bool { return b.Codec&blockTarget != 0 }

// UnpackWith implements [shard.Referring]: it unpacks floats, and has those be NaN that
// have no value.
func (Format) UnpackWith(dst []byte, b index.Block, data, valid []byte) ([]byte, error) {
	before := len(dst)
	dst, err := Format{}.Unpack(dst, b, data)
	if err != nil {
		return nil, err
	}

	width := int(b.Codec >> widthShift)
	all := dst[before:]
	if width < 2 || len(valid) < (len(all)/width+7)/8 {
		return nil, fmt.Errorf("%w: the validity of a buffer is short", shard.ErrCorrupt)
	}
	for i := range len(all) / width {
		if valid[i/8]>>(i%8)&1 != 0 {
			continue
		}
		switch at := all[i*width:]; width {
		case 2:
			binary.LittleEndian.PutUint16(at, tensor.ToFloat16(index.Missing))
		case 4:
			binary.LittleEndian.PutUint32(at, math.Float32bits(float32(index.Missing)))
		case 8:
			binary.LittleEndian.PutUint64(at, math.Float64bits(index.Missing))
		}
	}
	return dst, nil
}

// whole unpacks a buffer with the length in front of it.
func whole(b index.Block, data []byte) ([]byte, error) {
	codec := b.Codec & blockCodec
	if codec == 0 {
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
