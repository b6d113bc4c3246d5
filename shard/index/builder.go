// Package index keeps where the samples of shards are.
package index

import (
	"math"

	"github.com/headrace/headrace/sample"
)

// Block is a range of a file that is unpacked as one: compressed bytes that need no
// others. The blocks of a shard follow each other in the space of its unpacked bytes.
type Block struct {
	At, Len int64  // in the file
	Size    int64  // unpacked
	Codec   uint64 // the format's own number of how it is packed, or Stored
}

// Stored is the codec of a block that is not packed: its Len is its Size, and any range
// of it can be read without the rest.
const Stored = 0

// Summed is the codec of a block that is not packed either, and is read as a whole: the
// lowest 32 bits are the CRC-32 of its bytes.
const Summed = 1 << 40

// Plain tells whether a block is in the file as it is.
func (b Block) Plain() bool { return b.Codec == Stored || b.Codec&Summed != 0 }

// Part is one value of a sample: a range of the file or, of a shard that has blocks, of
// its unpacked bytes.
type Part struct {
	Field   int // an index into Builder.Fields
	At, Len int64
}

// Builder takes what the scan of a shard finds, sample after sample.
type Builder struct {
	Fields  []string // names of parts and numbers, as they came first
	Blocks  []Block
	Keys    []byte // all, one after the other
	KeyEnds []int64
	Parts   []Part // all, one sample after the other
	Ends    []int  // of samples, in Parts
	Ints    map[string][]int64
	Floats  map[string][]float64
	Absent  map[string][]int64     // samples that have none of Ints or Floats, in order
	Types   map[string]sample.Type // of parts and numbers; those that are not in it are bytes, int64 and float64
	Header  []byte                 // what Parse needs besides a record: see shard.Headed
	Refused map[string]string      // fields that cannot be read, and why
	Columns []string               // names in the order of the file, if it has one; others come after them

	Replaces bool // names in Header need not be UTF-8: they are replaced when it is read

	known map[string]int
}

// Block adds a block.
func (b *Builder) Block(k Block) { b.Blocks = append(b.Blocks, k) }

// Sample begins the next sample. Its key is a name for people, as that of a file without
// what follows the dot; empty: it has none.
func (b *Builder) Sample(key []byte) {
	b.Keys = append(b.Keys, key...)
	b.KeyEnds = append(b.KeyEnds, int64(len(b.Keys)))
	b.Ends = append(b.Ends, len(b.Parts))
}

// Part adds a part to the sample that was begun last. No name comes twice in a sample.
func (b *Builder) Part(name []byte, at, n int64) {
	f, ok := b.known[string(name)]
	if !ok {
		f = b.field(string(name))
	}
	b.Parts = append(b.Parts, Part{f, at, n})
	b.Ends[len(b.Ends)-1] = len(b.Parts)
}

// Type says what the parts of a name are, once for all samples: their elements are in
// native order, as many as their length holds where one extent is open.
func (b *Builder) Type(name string, t sample.Type) {
	if b.Types == nil {
		b.Types = map[string]sample.Type{}
	}
	b.Types[name] = t
}

// Int gives the sample that was begun last a number, which is kept in the index itself.
// Samples that are given none have 0.
func (b *Builder) Int(name string, v int64) {
	if b.Ints == nil {
		b.Ints = map[string][]int64{}
	}
	b.Ints[name] = append(upTo(b.Ints[name], b.Len()-1), v)
}

// None says that the sample that was begun last has none of the numbers of Int.
func (b *Builder) None(name string) {
	b.Int(name, 0)
	b.absent(name)
}

func (b *Builder) absent(name string) {
	if b.Absent == nil {
		b.Absent = map[string][]int64{}
	}
	b.Absent[name] = append(b.Absent[name], int64(b.Len()-1))
}

// Missing is the float of a sample that has none: NaN, as NumPy writes it. Go's has
// another last bit.
var Missing = math.Float64frombits(0x7ff8 << 48)

// AddInts is Int and None for the samples that were begun last, as many as there are
// values: absent tells which of the first have none. Columns of many rows cost no look at
// their name for each.
func (b *Builder) AddInts(name string, values []int64, absent []bool) {
	if b.Ints == nil {
		b.Ints = map[string][]int64{}
	}
	from := b.Len() - len(values)
	column := append(upTo(b.Ints[name], from), values...)
	for _, k := range b.addAbsent(name, from, absent) {
		column[k] = 0
	}
	b.Ints[name] = column
}

// AddFloats is AddInts for other numbers.
func (b *Builder) AddFloats(name string, values []float64, absent []bool) {
	if b.Floats == nil {
		b.Floats = map[string][]float64{}
	}
	from := b.Len() - len(values)
	column := append(upTo(b.Floats[name], from), values...)
	for _, k := range b.addAbsent(name, from, absent) {
		column[k] = Missing
	}
	b.Floats[name] = column
}

// addAbsent notes those of the samples from one on that have no number, and returns which
// they are.
func (b *Builder) addAbsent(name string, from int, absent []bool) (added []int64) {
	all := b.Absent[name]
	before := len(all)
	for k, none := range absent {
		if none {
			all = append(all, int64(from+k))
		}
	}
	if len(all) > before {
		if b.Absent == nil {
			b.Absent = map[string][]int64{}
		}
		b.Absent[name] = all
	}
	return all[before:]
}

// Float is Int for other numbers.
func (b *Builder) Float(name string, v float64) {
	if b.Floats == nil {
		b.Floats = map[string][]float64{}
	}
	b.Floats[name] = append(upTo(b.Floats[name], b.Len()-1), v)
}

// NoFloat is None of the numbers of Float: it is read as NaN, and told from a NaN that is
// in the file.
func (b *Builder) NoFloat(name string) {
	b.Float(name, Missing)
	b.absent(name)
}

// Refuse says that samples have a field which cannot be read, and why. The others can;
// the reason is given to those who ask for this one, also where some samples have it.
func (b *Builder) Refuse(name, why string) {
	if b.Refused == nil {
		b.Refused = map[string]string{}
	}
	b.Refused[name] = why
}

// upTo makes room for samples that were given no number.
func upTo[T any](all []T, n int) []T {
	return append(all, make([]T, n-len(all))...)
}

// Len is how many samples were begun.
func (b *Builder) Len() int { return len(b.Ends) }

func (b *Builder) field(name string) int {
	if b.known == nil {
		b.known = map[string]int{}
	}
	b.known[name] = len(b.Fields)
	b.Fields = append(b.Fields, name)
	return len(b.Fields) - 1
}

// Of returns the key and the parts of a sample.
func (b *Builder) Of(i int) (key []byte, parts []Part) {
	var from, part int
	if i > 0 {
		from, part = int(b.KeyEnds[i-1]), b.Ends[i-1]
	}
	return b.Keys[from:b.KeyEnds[i]], b.Parts[part:b.Ends[i]]
}
