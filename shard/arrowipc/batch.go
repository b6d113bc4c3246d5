package arrowipc

// batch is a record batch that is read: its arrays follow each other.
type batch struct {
	*scan
	m        message
	rows     int
	nodes    [][2]int64 // lengths and counts of nulls
	buffers  [][2]int64 // offsets in the body and lengths
	variadic []byte
	codec    uint64 // 0: none
	steps    int64  // that lists in lists took
	named    bool   // it is a dictionary, of which the names are wanted
	bases    []base // of its buffers
}

func (s *scan) newBatch(m message, t table) (*batch, error) {
	if t.at == 0 {
		return nil, s.wrong("a message has no rows")
	}
	rows := t.int64(0)
	if rows < 0 || rows > 1<<20+rowsPerByte*min(s.f.Size(), 1<<50) {
		return nil, s.wrong("%d rows in a file of %d bytes", rows, s.f.Size())
	}
	b := &batch{scan: s, m: m, rows: int(rows), nodes: t.pairs(1), buffers: t.pairs(2)}
	b.variadic, _ = t.vector(4, 8)
	if c := t.table(3); c.at > 0 {
		if b.codec = 1 + uint64(c.byte(0)); b.codec > codecZstd {
			return nil, s.wrong("codec %d is not known", b.codec-1)
		}
	}
	return b, nil
}

// rowsPerByte is how many rows a byte of a file can stand for, beyond the first million.
// Columns of nulls take no bytes to speak of.
const rowsPerByte = 64

// node takes the length of the next array, and how many nulls it has.
func (b *batch) node() (length, nulls int64, err error) {
	if len(b.nodes) == 0 {
		return 0, 0, b.wrong("there are fewer arrays than columns")
	}
	length, nulls = b.nodes[0][0], b.nodes[0][1]
	b.nodes = b.nodes[1:]
	return length, nulls, nil
}
