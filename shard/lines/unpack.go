package lines

import (
	"fmt"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/internal/packed"
)

// Codecs of blocks.
const (
	codecGzip = uint64(packed.Gzip)
	codecZstd = uint64(packed.Zstd)
)

// packing is what all formats here have in common: how they are unpacked.
type packing struct{}

// Begins returns false: any bytes can be text, and the suffix decides.
func (packing) Begins([]byte) bool { return false }

// Unpack unpacks a member of gzip or a frame of Zstandard.
func (packing) Unpack(dst []byte, b index.Block, data []byte) ([]byte, error) {
	if b.Codec != codecGzip && b.Codec != codecZstd {
		return nil, fmt.Errorf("%w: codec %d", shard.ErrUnsupported, b.Codec)
	}
	return packed.Append(dst, packed.Codec(b.Codec), data, b.Size)
}
