package shard

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/where"
)

// Rows are chosen in groups, as the index has them. A group in which no number can match,
// or every one does, is decided by the least number and the width of the others, without
// a look at them. Columns that are not in the index are read, of those rows alone that
// nothing else has decided: neither numbers nor what a file says of ranges of its rows.

// Choose returns the samples of which an expression is true, as package where has it. It
// may have to read columns of text: at most so many bytes of a sample.
func (d *Dataset) Choose(ctx context.Context, rows string, most int64) (*order.Members, error) {
	d.life.RLock()
	defer d.life.RUnlock()
	if d.closed {
		return nil, ErrClosed
	}
	e, err := where.Parse(rows)
	if err != nil {
		return nil, err
	}
	all, err := d.Schema()
	if err != nil {
		return nil, err
	}
	c := &chooser{d: d, text: rows, most: most, fields: -1, schema: d.schemaOf(all)}
	of, err := c.test(ctx, e)
	if err != nil {
		return nil, err
	}

	words := make([]uint64, (d.Len()+63)/64)
	pieces := d.pieces()
	err = each(ctx, len(pieces), 0, 1, func(i int) error { return c.choose(ctx, of, pieces[i], words) })
	if err != nil {
		return nil, err
	}
	return order.MembersIn(words), nil
}

// rowsAtOnce is how many rows one goroutine decides about at a time: whole groups.
const rowsAtOnce = 64 << 10

// piece is neighbours in a shard.
type piece struct {
	shard, from, n int
	first          int64 // sample of the set
}

func (d *Dataset) pieces() (all []piece) {
	first := int64(0)
	for shard := range d.index.Shards {
		samples := int(d.index.Shards[shard].Samples)
		for from := 0; from < samples; from += rowsAtOnce {
			n := min(rowsAtOnce, samples-from)
			all = append(all, piece{shard, from, n, first})
			first += int64(n)
		}
	}
	return all
}

// chooser is an expression about the columns of a set.
type chooser struct {
	d      *Dataset
	text   string
	most   int64 // bytes of a sample
	schema *schemaOf

	numbers []string  // those of the index
	readers []*Reader // of all other columns
	fields  int       // the reader of those in records, which are parsed once; -1: there is none
}

// test is a part of the expression. It tells for which of the rows that matter it is
// true, and for which false. Its answers for others have no meaning.
type test interface {
	of(ctx context.Context, g *rowGroup, matter uint64) (truth, error)
	reads() bool // files
}

// truth has a bit for each row of a group. Neither bit is set if the truth is unknown.
type truth struct{ yes, no uint64 }

// rowGroup is the group of rows that is decided about.
type rowGroup struct {
	c       *chooser
	piece   piece
	name    string // of the shard
	segment *index.Segment
	index   *index.Numbers
	at      []numbered // by number of the chooser
	from, n int        // rows of the shard
	first   int64      // sample of the set
	ints    [64]int64
	reals   [64]float64
	read    []rowsRead // by reader
}

// choose sets the bits of those rows of a piece that are chosen. Pieces share words.
func (c *chooser) choose(ctx context.Context, of test, p piece, words []uint64) error {
	s, err := c.d.segment(p.shard)
	if err != nil {
		return err
	}
	g := &rowGroup{c: c, piece: p, name: c.d.shards[p.shard].key, segment: s, index: s.Numbers(), read: make([]rowsRead, len(c.readers))}
	for _, name := range c.numbers {
		g.at = append(g.at, numberOf(s, name))
	}
	for in := p.from; in < p.from+p.n; in += g.n {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if g.n, err = g.index.Seek(in); err != nil {
			return &Error{Shard: g.name, At: -1, Err: err}
		}
		g.n = min(g.n, p.from+p.n-in)
		g.from, g.first = in, p.first+int64(in-p.from)
		for i := range g.read {
			g.read[i].reset()
		}
		is, err := of.of(ctx, g, g.all())
		if err != nil {
			return err
		}

		word, shift := g.first/64, uint(g.first%64)
		if yes := is.yes & g.all(); yes != 0 {
			atomic.OrUint64(&words[word], yes<<shift)
			if rest := yes >> (64 - shift); rest != 0 {
				atomic.OrUint64(&words[word+1], rest)
			}
		}
	}
	return nil
}

// all has the bits of all rows.
func (g *rowGroup) all() uint64 { return 1<<g.n - 1 }

// allOf is true if all of its parts are.
type allOf []test

func (a allOf) of(ctx context.Context, g *rowGroup, matter uint64) (truth, error) {
	all := truth{yes: ^uint64(0)}
	for _, t := range a {
		one, err := t.of(ctx, g, matter&^all.no)
		if err != nil {
			return all, err
		}
		all.yes &= one.yes
		if all.no |= one.no; matter&^all.no == 0 {
			return truth{no: all.no}, nil
		}
	}
	return truth{all.yes &^ all.no, all.no}, nil
}

func (a allOf) reads() bool { return slices.ContainsFunc(a, test.reads) }

// anyOf is true if one of its parts is.
type anyOf []test

func (a anyOf) of(ctx context.Context, g *rowGroup, matter uint64) (truth, error) {
	all := truth{no: ^uint64(0)}
	for _, t := range a {
		one, err := t.of(ctx, g, matter&^all.yes)
		if err != nil {
			return all, err
		}
		all.no &= one.no
		if all.yes |= one.yes; matter&^all.yes == 0 {
			return truth{yes: all.yes}, nil
		}
	}
	return truth{all.yes, all.no &^ all.yes}, nil
}

func (a anyOf) reads() bool { return slices.ContainsFunc(a, test.reads) }

// not turns true and false round.
type not struct{ test }

func (n not) of(ctx context.Context, g *rowGroup, matter uint64) (truth, error) {
	is, err := n.test.of(ctx, g, matter)
	return truth{is.no, is.yes}, err
}

// numberIn is true of numbers of the index that are in a set.
type numberIn struct {
	number int
	sets   []*numberSet // by dtype
}

func (t *numberIn) reads() bool { return false }

func (t *numberIn) of(_ context.Context, g *rowGroup, _ uint64) (truth, error) {
	at := &g.at[t.number]
	if at.at < 0 { // a shard that lacks it has it in no sample
		return truth{}, nil
	}
	set, has := t.sets[at.compared()], g.all()
	if at.real {
		if at.some {
			has &^= g.index.NoFloats(g.n, g.from, at.at)
		}
		if has == 0 {
			return truth{}, nil
		}
		g.index.Floats(g.reals[:g.n], g.from, at.at)
		yes := set.hasReals(g.reals[:g.n])
		return truth{yes & has, has &^ yes}, nil
	}

	if at.some {
		has &^= g.index.Nones(g.n, g.from, at.at)
	}
	if all, none := set.between(g.index.Bounds(at.at)); all {
		return truth{yes: has}, nil
	} else if none || has == 0 {
		return truth{no: has}, nil
	}
	g.index.Ints(g.ints[:g.n], g.from, at.at)
	yes := set.hasInts(g.ints[:g.n])
	return truth{yes & has, has &^ yes}, nil
}

// noNumber is true of rows without a number of the index.
type noNumber struct{ number int }

func (t noNumber) reads() bool { return false }

func (t noNumber) of(_ context.Context, g *rowGroup, _ uint64) (truth, error) {
	at, none := &g.at[t.number], uint64(0)
	switch {
	case at.at < 0:
		none = g.all()
	case at.some && at.real:
		none = g.index.NoFloats(g.n, g.from, at.at)
	case at.some:
		none = g.index.Nones(g.n, g.from, at.at)
	}
	return truth{none, g.all() &^ none}, nil
}

// valueIs is true of values that are read, if a function says so.
type valueIs struct {
	reader, column int
	is             func(v *Value) (bool, error)
}

func (t *valueIs) reads() bool { return true }

func (t *valueIs) of(ctx context.Context, g *rowGroup, matter uint64) (all truth, err error) {
	for left := matter & g.all(); left != 0; left &= left - 1 {
		row := bits.TrailingZeros64(left)
		v, err := g.value(ctx, t.reader, t.column, row)
		if err != nil {
			return all, fmt.Errorf("%w\nrows= needs this value to decide whether the row comes", err)
		}
		if v.Null {
			continue
		}
		is, err := t.is(v)
		if err != nil {
			return all, fmt.Errorf("%w\nin %s, sample %d", err, g.name, g.from+row)
		}
		if is {
			all.yes |= 1 << row
		} else {
			all.no |= 1 << row
		}
	}
	return all, nil
}

// rowsRead are values of rows of a group.
type rowsRead struct {
	place  Place
	buffer []byte
	done   uint64 // rows that have been read
	values []Value
	memory []byte // of the values

	// of one column of text: where its parts are, and what was unpacked last
	parts  [index.GroupSize]index.Part
	placed bool // parts are those of the group
	lent   lent
	own    Value
}

func (r *rowsRead) reset() { r.done, r.memory, r.placed = 0, r.memory[:0], false }

// value returns a value of a row, which is read once.
func (g *rowGroup) value(ctx context.Context, reader, column, row int) (*Value, error) {
	from, to := g.c.readers[reader], &g.read[reader]
	n := len(from.columns)
	if to.done>>row&1 != 0 {
		return &to.values[row*n+column], nil
	}
	if k := &from.columns[0]; n == 1 && k.how == asIs && !k.IsNull {
		if v, ok := g.direct(ctx, reader, row); ok {
			return v, nil
		}
	}
	if to.values == nil {
		to.values = make([]Value, 64*n)
	}

	if err := from.locate(g.first+int64(row), &to.place); err != nil {
		return nil, err
	}
	if to.place.Bytes > g.c.most {
		return nil, TooLarge(to.place.Bytes, g.c.most)
	}
	to.buffer = slices.Grow(to.buffer[:0], int(to.place.Bytes))[:to.place.Bytes]
	values, _, err := from.read(ctx, &to.place, to.buffer)
	if err != nil {
		return nil, err
	}
	for k, v := range values {
		at := len(to.memory)
		to.memory = append(to.memory, v.Bytes...)
		to.values[row*n+k] = Value{Bytes: to.memory[at:len(to.memory):len(to.memory)], Null: v.Null}
	}
	to.done |= 1 << row
	return &to.values[row*n+column], nil
}
