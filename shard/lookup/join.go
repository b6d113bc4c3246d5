package lookup

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
)

// Join finds the rows of a table that belong to samples of a set.
type Join struct {
	*Table

	set    *shard.Dataset
	column string // of the samples' keys
	reader *shard.Reader
	most   int64     // bytes of a sample
	free   sync.Pool // of *gatherer
}

// Join returns what finds rows by a column of the samples of a set, which have so many
// bytes at most.
func (t *Table) Join(ctx context.Context, set *shard.Dataset, key shard.Column, most int64) (*Join, error) {
	r, err := set.Select(ctx, key)
	if err != nil {
		return nil, err
	}
	is := r.Types()[0]
	as, err := keyType(key.From, is)
	if err != nil {
		if isNumber := is.Kind == sample.Tensor && len(is.Shape) == 0; isNumber {
			err = fmt.Errorf("%w; whole numbers in floats are read as such by fields={%q: (%q, \"int64\")}", err, key.From, key.From)
		}
		return nil, err
	}
	apart := is.Logical != nil && t.key.Logical != nil && is.Kind == sample.Tensor && !is.Logical.Equal(t.key.Logical)
	if (as.Kind == sample.Text) != (t.keys.text != nil) || apart {
		return nil, fmt.Errorf("%w: keys %q are %v, and those of %s are %v: read them as one type",
			shard.ErrUnsupported, key.From, is, t.name, t.key)
	}
	key.Type = as
	if r, err = set.Select(ctx, key); err != nil {
		return nil, err
	}
	return &Join{Table: t, set: set, column: key.From, reader: r, most: most}, nil
}

// Indexed reports whether keys are in the index, so that nothing is read.
func (j *Join) Indexed() bool { return j.reader.Indexed([]int{0}) }

// Row finds the row of a sample. It returns how many bytes were read from files.
func (j *Join) Row(ctx context.Context, i int64) (row int, read int64, err error) {
	g, err := j.gatherer()
	if err != nil {
		return 0, 0, err
	}
	g.one[0] = i
	if read, err = g.find(ctx, g.one[:]); err != nil {
		return 0, read, err
	}
	row = int(g.rows[0])
	j.free.Put(g)
	return row, read, nil
}

// Value returns a row's value of a column, which is the table's own.
func (j *Join) Value(column, row int) shard.Value {
	return shard.Value{Bytes: j.columns[column].of(row), Shape: j.Types[column].Shape}
}

// Column is one of a table, and the number of the target that it is laid into.
type Column struct{ Of, To int }

// Gather lays the columns of the rows of samples into memory. It returns how many bytes
// were read from files. The error of a sample is a *[shard.RowError].
type Gather func(ctx context.Context, samples []int64, into []shard.Target) (read int64, err error)

// Open returns what fills columns, for one goroutine.
func (j *Join) Open(columns []Column) (Gather, error) {
	g, err := j.gatherer()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, samples []int64, into []shard.Target) (read int64, err error) {
		for first := 0; first < len(samples); first += rowsAtOnce {
			some := samples[first:min(first+rowsAtOnce, len(samples))]
			n, err := g.find(ctx, some)
			if read += n; err != nil {
				return read, shard.RowFrom(err, first, 1)
			}
			for _, c := range columns {
				j.columns[c.Of].copy(into[c.To], first, g.rows)
			}
		}
		return read, nil
	}, nil
}

// copy lays rows into a target, from one of its rows on.
func (v *values) copy(into shard.Target, first int, rows []int32) {
	if v.size == 0 {
		for _, row := range rows {
			into.Texts.Add(v.of(int(row)))
		}
		return
	}
	to := into.Data[first*v.size:][:len(rows)*v.size]
	switch v.size {
	case 4:
		for k, row := range rows {
			binary.NativeEndian.PutUint32(to[4*k:], binary.NativeEndian.Uint32(v.data[4*int(row):]))
		}
	case 8:
		for k, row := range rows {
			binary.NativeEndian.PutUint64(to[8*k:], binary.NativeEndian.Uint64(v.data[8*int(row):]))
		}
	default:
		for k, row := range rows {
			copy(to[k*v.size:][:v.size], v.data[int(row)*v.size:])
		}
	}
}

// gatherer finds the rows of samples. It is for one goroutine.
type gatherer struct {
	j    *Join
	g    *shard.Gatherer
	keys values
	rows []int32 // of the samples that find was called with
	into [1]shard.Target
	one  [1]int64
}

func (j *Join) gatherer() (*gatherer, error) {
	if g, ok := j.free.Get().(*gatherer); ok {
		return g, nil
	}
	of, err := j.reader.Gatherer([]int{0}, j.most, nil)
	if err != nil {
		return nil, err
	}
	g := &gatherer{j: j, g: of}
	if j.keys.text == nil {
		g.keys.size = 8
	}
	return g, nil
}

// find sets rows, of at most rowsAtOnce samples.
func (g *gatherer) find(ctx context.Context, samples []int64) (read int64, err error) {
	g.rows = g.rows[:0]
	g.keys.texts.Reset()
	g.into[0] = shard.Target{Texts: &g.keys.texts}
	if g.keys.size > 0 {
		if len(g.keys.data) < 8*len(samples) {
			g.keys.data = make([]byte, 8*len(samples))
		}
		g.into[0] = shard.Target{Data: g.keys.data[:8*len(samples)]}
	}
	if read, err = g.g.Gather(ctx, samples, g.into[:]); err != nil {
		return read, err
	}
	for k, i := range samples {
		row, ok := g.j.keys.find(g.keys.of(k))
		switch {
		case ok:
		case g.j.unknown >= 0:
			row = int32(g.j.unknown)
		default:
			name, in := g.j.set.Place(i)
			return read, &shard.RowError{Row: k, Err: fmt.Errorf("field %q: %s has no row for the key %s\nin %s, sample %d",
				g.j.column, g.j.name, g.j.keys.show(&g.keys, k), name, in)}
		}
		g.rows = append(g.rows, row)
	}
	return read, nil
}

// find returns the row of a key.
func (k *keys) find(key []byte) (row int32, ok bool) {
	if k.text != nil {
		row, ok = k.text[string(key)]
		return row, ok
	}
	n := int64(binary.NativeEndian.Uint64(key))
	if k.dense == nil {
		row, ok = k.whole[n]
		return row, ok
	}
	if at := uint64(n - k.least); at < uint64(len(k.dense)) {
		row = k.dense[at] - 1
		return row, row >= 0
	}
	return 0, false
}
