package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/tensor"
)

// A Target is the memory into which [Gatherer.Gather] lays the values of a column.
type Target struct {
	Data  []byte        // numbers, and arrays of one shape, row after row
	Texts *sample.Texts // everything else
}

// A RowError is why a row could not be gathered: its number among the indices.
type RowError struct {
	Row int
	Err error
}

func (e *RowError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *RowError) Unwrap() error { return e.Err }

// RowFrom makes a [RowError] of some of the samples one of all of them: these begin at
// first, and each has so many rows.
func RowFrom(err error, first, each int) error {
	if bad := (*RowError)(nil); errors.As(err, &bad) {
		return &RowError{Row: first + bad.Row/each, Err: bad.Err}
	}
	return err
}

// A Gatherer lays the values of many samples into columns. Numbers of the index go there
// directly, by groups of neighbours; of other columns one sample after the other is read.
// It is for one goroutine.
type Gatherer struct {
	r       *Reader
	columns []gathered
	rows    *Rows // nil: each is read from the index
	found   []found
	wide    []byte  // a column of a group
	others  *Reader // of columns that are not in the index; nil: there are none
	other   []int   // of its columns, the number in columns
	keys    int     // the column of the keys; -1: there is none
	shards  []*numbersOf
	at      shardRange
	ints    [groupAtOnce]int64
	reals   [groupAtOnce]float64
	files   filesOf
	most    int64 // bytes of a sample
	named   []shardName
	times   uint64 // that Gather was called
}

// shardName is the number of a shard's name among those of the keys that are gathered.
type shardName struct {
	in uint64 // which call of Gather
	is uint32
}

// groupAtOnce is how many numbers are converted at once.
const groupAtOnce = 64

// gathered is a column of a Gatherer.
type gathered struct {
	of   int // column of the reader; -1: the sample's key
	size int // of a row in Data; 0: it goes to Texts
}

// numbersOf are the numbers of a shard.
type numbersOf struct {
	index *index.Numbers
	at    []numbered // by column of the Gatherer
}

// shardRange is the shard of the last sample, whose samples have the numbers from, …,
// end-1.
type shardRange struct {
	shard     int
	from, end int64
}

// Keys is the number of the column that is each sample's key, for [Reader.Gatherer].
const Keys = -1

// Gatherer returns a gatherer of these columns of the reader. Samples may have so many
// bytes in them. Rows are memory for the same columns; nil: there is none.
func (r *Reader) Gatherer(columns []int, most int64, rows *Rows) (*Gatherer, error) {
	g := &Gatherer{r: r, shards: make([]*numbersOf, len(r.d.shards)), most: most, rows: rows, wide: make([]byte, 8*groupAtOnce)}
	g.keys = slices.Index(columns, Keys)
	var others []column
	for i, k := range columns {
		to := gathered{of: k}
		if k != Keys {
			c := &r.columns[k]
			if c.Type.Kind == sample.Tensor && tensor.Shape(c.Type.Shape).Fixed() {
				n, err := tensor.Shape(c.Type.Shape).Bytes(c.Type.DType)
				if err != nil {
					return nil, err
				}
				to.size = int(n)
			}
			if !r.counted(k) {
				others, g.other = append(others, *c), append(g.other, i)
			}
		}
		g.columns = append(g.columns, to)
	}
	if others != nil {
		g.others = &Reader{d: r.d, columns: others, want: r.want, reading: r.reading, wiring: make([]wiringOf, len(r.d.shards))}
	}
	return g, nil
}

// Indexed reports whether all of these columns are in the index, so that nothing is read.
func (r *Reader) Indexed(columns []int) bool {
	return !slices.ContainsFunc(columns, func(k int) bool { return k != Keys && !r.counted(k) })
}

// Gather lays the values of samples into the targets, one for each column; Data has room
// for all of them, and Texts are appended to. It returns how many bytes were read from
// files. The error of a sample is a *RowError.
func (g *Gatherer) Gather(ctx context.Context, samples []int64, into []Target) (read int64, err error) {
	g.r.d.life.RLock()
	defer g.r.d.life.RUnlock()
	if g.r.d.closed {
		return 0, ErrClosed
	}
	g.times++
	if err := g.fromIndex(samples, into); err != nil {
		return 0, err
	}
	if g.others == nil {
		return read, nil
	}

	return g.fromFiles(ctx, samples, into)
}

// inOrder is how many neighbours are read faster from the index than from decoded rows.
const inOrder = 16

// fromIndex gathers the numbers of the index.
func (g *Gatherer) fromIndex(samples []int64, into []Target) error {
	g.found = g.found[:0]
	if g.rows != nil {
		g.rows.clock.Add(1)
	}
	for row := 0; row < len(samples); {
		i := samples[row]
		if i < g.at.from || i >= g.at.end {
			shard, in := g.r.d.index.Find(i)
			g.at = shardRange{shard, i - int64(in), i - int64(in) + g.r.d.index.Shards[shard].Samples}
		}
		if ends := row + inOrder; g.rows != nil && (ends >= len(samples) || samples[ends] != i+inOrder) {
			ok, err := g.remember(i, row, into)
			if err != nil {
				return &RowError{row, err}
			}
			if ok {
				row++
				continue
			}
		}
		n, err := g.neighbours(samples[row:], row, into)
		if err != nil {
			return err
		}
		row += n
	}
	g.spread(into)
	clear(g.found) // blocks that are kept no longer go
	return nil
}

// remember finds a decoded row; false: its block cannot be decoded.
func (g *Gatherer) remember(i int64, row int, into []Target) (bool, error) {
	in := int(i - g.at.from)
	b, err := g.block(g.at.shard, in)
	if err != nil || b.data == nil {
		return false, err
	}
	if now := g.rows.clock.Load(); b.used.Load() != now {
		b.used.Store(now)
	}
	if g.keys >= 0 {
		g.addKey(into[g.keys].Texts, in, b.keyless)
	}
	size := g.rows.size
	at := in % rowsPerBlock * size
	g.found = append(g.found, found{b.data[at : at+size], row})
	return true, nil
}

// indexed reports whether a column is in the index.
func (g *Gatherer) indexed(k int) bool { return g.r.counted(g.columns[k].of) }

// counted reports whether a column of the reader is a number of the index as it is.
func (r *Reader) counted(k int) bool { return k != Keys && r.columns[k].how == number }

// neighbours gathers the numbers of the first of the samples and of those after it that
// follow it in its group, and returns their count.
func (g *Gatherer) neighbours(samples []int64, row int, into []Target) (n int, err error) {
	i := samples[0]
	of, err := g.numbers(g.at.shard)
	if err != nil {
		return 0, &RowError{row, err}
	}
	in := int(i - g.at.from)
	left, err := of.index.Seek(in)
	if err != nil {
		return 0, &RowError{row, &Error{Shard: g.r.d.shards[g.at.shard].key, At: -1, Err: err}}
	}
	for n = 1; n < min(left, len(samples)) && samples[n] == i+int64(n); {
		n++
	}

	for k := range g.columns {
		switch c := &g.columns[k]; {
		case c.of == Keys:
			g.addKeys(into[k].Texts, in, n, of.index)
		case g.indexed(k):
			dst := into[k].Data[row*c.size:][:n*c.size]
			if bad, err := g.put(dst, n, in, of, k); err != nil {
				if errors.Is(err, ErrNoValue) {
					err = g.r.columns[c.of].needsOne()
				}
				return 0, &RowError{row + bad, fmt.Errorf("field %q: %w\nin %s, sample %d",
					g.r.columns[c.of].From, err, g.r.d.shards[g.at.shard].key, in+bad)}
			}
		}
	}
	return n, nil
}

// numbers returns the numbers of a shard.
func (g *Gatherer) numbers(shard int) (*numbersOf, error) {
	if of := g.shards[shard]; of != nil {
		return of, nil
	}
	s, err := g.r.d.segment(shard)
	if err != nil {
		return nil, err
	}
	of := &numbersOf{index: s.Numbers(), at: make([]numbered, len(g.columns))}
	for k, c := range g.columns {
		if g.indexed(k) {
			of.at[k] = numberOf(s, g.r.columns[c.of].From)
		}
	}
	g.shards[shard] = of
	return of, nil
}

// put sets dst to a number of n neighbours. If one of them has none, or one that its type
// does not hold, it returns which.
func (g *Gatherer) put(dst []byte, n, in int, of *numbersOf, k int) (bad int, err error) {
	d := g.r.columns[g.columns[k].of].Type.DType
	from := &of.at[k]
	switch {
	case from.at < 0: // a shard that lacks it has it in no sample
		one, err := appendNull(nil, d)
		for ; err == nil && len(dst) > 0; dst = dst[len(one):] {
			copy(dst, one)
		}
		return 0, err
	case from.real:
		reals := g.reals[:n]
		of.index.Floats(reals, in, from.at)
		return putReals(dst, reals, d)
	}

	ints := g.ints[:n]
	of.index.Ints(ints, in, from.at)
	if from.some {
		if bad := of.index.None(n, in, from.at); bad >= 0 {
			return g.putSome(dst, ints, in, of, from, d)
		}
	}
	return putInts(dst, ints, from.dtype, d)
}

// putSome is put for samples of which some have no number.
func (g *Gatherer) putSome(dst []byte, ints []int64, in int, of *numbersOf, from *numbered, d tensor.DType) (bad int, err error) {
	size := len(dst) / len(ints)
	for k := range ints {
		to := dst[k*size : k*size : (k+1)*size]
		if of.index.None(1, in+k, from.at) < 0 {
			_, err = appendBits(to, ints[k], from.dtype, d)
		} else {
			_, err = appendNull(to, d)
		}
		if err != nil {
			return k, err
		}
	}
	return 0, nil
}

// putInts sets dst to whole numbers of one type as another.
func putInts(dst []byte, ints []int64, of, d tensor.DType) (bad int, err error) {
	ok := false
	switch {
	case of == tensor.Uint64 && d != tensor.Uint64: // whose upper half the rest takes for negative
	case d == tensor.Int64, d == tensor.Uint64 && of == d:
		copy(as[int64](dst), ints)
		ok = true
	case d == tensor.Int32:
		ok = narrow[int32](dst, ints)
	case d == tensor.Uint32:
		ok = narrow[uint32](dst, ints)
	case d == tensor.Int16:
		ok = narrow[int16](dst, ints)
	case d == tensor.Uint16:
		ok = narrow[uint16](dst, ints)
	case d == tensor.Int8:
		ok = narrow[int8](dst, ints)
	case d == tensor.Uint8:
		ok = narrow[uint8](dst, ints)
	}
	if ok {
		return 0, nil
	}
	size := len(dst) / len(ints)
	for k, v := range ints { // as a rule it is another type that was asked for
		if _, err := appendBits(dst[k*size:k*size:(k+1)*size], v, of, d); err != nil {
			return k, err
		}
	}
	return 0, nil
}

// narrow sets dst to numbers of fewer bits, and reports whether all of them fit.
func narrow[T int8 | uint8 | int16 | uint16 | int32 | uint32](dst []byte, ints []int64) bool {
	to := as[T](dst)[:len(ints)]
	lost := int64(0)
	for k, v := range ints {
		to[k] = T(v)
		lost |= v ^ int64(to[k])
	}
	return lost == 0
}

// putReals sets dst to real numbers.
func putReals(dst []byte, reals []float64, d tensor.DType) (bad int, err error) {
	switch d {
	case tensor.Float64:
		copy(as[float64](dst), reals)
		return 0, nil
	case tensor.Float32:
		to := as[float32](dst)[:len(reals)]
		for k, v := range reals {
			to[k] = float32(v)
		}
		if !slices.ContainsFunc(to, func(v float32) bool { return v-v != 0 }) { // none is infinite, or NaN
			return 0, nil
		}
	}
	size := len(dst) / len(reals)
	for k, v := range reals {
		if _, err := appendReal(dst[k*size:k*size:(k+1)*size], v, d); err != nil {
			return k, err
		}
	}
	return 0, nil
}

// as returns aligned memory as numbers. Columns of batches are aligned.
func as[T any](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(T))))
}

// addKeys adds the names of n neighbours.
func (g *Gatherer) addKeys(to *sample.Texts, in, n int, of *index.Numbers) {
	if of.Keyless() {
		to.Count(g.name(to), int64(in), n)
		return
	}
	for j := range n {
		g.addKey(to, in+j, false)
	}
}

// addKey adds the name of a sample for people: its key, or that of its shard and a
// number.
func (g *Gatherer) addKey(to *sample.Texts, in int, keyless bool) {
	if keyless || !g.ownKey(to, in) {
		to.Count(g.name(to), int64(in), 1)
	}
}

// ownKey adds the key of a sample; false: it has none.
func (g *Gatherer) ownKey(to *sample.Texts, in int) bool {
	of, err := g.numbers(g.at.shard)
	if err != nil {
		return false
	}
	to.Spell()
	before := len(to.Bytes)
	if to.Bytes, err = of.index.Key(in, to.Bytes); err == nil && len(to.Bytes) > before {
		to.End()
		return true
	}
	to.Bytes = to.Bytes[:before]
	return false
}

// name returns the number of the shard's name among those of the keys.
func (g *Gatherer) name(to *sample.Texts) uint32 {
	if g.named == nil {
		g.named = make([]shardName, len(g.r.d.shards))
	}
	it := &g.named[g.at.shard]
	if it.in != g.times {
		*it = shardName{g.times, to.Name(g.r.d.names[g.at.shard])}
	}
	return it.is
}
