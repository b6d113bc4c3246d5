package shard

import (
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
)

// Rows keeps numbers of the index decoded, row after row, so that a sample that is read
// out of order costs one look into memory. Several Gatherers may share it.
type Rows struct {
	size  int   // bytes of a row
	limit int64 // of all blocks

	shards [][]atomic.Pointer[rowBlock]
	clock  atomic.Int64

	mu    sync.Mutex // guards what is below
	live  []*rowBlock
	bytes int64
}

// rowBlock has rows that follow each other in a shard.
type rowBlock struct {
	data    []byte // nil: one of the rows has no value, and each is read by itself
	keyless bool
	used    atomic.Int64 // when, by the clock
	shard   int
	number  int
}

// rowsPerBlock is how many rows are decoded at once. It is a multiple of what the index
// has in a group.
const rowsPerBlock = 1024

// RowBytes returns the bytes of a row of those columns that are in the index.
func (r *Reader) RowBytes(columns []int) (n int) {
	for _, k := range columns {
		if r.counted(k) {
			n += r.columns[k].Type.DType.Size()
		}
	}
	return n
}

// Rows returns memory for at most so many bytes of rows of these columns.
func (r *Reader) Rows(columns []int, limit int64) *Rows {
	m := &Rows{size: r.RowBytes(columns), limit: limit, shards: make([][]atomic.Pointer[rowBlock], len(r.d.shards))}
	for i := range m.shards {
		m.shards[i] = make([]atomic.Pointer[rowBlock], (r.d.index.Shards[i].Samples+rowsPerBlock-1)/rowsPerBlock)
	}
	return m
}

// block returns the block of a row, which is decoded if it is not there.
func (g *Gatherer) block(shard, in int) (*rowBlock, error) {
	at := &g.rows.shards[shard][in/rowsPerBlock]
	if b := at.Load(); b != nil {
		return b, nil
	}
	b, err := g.decode(shard, in/rowsPerBlock)
	if err != nil {
		return nil, err
	}
	if at.CompareAndSwap(nil, b) {
		g.rows.keep(b)
	}
	return b, nil
}

// decode reads a block of rows from the index.
func (g *Gatherer) decode(shard, number int) (*rowBlock, error) {
	of, err := g.numbers(shard)
	if err != nil {
		return nil, err
	}
	b := &rowBlock{shard: shard, number: number, keyless: true}
	from := number * rowsPerBlock
	n := min(rowsPerBlock, int(g.r.d.index.Shards[shard].Samples)-from)
	b.data = make([]byte, n*g.rows.size)
	for row := 0; row < n; {
		left, err := of.index.Seek(from + row)
		if err != nil {
			return nil, &Error{Shard: g.r.d.shards[shard].key, At: -1, Err: err}
		}
		left = min(left, n-row)
		b.keyless = b.keyless && of.index.Keyless()

		at := row * g.rows.size
		for k := range g.columns {
			if !g.indexed(k) {
				continue
			}
			size := g.columns[k].size
			column := g.wide[:left*size]
			if _, err := g.put(column, left, from+row, of, k); err != nil {
				b.data = nil // the row that is read says why
				return b, nil
			}
			interleave(b.data[at:], g.rows.size, column, size)
			at += size
		}
		row += left
	}
	return b, nil
}

// interleave sets every stride bytes of dst to the next number of src, which has so many
// bytes.
func interleave(dst []byte, stride int, src []byte, size int) {
	switch size {
	case 8:
		for j, v := range as[uint64](src) {
			binary.NativeEndian.PutUint64(dst[j*stride:], v)
		}
	case 4:
		for j, v := range as[uint32](src) {
			binary.NativeEndian.PutUint32(dst[j*stride:], v)
		}
	case 2:
		for j, v := range as[uint16](src) {
			binary.NativeEndian.PutUint16(dst[j*stride:], v)
		}
	default:
		for j, v := range src {
			dst[j*stride] = v
		}
	}
}

// keep notes a block. Those that were not used for longest go if there are too many.
func (m *Rows) keep(b *rowBlock) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b.used.Store(m.clock.Load())
	m.live, m.bytes = append(m.live, b), m.bytes+int64(len(b.data))
	for m.bytes > m.limit && len(m.live) > 1 {
		oldest := 0
		for i, other := range m.live {
			if other != b && (m.live[oldest] == b || other.used.Load() < m.live[oldest].used.Load()) {
				oldest = i
			}
		}
		gone := m.live[oldest]
		m.live = slices.Delete(m.live, oldest, oldest+1)
		m.bytes -= int64(len(gone.data))
		m.shards[gone.shard][gone.number].Store(nil)
	}
}

// found is a decoded row, and the row of the columns that it belongs to.
type found struct {
	row []byte
	to  int
}

// spread copies decoded rows to the columns.
func (g *Gatherer) spread(into []Target) {
	at := 0
	for k, c := range g.columns {
		if !g.indexed(k) {
			continue
		}
		data := into[k].Data
		switch c.size {
		case 8:
			column := as[uint64](data)
			for _, f := range g.found {
				column[f.to] = binary.NativeEndian.Uint64(f.row[at:])
			}
		case 4:
			column := as[uint32](data)
			for _, f := range g.found {
				column[f.to] = binary.NativeEndian.Uint32(f.row[at:])
			}
		case 2:
			column := as[uint16](data)
			for _, f := range g.found {
				column[f.to] = binary.NativeEndian.Uint16(f.row[at:])
			}
		default:
			for _, f := range g.found {
				data[f.to] = f.row[at]
			}
		}
		at += c.size
	}
}
