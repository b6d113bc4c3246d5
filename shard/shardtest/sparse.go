package shardtest

import (
	"fmt"
	"io"

	"github.com/headrace/headrace/shard"
)

// Sparse is a large shard of which only some pieces are in memory. What is between them
// is zeros.
type Sparse struct {
	Length int64
	Pieces map[int64][]byte // by their places
	Read   int64            // bytes that were read so far
}

var _ shard.File = (*Sparse)(nil)

// Name is "sparse".
func (*Sparse) Name() string { return "sparse" }

// Size is Length.
func (s *Sparse) Size() int64 { return s.Length }

// Beside has no other files.
func (*Sparse) Beside(name string) (shard.File, error) {
	return nil, fmt.Errorf("there is no %q", name)
}

// ReadAt implements [io.ReaderAt].
func (s *Sparse) ReadAt(p []byte, at int64) (int, error) {
	n := int(max(0, min(int64(len(p)), s.Length-at)))
	clear(p[:n])
	for begin, piece := range s.Pieces {
		from, to := max(at, begin), min(at+int64(n), begin+int64(len(piece)))
		if from < to {
			copy(p[from-at:], piece[from-begin:to-begin])
		}
	}
	s.Read += int64(n)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
