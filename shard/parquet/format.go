package parquet

import (
	"context"
	"strings"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/internal/window"
)

// Format is Parquet. It is a [shard.Referring].
type Format struct{}

var _ shard.Referring = Format{}

// Name returns "parquet".
func (Format) Name() string { return "parquet" }

// Suffixes returns ".parquet" and ".pq".
func (Format) Suffixes() []string { return []string{".parquet", ".pq"} }

// Begins looks for the magic; files whose footer is encrypted have another one.
func (Format) Begins(head []byte) bool {
	return strings.HasPrefix(string(head), magic) || strings.HasPrefix(string(head), "PARE")
}

// Scan finds the rows. It reads all columns that can be read, once.
func (Format) Scan(ctx context.Context, f shard.File, found *index.Builder) error {
	m, err := readFooter(f)
	if err != nil {
		return err
	}
	columns, err := m.columns(f)
	if err != nil {
		return err
	}
	if err := m.check(f, len(columns)); err != nil {
		return err
	}
	announce(columns, found)

	s := scan{ctx: ctx, f: f, end: m.at, found: found, win: window.New(f)}
	values := make([]values, len(columns))
	for i := range m.groups {
		g := &m.groups[i]
		for j, c := range columns {
			if c.refused != "" {
				continue
			}
			if err := s.chunk(c, &g.chunks[j], g, m.most(f), &values[j]); err != nil {
				return err
			}
			if c.refused != "" {
				found.Refuse(c.name, c.refused)
			}
		}
		emit(found, columns, values, int(g.rows))
	}
	for _, c := range columns {
		if c.list && c.refused == "" {
			found.Type(c.name, c.listType())
		}
		if c.dictionary && c.refused == "" && !c.names.TooBig {
			found.Type(c.name, sample.TextType.As(&sample.Logical{Name: sample.Dictionary, Names: c.names.All}))
		}
	}
	return ctx.Err()
}

// rowsPerByte is how many rows a byte of a file can stand for, beyond the first million.
// Columns of one value take no bytes to speak of, so that a small file could claim any
// number of rows, and be right.
const rowsPerByte = 64

// most is how many rows a file can have, or numbers in the lists of a row group.
func (m *footer) most(f shard.File) int64 { return 1<<20 + rowsPerByte*min(f.Size(), 1<<50) }

// check compares the counts of a footer with each other and with the file.
func (m *footer) check(f shard.File, columns int) error {
	total, most := int64(0), m.most(f)
	for i, g := range m.groups {
		if len(g.chunks) != columns {
			return shard.Wrong(f, m.at, shard.ErrCorrupt, "row group %d has %d columns, and the schema %d", i, len(g.chunks), columns)
		}
		if g.rows < 0 || g.rows > most-total {
			return shard.Wrong(f, m.at, shard.ErrCorrupt, "row group %d is said to have %d rows, "+
				"more than a file of %d bytes has", i, g.rows, f.Size())
		}
		total += g.rows
	}
	if total != m.rows {
		return shard.Wrong(f, m.at, shard.ErrCorrupt, "the row groups have %d rows, and the file is said to have %d", total, m.rows)
	}
	return nil
}

// emit gives the rows of a group to the index: parts row by row, then numbers column by
// column.
func emit(found *index.Builder, columns []*column, values []values, rows int) {
	var parts []int
	var names [][]byte
	for i, c := range columns {
		if c.refused == "" && (c.list || !c.isNumber()) {
			parts, names = append(parts, i), append(names, []byte(c.name))
		}
	}
	for row := range rows {
		found.Sample(nil)
		for k, i := range parts {
			if s := values[i].spans[row]; s.at >= 0 {
				found.Part(names[k], s.at, s.n)
			}
		}
	}

	for i, c := range columns {
		switch v := &values[i]; {
		case c.refused != "" || c.list:
		case c.meaning == asInt:
			found.AddInts(c.name, v.ints[:rows], v.absent[:min(rows, len(v.absent))])
		case c.meaning == asFloat:
			found.AddFloats(c.name, v.floats[:rows], v.absent[:min(rows, len(v.absent))])
		}
	}
}
