package arrowipc

import (
	"encoding/binary"
	"fmt"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
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

// base tells the place at which the bytes of a buffer begin for parts.
type base struct {
	at, size int64
	buf      buffer
}

// base returns where the bytes of a buffer begin for parts, and how many they are.
func (b *batch) base(buf buffer) (at, size int64, err error) {
	if b.named {
		defer func() { b.bases = append(b.bases, base{at, size, buf}) }()
	}
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
func (b *batch) sized(buf buffer) (int64, error) {
	k, err := b.unpacked(buf)
	return k.Size, err
}
