package lines

import (
	"bytes"
	"context"
	"math"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
)

// splitter finds where lines begin and end, chunk after chunk, and keeps no text.
type splitter struct {
	f     shard.File
	found *index.Builder

	size  int64 // of the file, which bounds how many lines there are
	at    int64 // of the chunk that comes next, in the text
	begin int64 // of the line
	line  int   // its number, from 1
	last  byte  // the one before the chunk
}

// byteOrderMark may be what a file begins with.
const byteOrderMark = "\xef\xbb\xbf"

// longestLine is what lengths of samples can be.
const longestLine = math.MaxInt32

// linesPerByte is how many lines a byte of a file can stand for, beyond the first
// million.
const linesPerByte = 64

// scan reads a shard by lines: each sees what is between two line feeds, in as many
// pieces as it comes, and end is called at each line feed and at the end of the text.
func scan(ctx context.Context, f shard.File, found *index.Builder, l lineReader) error {
	s := &splitter{f: f, found: found, size: f.Size(), line: 1}
	src := source{ctx: ctx, f: f, found: found, take: func(p []byte) error { return s.take(p, l) }}
	if err := src.read(); err != nil {
		return err
	}
	if err := l.finish(s); err != nil {
		return err
	}
	return ctx.Err()
}

// lineReader is a format.
type lineReader interface {
	// piece sees a part of a line that has no line feed.
	piece(s *splitter, p []byte) error
	// end is told that the line ends before a place, where a line feed is.
	end(s *splitter, at int64) error
	// finish is told that the text ends.
	finish(s *splitter) error
}

func (s *splitter) take(p []byte, l lineReader) error {
	if s.at == 0 && bytes.HasPrefix(p, []byte(byteOrderMark)) {
		p = p[len(byteOrderMark):]
		s.at = int64(len(byteOrderMark))
		s.begin = s.at
	}
	for len(p) > 0 {
		n := bytes.IndexByte(p, '\n')
		piece := p
		if n >= 0 {
			piece = p[:n]
		}
		if len(piece) > 0 {
			if err := l.piece(s, piece); err != nil {
				return err
			}
			s.last = piece[len(piece)-1]
		}

		s.at += int64(len(piece))
		if s.at-s.begin > longestLine {
			return s.wrong(shard.ErrUnsupported, "it has more than %d bytes", longestLine)
		}
		if n < 0 {
			return nil
		}

		if err := l.end(s, s.at); err != nil {
			return err
		}
		s.at++
		s.last = '\n'
		s.line++
		p = p[n+1:]
	}
	return nil
}

// sample adds a sample whose one part ends at a place.
func (s *splitter) sample(name string, end int64) error {
	if int64(s.found.Len()) > 1<<20+linesPerByte*min(s.size, 1<<50) {
		return s.wrong(shard.ErrCorrupt, "more lines than a file of %d bytes has", s.size)
	}
	s.found.Sample(nil)
	s.found.Part([]byte(name), s.begin, end-s.begin)
	return nil
}

// trim returns where a line ends without its carriage return.
func (s *splitter) trim(end int64) int64 {
	if s.last == '\r' && end > s.begin {
		return end - 1
	}
	return end
}

func (s *splitter) wrong(kind error, format string, args ...any) error {
	return shard.Wrong(s.f, s.begin, kind, "line %d: "+format, append([]any{s.line}, args...)...)
}
