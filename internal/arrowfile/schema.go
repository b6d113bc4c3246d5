package arrowfile

import (
	"encoding/binary"

	"github.com/headrace/headrace/tensor"
)

// Numbers of Schema.fbs, Message.fbs and File.fbs of Arrow's format.
const (
	version = int16(4) // V5

	headSchema = uint8(1)
	headBatch  = uint8(3)

	typeInt       = uint8(2)
	typeFloat     = uint8(3)
	typeText      = uint8(5)
	typeBool      = uint8(6)
	typeFixedList = uint8(16)
)

// message writes metadata, which a body of so many bytes follows, and returns how many
// bytes they take.
func (w *Writer) message(kind uint8, head table, body int64) int {
	meta := bufferOf(table{version, kind, head, body})
	prefix := binary.LittleEndian.AppendUint32([]byte{0xff, 0xff, 0xff, 0xff}, uint32(len(meta)))
	w.write(append(prefix, meta...))
	return len(prefix) + len(meta)
}

// schema returns the file's schema. It is little-endian.
func (w *Writer) schema() table {
	var fields, notes tables
	for i := range w.columns {
		c := &w.columns[i]
		fields = append(fields, field(c.Name, c.DType, c.Shape))
	}
	for _, n := range w.notes {
		notes = append(notes, table{n[0], n[1]})
	}
	return table{int16(0), fields, notes}
}

// field describes a column, or the elements of one.
func field(name string, d tensor.DType, shape []int) table {
	children := tables{}
	kind, of := typeOf(d)
	if len(shape) > 0 {
		kind, of = typeFixedList, table{int32(shape[0])}
		children = tables{field("item", d, shape[1:])}
	}
	return table{name, true, kind, of, nil, children}
}

func typeOf(d tensor.DType) (kind uint8, of table) {
	bits := int32(8 * d.Size())
	switch d {
	case tensor.Invalid:
		return typeText, table{}
	case tensor.Bool:
		return typeBool, table{}
	case tensor.Float16:
		return typeFloat, table{int16(0)}
	case tensor.Float32:
		return typeFloat, table{int16(1)}
	case tensor.Float64:
		return typeFloat, table{int16(2)}
	case tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64:
		return typeInt, table{bits, false}
	}
	return typeInt, table{bits, true}
}
