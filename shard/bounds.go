package shard

import (
	"context"
	"slices"
	"sync"

	"github.com/headrace/headrace/shard/where"
)

// Bounded is a format that has statistics of columns of text, so that ranges of samples
// need not be read for what none of them can be.
type Bounded interface {
	Format
	// Bounds returns what is known of a column: of the first samples of a shard, of those
	// after them, and so on; nil: nothing is.
	Bounds(f File, column string) ([]Bound, error)
}

// Bound says between which texts a column is, bytewise, of some samples.
type Bound struct {
	Samples     int64
	Known       bool
	Least, Most string // which need not be texts of the column
}

// rules tells whether a comparison with one of the values, which are in order, is true of
// no text, or of every one, that is within the bound.
func (b *Bound) rules(op where.Op, values []string) (none, all bool) {
	if !b.Known {
		return false, false
	}
	if op == where.Equal {
		i, _ := slices.BinarySearch(values, b.Least)
		none = i == len(values) || values[i] > b.Most
		return none, !none && b.Least == b.Most
	}
	v := values[0]
	switch op {
	case where.Unequal:
		return v == b.Least && v == b.Most, v < b.Least || v > b.Most
	case where.Less:
		return v <= b.Least, v > b.Most
	case where.AtMost:
		return v < b.Least, v >= b.Most
	case where.More:
		return v >= b.Most, v < b.Least
	}
	return v > b.Most, v <= b.Least
}

// textBounds has the bounds of a column, by shard.
type textBounds struct {
	c      *chooser
	column string
	shards []shardBounds
}

type shardBounds struct {
	once sync.Once
	all  []Bound
	err  error
}

// of returns the bounds of the column in a shard.
func (t *textBounds) of(shard int) ([]Bound, error) {
	s := &t.shards[shard]
	s.once.Do(func() {
		f, ok := t.c.d.formatOf(shard).(Bounded)
		if !ok {
			return
		}
		h, err := t.c.d.handles.take(shard)
		if err != nil {
			s.err = err
			return
		}
		defer t.c.d.handles.give(h)
		s.all, s.err = f.Bounds(h.file, t.column)
	})
	return s.all, s.err
}

// over returns one bound for n rows of a shard from one on.
func over(all []Bound, from, n int) (b Bound) {
	first, end := int64(from), int64(from+n)
	at, begun := int64(0), false
	for _, one := range all {
		if at >= end {
			break
		}
		if at += one.Samples; at <= first || one.Samples == 0 {
			continue
		}
		if !begun {
			b, begun = one, true
			continue
		}
		b = Bound{Known: b.Known && one.Known, Least: min(b.Least, one.Least), Most: max(b.Most, one.Most)}
	}
	if b.Known = b.Known && at >= end; !b.Known {
		return Bound{}
	}
	return b
}

// textIs compares text, bytewise, which is by code points.
type textIs struct {
	valueIs
	op     where.Op
	values []string    // in order
	bounds *textBounds // nil: nothing is known
}

func (t *textIs) of(ctx context.Context, g *rowGroup, matter uint64) (truth, error) {
	if t.bounds == nil {
		return t.valueIs.of(ctx, g, matter)
	}
	known, err := t.bounds.of(g.piece.shard)
	if err != nil {
		return truth{}, err
	}
	b := over(known, g.from, g.n)
	none, all := b.rules(t.op, t.values)
	if none || all {
		has, ok := g.present(t.reader)
		switch {
		case ok && none:
			return truth{no: has}, nil
		case ok:
			return truth{yes: has}, nil
		}
	}
	return t.valueIs.of(ctx, g, matter)
}
