package shard

import (
	"cmp"
	"context"
	"slices"

	"github.com/headrace/headrace/sample"
)

// filesOf is the memory with which a Gatherer reads files.
type filesOf struct {
	place  Place
	buffer []byte
	visits []visit
	aside  []sample.Texts // by column that is not in the index: values in the order of visits
	at     []int          // of aside, by row
}

// visit is a sample that is read, and the row that it goes to.
type visit struct {
	sample int64
	row    int
}

// fromFiles lays the columns that are not in the index into their rows. It reads samples
// in the order of the files: those of a block come one after the other, and memory is
// read forwards.
func (g *Gatherer) fromFiles(ctx context.Context, samples []int64, into []Target) (read int64, err error) {
	f := &g.files
	f.place.lends = true
	defer f.letGo()

	if slices.IsSorted(samples) {
		for row, i := range samples {
			n, err := g.visit(ctx, visit{i, row}, into, nil)
			if read += n; err != nil {
				return read, &RowError{row, err}
			}
		}
		return read, nil
	}

	f.visits = f.visits[:0]
	for row, i := range samples {
		f.visits = append(f.visits, visit{i, row})
	}
	slices.SortFunc(f.visits, func(a, b visit) int { return cmp.Compare(a.sample, b.sample) })
	if f.aside == nil {
		f.aside = make([]sample.Texts, len(g.other))
	}
	for k := range f.aside {
		f.aside[k].Reset()
	}
	f.at = slices.Grow(f.at[:0], len(samples))[:len(samples)]
	for k, v := range f.visits {
		f.at[v.row] = k
		n, err := g.visit(ctx, v, into, f.aside)
		if read += n; err != nil {
			return read, g.firstError(ctx, samples, into, &RowError{v.row, err})
		}
	}
	for k, column := range g.other {
		if to := into[column].Texts; to != nil {
			for _, at := range f.at {
				to.Add(f.aside[k].At(at))
			}
		}
	}
	return read, nil
}

// firstError returns the error of the first row that cannot be read: which one is found
// first must not depend on where samples are in the files.
func (g *Gatherer) firstError(ctx context.Context, samples []int64, into []Target, found *RowError) error {
	for row := range found.Row {
		for k := range g.files.aside {
			g.files.aside[k].Reset()
		}
		if _, err := g.visit(ctx, visit{samples[row], row}, into, g.files.aside); err != nil {
			return &RowError{row, err}
		}
	}
	return found
}

// visit reads a sample's columns into a row. Those of any length are appended to aside,
// if it is given.
func (g *Gatherer) visit(ctx context.Context, v visit, into []Target, aside []sample.Texts) (int64, error) {
	f := &g.files
	if err := g.others.locate(v.sample, &f.place); err != nil {
		return 0, err
	}
	if f.place.Bytes > g.most {
		return 0, TooLarge(f.place.Bytes, g.most)
	}
	f.buffer = slices.Grow(f.buffer[:0], int(f.place.Bytes))[:f.place.Bytes]
	values, read, err := g.others.read(ctx, &f.place, f.buffer)
	if err != nil {
		return read, err
	}
	for k, at := range g.other {
		switch size := g.columns[at].size; {
		case into[at].Texts == nil:
			copy(into[at].Data[v.row*size:][:size], values[k].Bytes)
		case aside != nil:
			aside[k].Add(values[k].Bytes)
		default:
			into[at].Texts.Add(values[k].Bytes)
		}
	}
	return read, nil
}

// mostAside is the most memory that is kept for the texts of a batch.
const mostAside = 4 << 20

// letGo lets go of blocks, and of more memory than most batches need.
func (f *filesOf) letGo() {
	for k := range f.place.lent {
		f.place.lent[k].letGo()
	}
	for k := range f.aside {
		if cap(f.aside[k].Bytes) > mostAside {
			f.aside[k] = sample.Texts{}
		}
	}
	if cap(f.buffer) > mostAside {
		f.buffer = nil
	}
}
