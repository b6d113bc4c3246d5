package parquet

import (
	"encoding/binary"
	"fmt"
)

// AddRows writes rows: of each column its values, one after the other, as PLAIN has them.
// Truth values are a byte each. The file is that of so many calls of Add.
func (w *Writer) AddRows(rows int, columns [][]byte) error {
	for rows > 0 && w.err == nil {
		n, taken, err := w.fits(rows, columns)
		if err != nil {
			return err
		}
		for i := range w.columns {
			size := taken[i]
			w.columns[i].addAll(n, columns[i][:size], &w.scratch)
			columns[i] = columns[i][size:]
		}
		w.rows += int64(n)
		if rows -= n; w.size >= groupBytes {
			w.endGroup()
		}
	}
	return w.err
}

// fits returns how many rows the group takes, with their bytes by column, and counts
// them.
func (w *Writer) fits(rows int, columns [][]byte) (n int, taken []int, err error) {
	taken = make([]int, len(columns))
	fixed, open := 0, false
	for i := range w.columns {
		fixed += w.columns[i].Type.size
		open = open || w.columns[i].Type.size == 0
	}
	if !open {
		n = min(rows, max(1, (groupBytes-w.size+fixed-1)/max(1, fixed)))
		for i := range taken {
			taken[i] = n * w.columns[i].Type.size
		}
		w.size += n * fixed
		return n, taken, w.enough(columns, taken)
	}

	if n, ok := w.all(rows, columns, taken); ok {
		return n, taken, nil
	}
	for ; n < rows && (n == 0 || w.size < groupBytes); n++ {
		for i := range w.columns {
			size := w.columns[i].Type.size
			if size == 0 {
				if len(columns[i]) < taken[i]+4 {
					return 0, nil, fmt.Errorf("the values of %q end early", w.columns[i].Path)
				}
				value := int(binary.LittleEndian.Uint32(columns[i][taken[i]:]))
				taken[i] += 4 + value
				w.size += value
				continue
			}
			taken[i] += size
			w.size += size
		}
	}
	return n, taken, w.enough(columns, taken)
}

// all takes all rows, if there is room for them, and whole columns.
func (w *Writer) all(rows int, columns [][]byte, taken []int) (n int, ok bool) {
	size := 0
	for i := range w.columns {
		taken[i] = rows * w.columns[i].Type.size
		if size += taken[i]; w.columns[i].Type.size > 0 {
			continue
		}
		if taken[i] = len(columns[i]); !isTexts(rows, columns[i]) {
			clear(taken)
			return 0, false
		}
		size += taken[i] - 4*rows
	}
	if w.size+size > groupBytes || w.enough(columns, taken) != nil {
		clear(taken)
		return 0, false
	}
	w.size += size
	return rows, true
}

// isTexts tells whether b is so many texts, each after its length.
func isTexts(n int, b []byte) bool {
	for range n {
		if len(b) < 4 {
			return false
		}
		size := int(binary.LittleEndian.Uint32(b))
		if size > len(b)-4 {
			return false
		}
		b = b[4+size:]
	}
	return len(b) == 0
}

func (w *Writer) enough(columns [][]byte, taken []int) error {
	for i, n := range taken {
		if len(columns[i]) < n {
			return fmt.Errorf("the values of %q end early", w.columns[i].Path)
		}
	}
	return nil
}

// addAll adds so many values, as PLAIN has them.
func (p *pages) addAll(n int, plain []byte, scratch *scratch) {
	for n > 0 {
		size := p.Type.size
		some, bytes := 1, 0
		switch {
		case p.Type == Bool:
			p.add(plain[:1], scratch)
			plain, n = plain[1:], n-1
			continue
		case size == 0:
			bytes = 4 + int(binary.LittleEndian.Uint32(plain))
			for some < n && len(p.plain)+bytes < pageBytes { // as many as the page takes
				bytes += 4 + int(binary.LittleEndian.Uint32(plain[bytes:]))
				some++
			}
		default:
			some = min(n, max(1, (pageBytes-len(p.plain)+size-1)/size))
			bytes = some * size
		}
		p.plain = append(p.plain, plain[:bytes]...)
		plain, n = plain[bytes:], n-some
		if p.values += some; len(p.plain) >= pageBytes {
			p.end(scratch)
		}
	}
}
