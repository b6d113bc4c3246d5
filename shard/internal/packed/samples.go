package packed

import "github.com/headrace/headrace/shard"

// Most samples that a compressed shard may have: some million, and more of a large file.
// A sample takes some dozen bytes while the index is made, and a file of a megabyte could
// have a thousand million of them.
const (
	mostSamples = 1 << 24
	mostPerByte = 16
)

// Samples is an error if a shard that is compressed has more samples than anybody would
// put into a file of its size.
func Samples(f shard.File, n int64) error {
	if n > mostSamples && n/mostPerByte > f.Size() {
		return shard.Wrong(f, -1, shard.ErrUnsupported, "%d samples in a file of %d bytes", n, f.Size())
	}
	return nil
}
