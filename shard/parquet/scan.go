package parquet

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/internal/window"
)

// scan is under way through a file.
type scan struct {
	ctx   context.Context
	f     shard.File
	end   int64 // of what has pages
	found *index.Builder
	space int64 // how many unpacked bytes there are so far

	// memory that is used again
	unpacked []byte
	present  []uint32 // definition levels of a page
	ids      []uint32 // indexes into the dictionary, or repetition levels
	flat     []byte   // numbers of lists
	lengths  []int64
	wide     []int64
	elements []snappyElement
	win      *window.Reader
	last     int64 // where the column chunk ends that is read
}

// chunkReader goes through the pages of one column of one row group.
type chunkReader struct {
	*scan
	c     *column
	codec int
	into  *values
	left  int // rows, or elements of lists

	nesting nesting // of lists

	dict        values
	hasDict     bool
	dictNumbers []byte // the dictionary of lists
	at          int64  // of the page's data, for errors
	header      pageHeader
	head        int64 // where the page's header is
}

// values are those of a column, one a row. Which of the three there are depends on what
// the column means.
type values struct {
	spans  []span
	ints   []int64
	absent []bool // of ints or floats, rows without one; nil: there are none
	floats []float64
}

// span is where a value of bytes is, in the space of unpacked bytes. at is -1 where the
// value is null.
type span struct{ at, n int64 }

func (r *chunkReader) wrong(format string, args ...any) error {
	return shard.Wrong(r.f, r.at, shard.ErrCorrupt, "column %s: %s", r.c.name, fmt.Sprintf(format, args...))
}

func (r *chunkReader) failed(err error) error {
	return &shard.Error{Shard: r.f.Name(), At: r.at, Err: fmt.Errorf("column %s: a page: %w", r.c.name, err)}
}

func (r *chunkReader) unsupported(encoding int) error {
	r.c.refused = "its values are encoded as " + encodingName(encoding)
	return nil
}

// levels reads which of n rows have a value, and returns how many do.
func (r *chunkReader) levels(b []byte, n int) (present int, err error) {
	var ok bool
	if r.present, present, ok = definitionLevels(r.present[:0], b, r.c.levels, n); !ok {
		return 0, r.wrong("a page's definition levels are damaged")
	}
	return present, nil
}

// pageBlock makes a block of the page at hand, with its header, which unpacks to so many
// bytes.
func (r *chunkReader) pageBlock(size int64, codec int) {
	r.found.Block(index.Block{At: r.head, Len: r.at - r.head + r.header.packed, Size: size, Codec: uint64(codec)})
	r.space += size
}
