package arrowipc

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/internal/names"
)

// Format is Arrow's IPC format, as files and as streams. It is a [shard.Referring].
type Format struct{}

var (
	_ shard.Referring = Format{}
	_ shard.Reversed  = Format{}
)

// Reversed implements [shard.Reversed].
func (Format) Reversed() {}

// Name returns "arrow".
func (Format) Name() string { return "arrow" }

// Suffixes returns ".arrow", ".feather" and ".ipc".
func (Format) Suffixes() []string { return []string{".arrow", ".feather", ".ipc"} }

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
	s := &scan{ctx: ctx, f: f, found: found, dictionaries: map[int64]*values{}, names: map[int64]*names.Set{}}
	messages, err := s.messages()
	if err != nil {
		return err
	}
	if err := s.rewrites(messages); err != nil {
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
	walkLeaves(s.schema, func(f *field) {
		switch {
		case f.refused != "":
		case f.meaning == asList:
			found.Type(f.name, f.listType())
		case f.meaning == asText && f.dictionary != nil:
			found.Type(f.name, sample.TextType.As(s.logicalOf(f)))
		}
	})
	return ctx.Err()
}

// rewrites finds out whether elements of lists have to become others, so that all parts
// are in blocks: text, booleans, and floats of which some have no value.
func (s *scan) rewrites(messages []message) error {
	schema := s.schema
	for _, m := range messages {
		if s.blocks {
			return nil
		}
		s.at = m.at
		if m.head != headerSchema && !anyOf(schema, func(f *field) bool {
			return f.meaning == asTexts || f.meaning == asList && (f.layout == bits || isFloat(f.kind))
		}) {
			continue
		}

		t, err := s.metadata(m)
		if err != nil {
			return err
		}
		if m.head == headerSchema {
			if schema == nil {
				schema, _ = readSchema(t.table(2)) // of which message says what is wrong
			}
			continue
		}
		nodes := batchOf(t).pairs(1)
		s.blocks = m.head == headerBatch && needBlocks(schema, &nodes)
	}
	return nil
}

// anyOf tells whether there is a leaf of a kind.
func anyOf(all []*field, is func(f *field) bool) (found bool) {
	walkLeaves(all, func(f *field) { found = found || f.refused == "" && is(f) })
	return found
}

// needBlocks goes through the arrays of a batch, which follow each other.
func needBlocks(all []*field, nodes *[][2]int64) (need bool) {
	for _, f := range all {
		if len(*nodes) == 0 {
			return need
		}
		n := (*nodes)[0]
		*nodes = (*nodes)[1:]
		if f.refused == "" && f.meaning == asTexts {
			need = need || n[0] > 0
		}
		if f.refused == "" && f.meaning == asList {
			packed := f.layout == bits && n[0] > 0
			need = need || packed || n[1] > 0 && isFloat(f.kind) // missing numbers become NaN
		}
		if f.dictionary == nil {
			need = needBlocks(f.children, nodes) || need
		}
	}
	return need
}
