package arrowipc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/internal/names"
)

// scan is under way through a shard.
type scan struct {
	ctx          context.Context
	f            shard.File
	found        *index.Builder
	blocks       bool   // something is compressed, so that all parts are in blocks
	space        int64  // unpacked bytes so far
	at           int64  // of the message that is read, for errors
	column       string // which, for errors
	schema       []*field
	hasSchema    bool
	dictionaries map[int64]*values
	names        map[int64]*names.Set // of dictionaries of text
}

// message is where a message is. Its metadata is read again when its turn comes, as all
// together may be large.
type message struct {
	at, meta, body, end int64
	head                byte
}

func (s *scan) wrong(format string, args ...any) error {
	return shard.Wrong(s.f, s.at, shard.ErrCorrupt, "%s%s", s.column, fmt.Sprintf(format, args...))
}

// messages finds all messages, and whether any of them is compressed.
func (s *scan) messages() ([]message, error) {
	var head [8]byte
	b, err := s.bytes(0, min(int64(len(head)), s.f.Size()), head[:])
	if err != nil {
		return nil, err
	}
	switch {
	case string(b) == magic+"\x00\x00":
		return s.footer()
	case len(b) >= 4 && string(b[:4]) == "FEA1":
		return nil, shard.Wrong(s.f, 0, shard.ErrUnsupported, "it is Feather version 1: write version 2, which is Arrow IPC")
	}

	var all []message
	for at := int64(0); at < s.f.Size(); {
		m, err := s.find(at)
		if err != nil {
			return nil, err
		}
		if m.end == 0 { // the stream says that it ends
			return all, nil
		}
		all = append(all, m)
		at = m.end
	}
	if len(all) == 0 {
		return nil, shard.Wrong(s.f, 0, shard.ErrTruncated, "there is no message")
	}
	return all, nil
}

// bytes reads n bytes, into b where there is room. n is checked against the file first,
// so that no memory is taken for a lie.
func (s *scan) bytes(at, n int64, b []byte) ([]byte, error) {
	if at < 0 || n < 0 || n > s.f.Size()-at {
		return nil, shard.Wrong(s.f, s.at, shard.ErrTruncated, "%d bytes at %d are not all in the file, which has %d", n, at, s.f.Size())
	}
	if int64(len(b)) < n {
		b = make([]byte, n)
	}
	b = b[:n]
	if k, err := s.f.ReadAt(b, at); k < len(b) {
		if err == nil || errors.Is(err, io.EOF) {
			return nil, shard.Wrong(s.f, at+int64(k), shard.ErrTruncated, "the file has become shorter")
		}
		return nil, &shard.Error{Shard: s.f.Name(), At: at, Err: err}
	}
	return b, nil
}

// find reads what is before a message. The end of a message that is none is 0.
func (s *scan) find(at int64) (m message, err error) {
	s.at = at
	var head [8]byte
	b, err := s.bytes(at, min(8, s.f.Size()-at), head[:])
	if err != nil {
		return m, err
	}
	if len(b) < 4 {
		return m, shard.Wrong(s.f, at, shard.ErrTruncated, "a message ends in its length")
	}
	n, meta := int64(binary.LittleEndian.Uint32(b)), at+4
	if n == continuation { // before version 0.15 the length came alone
		if len(b) < 8 {
			return m, shard.Wrong(s.f, at, shard.ErrTruncated, "a message ends in its length")
		}
		n, meta = int64(binary.LittleEndian.Uint32(b[4:])), at+8
	}
	if n == 0 {
		return m, nil
	}

	m = message{at: at, meta: meta, body: meta + n}
	t, err := s.metadata(m)
	if err != nil {
		return m, err
	}
	body := t.int64(3)
	if body < 0 || body > s.f.Size()-m.body {
		return m, shard.Wrong(s.f, at, shard.ErrTruncated, "a message has %d bytes, and %d are left", body, s.f.Size()-m.body)
	}
	m.end, m.head = m.body+body, t.byte(1)
	s.blocks = s.blocks || batchOf(t).table(3).at > 0
	return m, nil
}

func (s *scan) metadata(m message) (table, error) {
	b, err := s.bytes(m.meta, m.body-m.meta, nil)
	if err != nil {
		return table{}, err
	}
	t := rootOf(b)
	if h := t.byte(1); h < headerSchema || h > headerBatch || t.table(2).at == 0 {
		return t, s.wrong("it is not an Arrow IPC message with a schema or with rows")
	}
	return t, nil
}

// batchOf returns the record batch of a message; there is none in a schema's.
func batchOf(t table) table {
	switch t.byte(1) {
	case headerBatch:
		return t.table(2)
	case headerDictionary:
		return t.table(2).table(1)
	}
	return table{}
}

// footer finds the messages of a file. Those of dictionaries come first.
func (s *scan) footer() ([]message, error) {
	const tail = 4 + len(magic)
	size := s.f.Size()
	s.at = max(0, size-int64(tail))
	if size < 8+int64(tail) {
		return nil, shard.Wrong(s.f, size, shard.ErrTruncated, "an Arrow IPC file has a footer")
	}
	var end [tail]byte
	if _, err := s.bytes(s.at, int64(tail), end[:]); err != nil {
		return nil, err
	}
	if string(end[4:]) != magic {
		return nil, shard.Wrong(s.f, s.at, shard.ErrTruncated, "an Arrow IPC file ends with %q, this one with %q", magic, end[4:])
	}

	n := int64(int32(binary.LittleEndian.Uint32(end[:])))
	if n < 4 || n > size-int64(tail)-8 {
		return nil, s.wrong("a footer of %d bytes in a file of %d", n, size)
	}
	b, err := s.bytes(s.at-n, n, nil)
	if err != nil {
		return nil, err
	}

	t := rootOf(b)
	if err := s.readSchema(t.table(1)); err != nil {
		return nil, err
	}
	var all []message
	for i := 2; i <= 3; i++ {
		blocks, _ := t.vector(i, 24)
		for ; len(blocks) > 0; blocks = blocks[24:] {
			m, err := s.find(int64(binary.LittleEndian.Uint64(blocks)))
			if err != nil {
				return nil, err
			}
			if m.end == 0 || m.head == headerSchema {
				return nil, s.wrong("the footer names a message that has no rows")
			}
			all = append(all, m)
		}
	}
	return all, nil
}

func (s *scan) readSchema(t table) error {
	if t.at == 0 {
		return s.wrong("there is no schema")
	}
	if s.hasSchema {
		return s.wrong("there are two schemas")
	}
	if t.int16(0, 0) != 0 {
		return shard.Wrong(s.f, s.at, shard.ErrUnsupported, "its numbers are big-endian")
	}
	var err error
	if s.schema, err = readSchema(t); err != nil {
		return &shard.Error{Shard: s.f.Name(), At: s.at, Err: err}
	}
	s.hasSchema = true
	announce(s.schema, s.found)
	return nil
}
