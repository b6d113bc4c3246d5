package export

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sort"
)

// columnar are records of which many are encoded at once, column by column.
type columnar interface {
	records
	// byColumns reports whether the fields are such that they can be.
	byColumns() bool
	// fits returns how many of the samples from one on have at most so many bytes as one
	// block, and at least one.
	fits(columns []column, from, rows int, room int64) int
	// encodeRows writes samples into a block.
	encodeRows(block *bytes.Buffer, columns []column, from, rows int)
}

// writeRows writes a batch in as few blocks as there are shards that it comes into.
func (w *shards) writeRows(c columnar, columns []column, rows int) error {
	for at := 0; at < rows; {
		n, o := rows-at, w.options
		if w.current != nil {
			room := o.ShardBytes - w.current.bytes - int64(len(w.kind.end))
			if o.ShardSamples > 0 {
				n = min(n, int(o.ShardSamples-w.inShard))
			}
			if n > 0 {
				n = c.fits(columns, at, n, room)
			}
			if n == 0 {
				if err := w.end(); err != nil {
					return err
				}
				continue
			}
		} else {
			if err := w.begin(); err != nil {
				return err
			}
			if o.ShardSamples > 0 {
				n = int(min(int64(n), o.ShardSamples))
			}
			n = max(1, c.fits(columns, at, n, o.ShardBytes-int64(len(w.kind.end))))
		}

		block := &w.blocks[0]
		block.Reset()
		c.encodeRows(block, columns, at, n)
		if _, err := w.current.Write(block.Bytes()); err != nil {
			return err
		}
		w.inShard += int64(n)
		w.samples += int64(n)
		at += n
	}
	return nil
}

// byColumns implements columnar: numbers and text are, each of which is a column.
func (w *tables) byColumns() bool { return w.plain }

// fits implements columnar.
func (w *tables) fits(columns []column, from, rows int, room int64) int {
	return fitting(columns, from, rows, room, func(i int) int64 {
		t, _ := parquetType(w.run.Info.Fields[i])
		return int64(t.Size())
	})
}

// fitting returns how many samples have at most so many bytes as one block. Size returns
// those of a value, and 0 for text.
func fitting(columns []column, from, rows int, room int64, size func(i int) int64) int {
	room -= int64(4 + 4*len(columns))
	each, texts := int64(0), []int(nil)
	for i := range columns {
		if columns[i].text == nil {
			each += size(i)
		} else {
			each += 4
			texts = append(texts, i)
		}
	}
	bytes := func(n int) int64 { // of so many samples
		all := each * int64(n)
		for _, i := range texts {
			all += int64(len(columns[i].textsOf(from, n)))
		}
		return all
	}
	return sort.Search(rows, func(n int) bool { return bytes(n+1) > room })
}

// textsOf returns the texts of some rows, one after the other.
func (c column) textsOf(from, rows int) []byte {
	begin := 0
	if from > 0 {
		begin = c.text.Ends[from-1]
	}
	if rows == 0 {
		return nil
	}
	return c.text.Bytes[begin:c.text.Ends[from+rows-1]]
}

// encodeRows implements columnar. Values are as Parquet's PLAIN has them.
func (w *tables) encodeRows(block *bytes.Buffer, columns []column, from, rows int) {
	encodeColumns(block, columns, from, rows, func(b []byte, i int) []byte {
		f, c := w.run.Info.Fields[i], &columns[i]
		if t, _ := parquetType(f); t.Size() == c.rowBytes {
			return append(b, c.data[from*c.rowBytes:(from+rows)*c.rowBytes]...)
		}
		for row := range rows {
			b = appendPlain(b, f.DType, c.row(from+row))
		}
		return b
	})
}

// encodeColumns writes a block: the number of rows, and for each column its length and
// its values. Before a text is its length.
func encodeColumns(block *bytes.Buffer, columns []column, from, rows int, numbers func(b []byte, i int) []byte) {
	b := binary.LittleEndian.AppendUint32(block.AvailableBuffer(), uint32(rows))
	for i := range columns {
		start := len(b)
		if b = append(b, 0, 0, 0, 0); columns[i].text == nil {
			b = numbers(b, i)
		} else {
			b = slices.Grow(b, 4*rows+len(columns[i].textsOf(from, rows)))
			for row := range rows {
				text := columns[i].text.At(from + row)
				b = append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
			}
		}
		binary.LittleEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	}
	block.Write(b)
}

// eachBlock hands on the rows of blocks.
func eachBlock(blocks io.Reader, samples int64, columns int, add func(rows int, columns [][]byte) error) error {
	values, from := make([][]byte, columns), make([][]byte, columns)
	for samples > 0 {
		rows, err := lengthOf(blocks)
		if err != nil {
			return err
		}
		if rows == 0 || int64(rows) > samples {
			return fmt.Errorf("a block has %d rows, and %d are left", rows, samples)
		}

		for i := range values {
			n, err := lengthOf(blocks)
			if err != nil {
				return err
			}
			values[i] = slices.Grow(values[i][:0], n)[:n]
			if _, err := io.ReadFull(blocks, values[i]); err != nil {
				return err
			}
			from[i] = values[i]
		}
		if err := add(rows, from); err != nil {
			return err
		}
		samples -= int64(rows)
	}
	return nil
}

func lengthOf(r io.Reader) (int, error) {
	var b [4]byte
	_, err := io.ReadFull(r, b[:])
	return int(binary.LittleEndian.Uint32(b[:])), err
}
