package export

import (
	"bytes"
	"io"
	"maps"
	"slices"

	"github.com/headrace/headrace"
)

// kind is a form of shards.
type kind struct {
	suffix string   // of their names
	beside string   // that of the second file of each; "": there is none
	images []string // how pictures can be written, the usual first
	end    []byte   // what ends a shard
	open   func(o Options, run Run) (records, error)
}

// kinds are all there are, by what --out calls them. Each registers itself.
var kinds = map[string]kind{}

// Targets returns the beginnings of targets.
func Targets() (all []string) {
	for _, name := range append(slices.Sorted(maps.Keys(kinds)), "npy") {
		all = append(all, name+":")
	}
	return all
}

// format writes samples to files.
type format interface {
	write(columns []column, rows, epoch int) error
	due() bool               // the journal should be written now
	sync() ([]File, error)   // force all to the disk, and say how far that is
	finish() ([]File, error) // complete all files
	describe(headrace.Field) FieldFile
	noted() error // the journal or the manifest says what sync or finish has returned
	close()       // leave them as they are
}

// records encode samples as parts of a shard.
type records interface {
	// encode writes a sample into a block. The number is that of the sample among all.
	// Several are encoded at once; scratch may be used, and is returned for the next.
	// Nothing in a block depends on when or by whom it is made.
	encode(block *bytes.Buffer, scratch []byte, columns []column, row int, number int64, epoch int) ([]byte, error)
	describe(i int, f headrace.Field) FieldFile
}

// converter are records that are not the shard yet: it is made of them when all are
// there, since its beginning or end says what is in it.
type converter interface {
	// convert writes the shard, and what is beside it, if its kind has such. What it
	// reads are the blocks of the samples, one after the other.
	convert(blocks io.Reader, samples int64, shard, beside io.Writer) error
}
