package parquet

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// What metadata call things.
const (
	pageData      = 0
	encodingPlain = 0
	encodingRLE   = 3
	codecNone     = 0
	codecSnappy   = 1
	optional      = 1
)

// groupBytes is how long row groups become. They are in memory until they are complete.
const groupBytes = 64 << 20

// Writer writes a file.
type Writer struct {
	to      io.Writer
	at      int64
	columns []pages
	notes   [][2]string
	groups  []rowGroup
	rows    int64 // of the group that grows
	size    int   // of its values
	err     error
	scratch scratch
}

type rowGroup struct {
	rows   int64
	chunks []chunk
}

// chunk is what a column has of a row group, in the file.
type chunk struct{ at, bytes, unpacked int64 }

// NewWriter begins a file. Columns in the same group are neighbours. Notes are a name and
// a value each, which readers find in the metadata.
func NewWriter(to io.Writer, columns []Column, notes ...[2]string) *Writer {
	w := &Writer{to: to, notes: notes}
	for _, c := range columns {
		w.columns = append(w.columns, pages{Column: c})
	}
	w.write([]byte("PAR1"))
	return w
}

func (w *Writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.to.Write(b)
	}
	w.at += int64(len(b))
}

// Add writes a row: a value for each column, as its type has it.
func (w *Writer) Add(values [][]byte) error {
	for i, v := range values {
		if len(v) > math.MaxInt32/2 {
			return fmt.Errorf("a value of %q has %d bytes: Parquet counts those of a page in 31 bits", w.columns[i].Path, len(v))
		}
		w.columns[i].add(v, &w.scratch)
		w.size += len(v)
	}
	if w.rows++; w.size >= groupBytes {
		w.endGroup()
	}
	return w.err
}

func (w *Writer) endGroup() {
	if w.rows == 0 {
		return
	}
	g := rowGroup{rows: w.rows}
	for i := range w.columns {
		p := &w.columns[i]
		p.end(&w.scratch)
		g.chunks = append(g.chunks, chunk{w.at, int64(len(p.done)), p.unpacked})
		w.write(p.done)
		p.done, p.unpacked = p.done[:0], 0
	}
	w.groups = append(w.groups, g)
	w.rows, w.size = 0, 0
}

// Close completes the file, and leaves it open.
func (w *Writer) Close() error {
	w.endGroup()
	meta := w.metadata()
	w.write(meta)
	w.write(binary.LittleEndian.AppendUint32(nil, uint32(len(meta))))
	w.write([]byte("PAR1"))
	return w.err
}

func (w *Writer) metadata() []byte {
	var t thrift
	t.number(1, kindI32, 2) // version
	w.schema(&t)
	rows := int64(0)
	for _, g := range w.groups {
		rows += g.rows
	}
	t.number(3, kindI64, rows)
	t.list(4, kindStruct, len(w.groups))
	for _, g := range w.groups {
		t.element(func() { w.group(&t, g) })
	}
	if len(w.notes) > 0 {
		t.list(5, kindStruct, len(w.notes))
		for _, note := range w.notes {
			t.element(func() {
				t.text(1, note[0])
				t.text(2, note[1])
			})
		}
	}
	t.text(6, "headrace")
	return append(t.b, 0)
}

// schema writes the tree of columns, parents before children.
func (w *Writer) schema(t *thrift) {
	type node struct {
		name     string
		children int
		leaf     *Column
	}
	nodes := []node{{name: "schema"}}
	for i := range w.columns {
		path := w.columns[i].Path
		if len(path) == 2 { // a group, which may have begun
			if i == 0 || len(w.columns[i-1].Path) != 2 || w.columns[i-1].Path[0] != path[0] {
				nodes = append(nodes, node{name: path[0]})
				nodes[0].children++
			}
			k := len(nodes) - 1
			for nodes[k].leaf != nil {
				k--
			}
			nodes[k].children++
		} else {
			nodes[0].children++
		}
		nodes = append(nodes, node{path[len(path)-1], 0, &w.columns[i].Column})
	}

	t.list(2, kindStruct, len(nodes))
	for i, n := range nodes {
		t.element(func() {
			if n.leaf != nil {
				t.number(1, kindI32, n.leaf.Type.physical)
			}
			if i > 0 {
				t.number(3, kindI32, optional)
			}
			t.text(4, n.name)
			if n.leaf == nil {
				t.number(5, kindI32, int64(n.children))
				return
			}
			n.leaf.Type.describe(t)
		})
	}
}

// describe says what the physical type does not: as older readers and as newer ones know
// it.
func (y Type) describe(t *thrift) {
	if y.converted >= 0 {
		t.number(6, kindI32, y.converted)
	}
	switch {
	case y == Text:
		t.group(10, func() { t.group(1, func() {}) })
	case y.bits > 0:
		t.group(10, func() {
			t.group(10, func() {
				t.small(1, y.bits)
				t.truth(2, y.signed)
			})
		})
	}
}

func (w *Writer) group(t *thrift, g rowGroup) {
	total := int64(0)
	t.list(1, kindStruct, len(g.chunks))
	for i, c := range g.chunks {
		total += c.unpacked
		t.element(func() {
			t.number(2, kindI64, c.at)
			t.group(3, func() {
				p := &w.columns[i]
				t.number(1, kindI32, p.Type.physical)
				t.list(2, kindI32, 1)
				t.b = binary.AppendVarint(t.b, encodingPlain)
				t.list(3, kindBinary, len(p.Path))
				for _, name := range p.Path {
					t.bare(name)
				}
				t.number(4, kindI32, p.codec())
				t.number(5, kindI64, g.rows)
				t.number(6, kindI64, c.unpacked)
				t.number(7, kindI64, c.bytes)
				t.number(9, kindI64, c.at)
			})
		})
	}
	t.number(2, kindI64, total)
	t.number(3, kindI64, g.rows)
}
