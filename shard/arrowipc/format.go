package arrowipc

import (
	"bytes"
	"context"
	"encoding/binary"

	"headrace/shard"
	"headrace/shard/index"
)

// Format is Arrow's IPC format, as files and as streams. It is a [shard.Unpacker].
type Format struct{}

var _ shard.Unpacker = Format{}

// Name returns "arrow".
func (Format) Name() string { return "arrow" }

// Suffixes returns ".arrow", ".feather" and ".ipc".
func (Format) Suffixes() []string { return []string{".arrow", ".feather", ".ipc"} }

const (
	magic        = "ARROW1"
	continuation = 0xffffffff
)

// Begins looks for the magic of a file, or for a stream's first message, the schema.
func (Format) Begins(head []byte) bool {
	if bytes.HasPrefix(head, []byte(magic)) {
		return true
	}
	if len(head) < 16 || binary.LittleEndian.Uint32(head) != continuation {
		return false
	}
	n := binary.LittleEndian.Uint32(head[4:])
	return n > 0 && n%8 == 0 && rootOf(head[8:]).byte(1) == headerSchema
}

// Scan finds the rows. It reads offsets, nulls and numbers, and no values of bytes.
func (Format) Scan(ctx context.Context, f shard.File, found *index.Builder) error {
	s := &scan{ctx: ctx, f: f, found: found, dictionaries: map[int64]*values{}}
	messages, err := s.messages()
	if err != nil {
		return err
	}
	for _, m := range messages {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.message(m); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// rowsPerByte is how many rows a byte of a file can stand for, beyond the first million.
// Columns of nulls take no bytes to speak of.
const rowsPerByte = 64

// emit gives the rows of a batch to the index.
func (s *scan) emit(rows int) error {
	if int64(s.found.Len())+int64(rows) > 1<<20+rowsPerByte*min(s.f.Size(), 1<<50) {
		return s.wrong("more rows than a file of %d bytes has", s.f.Size())
	}
	var leaves []*field
	var names [][]byte
	walkLeaves(s.schema, func(f *field) {
		if f.refused == "" {
			leaves = append(leaves, f)
			names = append(names, []byte(f.name))
		}
	})

	for row := range rows {
		s.found.Sample(nil)
		for i, f := range leaves {
			switch v := &f.values; f.meaning {
			case asInt:
				if v.absent != nil && v.absent[row] {
					s.found.None(f.name)
				} else {
					s.found.Int(f.name, v.ints[row])
				}
			case asFloat:
				s.found.Float(f.name, v.floats[row])
			default:
				if p := v.spans[row]; p.at >= 0 {
					s.found.Part(names[i], p.at, p.n)
				}
			}
		}
	}
	return nil
}
