package joint

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/internal/packed"
)

// Scan reads the offsets at the beginning of a shard. It is given what the file that
// names the shards says of it: how many bytes it has, unpacked, and how many samples.
// What r gives are these bytes; it is not read further than the offsets are.
func Scan(ctx context.Context, f shard.File, r io.Reader, size, samples int64, found *index.Builder) error {
	buffered := bufio.NewReaderSize(r, 1<<16)
	s := scanner{file: f, r: buffered}
	n := s.next()
	if s.err != nil {
		return s.err
	}
	if n != samples {
		return shard.Wrong(f, 0, shard.ErrCorrupt, "the shard has %d samples, and %d as the file that names it says", n, samples)
	}
	if 4*(n+2) > size {
		return shard.Wrong(f, 0, shard.ErrCorrupt, "%d samples do not fit into %d bytes", n, size)
	}
	return Offsets(ctx, f, buffered, Range{4 * (n + 2), size}, n, func(at, length int64) error {
		found.Sample(nil)
		found.Part(nil, at, length)
		return nil
	})
}

// Range is from one byte to the one before another.
type Range struct{ From, To int64 }

// Offsets reads where n samples begin, and where the last ends, and calls each with the
// place of every one and its length. They follow each other to the end of the range.
func Offsets(ctx context.Context, f shard.File, r io.Reader, in Range, n int64, each func(at, length int64) error) error {
	if err := packed.Samples(f, n); err != nil {
		return err
	}
	s := scanner{file: f, r: bufio.NewReaderSize(r, 1<<16)}
	at := s.next()
	if s.err == nil && at < in.From {
		return shard.Wrong(f, -1, shard.ErrCorrupt, "the first sample begins at byte %d, before the offsets end", at)
	}
	for i := range n {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		end := s.next()
		if s.err != nil {
			return s.err
		}
		if end < at || end > in.To {
			return shard.Wrong(f, -1, shard.ErrCorrupt, "sample %d is from byte %d to %d, of %d", i, at, end, in.To)
		}
		if err := each(at, end-at); err != nil {
			return err
		}
		at = end
	}
	if s.err == nil && at != in.To {
		return shard.Wrong(f, -1, shard.ErrCorrupt, "the samples end at byte %d, of %d", at, in.To)
	}
	if s.err != nil {
		return s.err
	}
	return ctx.Err()
}

// scanner reads numbers of 4 bytes.
type scanner struct {
	file shard.File
	r    *bufio.Reader
	at   int64
	err  error
}

func (s *scanner) next() int64 {
	var b [4]byte
	if s.err != nil {
		return 0
	}
	if n, err := io.ReadFull(s.r, b[:]); err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		s.err = shard.Wrong(s.file, s.at+int64(n), shard.ErrTruncated, "the shard ends in its offsets")
	} else if err != nil {
		s.err = shard.Wrong(s.file, -1, shard.ErrCorrupt, "%v", err)
	}
	s.at += 4
	return int64(binary.LittleEndian.Uint32(b[:]))
}
