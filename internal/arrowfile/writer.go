package arrowfile

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/headrace/headrace/tensor"
)

// Column is one of numbers or arrays, or of text, if DType is invalid.
type Column struct {
	Name  string
	DType tensor.DType // not bfloat16, which Arrow does not have
	Shape []int        // of a row
}

// size returns the bytes of a row; 0: each has its own.
func (c *Column) size() int {
	n := c.DType.Size()
	for _, extent := range c.Shape {
		n *= extent
	}
	return n
}

// Rows and bytes of a record batch: the fewer end it.
const (
	batchRows  = 1 << 16
	batchBytes = 64 << 20
)

const magic = "ARROW1"

// Writer writes a file.
type Writer struct {
	to      io.Writer
	at      int64
	columns []growing
	notes   [][2]string
	rows    int     // of the batch that grows
	bytes   int     // of its values
	blocks  []int64 // three numbers each: where it is, and the bytes of its metadata and its body
	err     error
}

// growing is a column with the values of the batch that grows.
type growing struct {
	Column
	data []byte
	ends []byte // of texts, int32 each, and 0 before them
}

// NewWriter begins a file. Notes are a name and a value each, which readers find in the
// schema.
func NewWriter(to io.Writer, columns []Column, notes ...[2]string) *Writer {
	w := &Writer{to: to, notes: notes}
	for _, c := range columns {
		w.columns = append(w.columns, growing{Column: c})
	}
	w.write([]byte(magic + "\x00\x00"))
	w.message(headSchema, w.schema(), 0)
	return w
}

func (w *Writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.to.Write(b)
	}
	w.at += int64(len(b))
}

// AddRows writes rows: of each column its values, one after the other, which it takes
// from columns. Numbers have their lowest byte first, a truth value is a byte, and before
// a text is its length, in 32 bits.
func (w *Writer) AddRows(rows int, columns [][]byte) error {
	for rows > 0 && w.err == nil {
		n, err := w.take(rows, columns)
		if err != nil {
			return err
		}
		if rows -= n; w.rows >= batchRows || w.bytes >= batchBytes {
			w.endBatch()
		}
	}
	return w.err
}

// take moves rows into the batch, as many as there is room for, and returns how many.
func (w *Writer) take(rows int, columns [][]byte) (n int, err error) {
	rows = min(rows, batchRows-w.rows)
	fixed, texts := 0, []int(nil)
	for i := range w.columns {
		if size := w.columns[i].size(); w.columns[i].DType.Valid() {
			fixed += size
		} else {
			texts = append(texts, i)
		}
	}
	if texts == nil {
		if n = rows; fixed > 0 {
			n = min(rows, max(1, (batchBytes-w.bytes+fixed-1)/fixed))
		}
		w.bytes += n * fixed
	}

	for ; texts != nil && n < rows && (n == 0 || w.bytes < batchBytes); n++ {
		w.bytes += fixed
		for _, i := range texts {
			c, b := &w.columns[i], columns[i]
			if len(b) < 4 || uint64(len(b)-4) < uint64(binary.LittleEndian.Uint32(b)) {
				return 0, fmt.Errorf("the values of %q end early", c.Name)
			}
			size := int(binary.LittleEndian.Uint32(b))
			c.data, columns[i] = append(c.data, b[4:4+size]...), b[4+size:]
			if len(c.data) > math.MaxInt32 {
				return 0, fmt.Errorf("the texts of %q have %d bytes in %d rows: Arrow counts them in 31 bits",
					c.Name, len(c.data), w.rows+n)
			}
			c.ends = binary.LittleEndian.AppendUint32(c.ends, uint32(len(c.data)))
			w.bytes += size
		}
	}

	for i := range w.columns {
		c := &w.columns[i]
		size := n * c.size()
		if !c.DType.Valid() {
			continue
		}
		if len(columns[i]) < size {
			return 0, fmt.Errorf("the values of %q end early", c.Name)
		}
		c.data, columns[i] = append(c.data, columns[i][:size]...), columns[i][size:]
	}
	w.rows += n
	return n, nil
}

// endBatch writes the batch that has grown.
func (w *Writer) endBatch() {
	if w.rows == 0 {
		return
	}
	var nodes, buffers longs
	var body [][]byte
	at := int64(0)
	node := func(n int) {
		nodes.structs++
		nodes.members = append(nodes.members, int64(n), 0)
	}
	buffer := func(b []byte) {
		buffers.structs++
		buffers.members = append(buffers.members, at, int64(len(b)))
		body = append(body, b)
		at += int64(aligned(len(b)))
	}
	for i := range w.columns {
		c, n := &w.columns[i], w.rows
		node(n)
		buffer(nil) // nothing says which are null: none is
		for _, extent := range c.Shape {
			n *= extent
			node(n)
			buffer(nil)
		}
		switch {
		case !c.DType.Valid():
			buffer(append(make([]byte, 4), c.ends...))
			buffer(c.data)
		case c.DType == tensor.Bool:
			buffer(bitsOf(c.data))
		default:
			buffer(c.data)
		}
	}

	start := w.at
	meta := w.message(headBatch, table{int64(w.rows), nodes, buffers}, at)
	for _, b := range body {
		w.write(b)
		w.write(make([]byte, aligned(len(b))-len(b)))
	}
	w.blocks = append(w.blocks, start, int64(meta), at)
	for i := range w.columns {
		w.columns[i].data, w.columns[i].ends = w.columns[i].data[:0], w.columns[i].ends[:0]
	}
	w.rows, w.bytes = 0, 0
}

// aligned returns the bytes that a buffer takes.
func aligned(n int) int { return (n + 63) &^ 63 }

func bitsOf(truths []byte) []byte {
	all := make([]byte, (len(truths)+7)/8)
	for i, v := range truths {
		all[i/8] |= v & 1 << (i % 8)
	}
	return all
}

// Close completes the file, and leaves it open.
func (w *Writer) Close() error {
	w.endBatch()
	w.write([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}) // the end of its messages
	footer := bufferOf(table{version, w.schema(), longs{}, longs{len(w.blocks) / 3, w.blocks}})
	w.write(footer)
	w.write(binary.LittleEndian.AppendUint32(nil, uint32(len(footer))))
	w.write([]byte(magic))
	return w.err
}
