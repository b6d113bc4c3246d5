package window

import (
	"cmp"
	"context"
	"slices"

	"github.com/headrace/headrace/shard"
)

// Column is a field, and the numbers of the targets of its values and of its mask; -1:
// there is none.
type Column struct {
	*Field
	Values, Mask int
}

// Columns are filled with windows.
type Columns []Column

// Indexed reports whether nothing is read for them.
func (all Columns) Indexed() bool {
	for _, c := range all {
		if c.Values >= 0 && !c.Field.Indexed() {
			return false
		}
	}
	return true
}

// Gather lays the windows of samples into memory. It returns how many bytes were read
// from files. The error of a sample is a *[shard.RowError].
type Gather func(ctx context.Context, samples []int64, into []shard.Target) (read int64, err error)

// Open returns what fills them, for one goroutine.
func (all Columns) Open() (Gather, error) {
	var gatherers []*gatherer
	for _, c := range all {
		g, err := c.gatherer()
		if err != nil {
			return nil, err
		}
		gatherers = append(gatherers, g)
	}
	return func(ctx context.Context, samples []int64, into []shard.Target) (read int64, err error) {
		for k, c := range all {
			var values, mask []byte
			if c.Values >= 0 {
				values = into[c.Values].Data
			}
			if c.Mask >= 0 {
				mask = into[c.Mask].Data
			}
			n, err := gatherers[k].into(ctx, samples, values, mask)
			if read += n; err != nil {
				return read, err
			}
		}
		return read, nil
	}, nil
}

// gatherer lays the windows of a field into memory. It is for one goroutine.
type gatherer struct {
	f      *Field
	g      *shard.Gatherer
	finder *shard.Finder // nil: offsets count rows
	rows   []int64
	pads   []byte
	order  []int32 // of rows, by their numbers
	once   []int64 // the rows, each once, in order
	memory []byte  // their values
	target [1]shard.Target
	one    [1]int64
}

func (f *Field) gatherer() (*gatherer, error) {
	if g, ok := f.free.Get().(*gatherer); ok {
		return g, nil
	}
	of, err := f.reader.Gatherer([]int{0}, f.of.most, nil)
	if err != nil {
		return nil, err
	}
	g := &gatherer{f: f, g: of}
	if f.of.times != nil {
		g.finder = f.of.times.Finder()
	}
	return g, nil
}

// What bounds the rows that are worked on together.
const (
	rowsAtOnce  = 1 << 14
	bytesAtOnce = 8 << 20
)

// into lays windows and masks into memory; nil: they are not wanted.
func (g *gatherer) into(ctx context.Context, samples []int64, values, mask []byte) (read int64, err error) {
	n := len(g.f.offsets)
	some := max(1, min(rowsAtOnce, bytesAtOnce/g.f.row)/n)
	for first := 0; first < len(samples); first += some {
		end := min(first+some, len(samples))
		if err := g.find(samples[first:end]); err != nil {
			return read, shard.RowFrom(err, first, 1)
		}
		if mask != nil {
			copy(mask[first*n:end*n], g.pads)
		}
		if values == nil {
			continue
		}

		size := n * g.f.row
		more, err := g.values(ctx, values[first*size:end*size])
		if read += more; err != nil {
			return read, shard.RowFrom(err, first, n)
		}
	}
	return read, nil
}

// values lays the values of rows into memory. Those that are not in the index are read
// once for all windows that have them.
func (g *gatherer) values(ctx context.Context, to []byte) (read int64, err error) {
	if g.f.Indexed() || len(g.f.offsets) == 1 {
		return g.gather(ctx, g.rows, to)
	}
	g.order = g.order[:0]
	for k := range g.rows {
		g.order = append(g.order, int32(k))
	}
	slices.SortFunc(g.order, func(a, b int32) int { return cmp.Compare(g.rows[a], g.rows[b]) })
	g.once = g.once[:0]
	for _, k := range g.order {
		if n := len(g.once); n == 0 || g.once[n-1] != g.rows[k] {
			g.once = append(g.once, g.rows[k])
		}
	}
	size := g.f.row
	g.memory = slices.Grow(g.memory[:0], len(g.once)*size)[:len(g.once)*size]
	if read, err = g.gather(ctx, g.once, g.memory); err != nil {
		more, err := g.gather(ctx, g.rows, to) // so that the first sample is to blame
		return read + more, err
	}

	at := -1
	for i, k := range g.order {
		if i == 0 || g.rows[k] != g.rows[g.order[i-1]] {
			at++
		}
		copy(to[int(k)*size:][:size], g.memory[at*size:])
	}
	return read, nil
}

func (g *gatherer) gather(ctx context.Context, rows []int64, to []byte) (int64, error) {
	g.target[0].Data = to
	defer func() { g.target[0].Data = nil }()
	return g.g.Gather(ctx, rows, g.target[:])
}

// find sets the rows of the windows of samples, and which of them are padding.
func (g *gatherer) find(samples []int64) error {
	g.rows, g.pads = g.rows[:0], g.pads[:0]
	for k, i := range samples {
		from, end := g.f.of.groups.Around(i)
		for _, offset := range g.f.offsets {
			at, beyond := i+int64(offset), false
			if g.finder != nil {
				var err error
				if at, beyond, err = g.finder.Near(i, offset, from, end); err != nil {
					return &shard.RowError{Row: k, Err: err}
				}
			} else if at < from || at >= end {
				at, beyond = min(max(at, from), end-1), true
			}
			pad := byte(0)
			if beyond {
				pad = 1
			}
			g.rows, g.pads = append(g.rows, at), append(g.pads, pad)
		}
	}
	return nil
}
