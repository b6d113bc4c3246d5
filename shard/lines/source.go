package lines

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/internal/window"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// chunk is how much text is looked at together.
const chunk = 256 << 10

// mostUnpacked is how much text is believed to come of packed bytes. Deflate packs 1032
// times at most; a file that says more is a bomb rather than text.
func mostUnpacked(packed int64) int64 { return 64<<20 + 1032*min(packed, 1<<50) }

// source reads a shard from front to back and hands over its text.
type source struct {
	ctx   context.Context
	f     shard.File
	found *index.Builder
	take  func(p []byte) error // p is lent
	space int64                // unpacked bytes so far
	buf   []byte
	text  []byte // of a frame
	win   *window.Reader
}

// read finds out how the shard is packed by its first bytes.
func (s *source) read() error {
	var head [6]byte
	n, err := s.f.ReadAt(head[:min(6, s.f.Size())], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return &shard.Error{Shard: s.f.Name(), At: 0, Err: err}
	}
	s.buf, s.win = make([]byte, chunk), window.New(s.f)
	switch b := head[:n]; {
	case bytes.HasPrefix(b, []byte("\x1f\x8b")):
		return s.gzip()
	case isZstd(b):
		return s.zstd()
	case bytes.HasPrefix(b, []byte("BZh")):
		return shard.Wrong(s.f, 0, shard.ErrUnsupported, "it is compressed with bzip2: use zstd or gzip")
	case bytes.Equal(b, []byte("\xfd7zXZ\x00")):
		return shard.Wrong(s.f, 0, shard.ErrUnsupported, "it is compressed with xz: use zstd or gzip")
	case bytes.HasPrefix(b, []byte("\xff\xfe")), bytes.HasPrefix(b, []byte("\xfe\xff")):
		return shard.Wrong(s.f, 0, shard.ErrUnsupported, "it is UTF-16: write it as UTF-8")
	}
	return s.plain()
}

func (s *source) plain() error {
	for at := int64(0); at < s.f.Size(); {
		p := s.buf[:min(int64(len(s.buf)), s.f.Size()-at)]
		n, err := s.f.ReadAt(p, at)
		if n < len(p) {
			if err == nil || errors.Is(err, io.EOF) {
				return shard.Wrong(s.f, at+int64(n), shard.ErrTruncated, "the file has become shorter")
			}
			return &shard.Error{Shard: s.f.Name(), At: at, Err: err}
		}
		if err := s.hand(p); err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}

func (s *source) hand(p []byte) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	s.space += int64(len(p))
	return s.take(p)
}

// gzip reads members, each of which is a block.
func (s *source) gzip() error {
	in := &counter{Reader: bufio.NewReaderSize(io.NewSectionReader(s.f, 0, s.f.Size()), chunk)}
	var z gzip.Reader
	for {
		// Zeros may follow a member, as tapes have them.
		b, err := in.Peek(1)
		for err == nil && b[0] == 0 && in.n > 0 {
			_, _ = in.ReadByte()
			b, err = in.Peek(1)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		at, before := in.n, s.space
		if err := z.Reset(in); err != nil {
			return s.damaged(at, "gzip", err)
		}
		z.Multistream(false)
		if err := s.unpack(&z, at, "gzip"); err != nil {
			return err
		}
		s.block(index.Block{At: at, Len: in.n - at, Size: s.space - before, Codec: codecGzip})
	}
}

// smallFrame is the size up to which a frame is unpacked as a whole. A stream would take
// memory for the window that the frame says it needs, which may be a lie.
const smallFrame = 8 << 20

// zstd reads frames, each of which is a block.
func (s *source) zstd() error {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return err
	}
	defer z.Close()

	for at := int64(0); at < s.f.Size(); {
		n, most, err := frame(s.f, at)
		if err != nil {
			return err
		}
		before := s.space
		switch {
		case most == 0:
		case most <= smallFrame:
			err = s.small(z, at, n, most)
		default:
			if err = z.Reset(io.NewSectionReader(s.f, at, n)); err == nil {
				err = s.unpack(z, at, "Zstandard")
			}
		}
		if err != nil {
			return err
		}
		s.block(index.Block{At: at, Len: n, Size: s.space - before, Codec: codecZstd})
		at += n
	}
	return nil
}

// small hands over a frame.
func (s *source) small(z *zstd.Decoder, at, n, most int64) error {
	frame, err := s.win.At(at, int(n))
	if err != nil {
		return err
	}
	text, err := z.DecodeAll(frame, slices.Grow(s.text[:0], int(most))[:0:most])
	if s.text = text; err != nil {
		return s.damaged(at, "Zstandard", err)
	}
	if len(text) == 0 {
		return nil
	}
	return s.hand(text)
}

// unpack hands over what a reader has.
func (s *source) unpack(r io.Reader, at int64, name string) error {
	for {
		n := 0
		var err error
		for n < len(s.buf) && err == nil {
			var k int
			k, err = r.Read(s.buf[n:])
			n += k
		}
		if s.space+int64(n) > mostUnpacked(s.f.Size()) {
			return shard.Wrong(s.f, at, shard.ErrCorrupt, "%d packed bytes become more than %d", s.f.Size(), mostUnpacked(s.f.Size()))
		}
		if n > 0 {
			if err := s.hand(s.buf[:n]); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return s.damaged(at, name, err)
		}
	}
}

func (s *source) damaged(at int64, name string, err error) error {
	kind := shard.ErrCorrupt
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		kind = shard.ErrTruncated
	}
	return &shard.Error{Shard: s.f.Name(), At: at, Err: fmt.Errorf("%w: %s: %w", kind, name, err)}
}

// block adds a block, if it has anything.
func (s *source) block(b index.Block) {
	if b.Size > 0 {
		s.found.Block(b)
	}
}

// counter is a reader that knows how much was taken from it. gzip reads no further than
// its members where it can read single bytes.
type counter struct {
	*bufio.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

func (c *counter) ReadByte() (byte, error) {
	b, err := c.Reader.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}
