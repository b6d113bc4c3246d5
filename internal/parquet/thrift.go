package parquet

import "encoding/binary"

// thrift writes a struct of Thrift's compact protocol, in which metadata is.
type thrift struct {
	b    []byte
	last int // field
}

// Kinds of fields.
const (
	kindTrue   = 1
	kindFalse  = 2
	kindI8     = 3
	kindI16    = 4
	kindI32    = 5
	kindI64    = 6
	kindBinary = 8
	kindList   = 9
	kindStruct = 12
)

func (t *thrift) field(id, kind int) {
	if step := id - t.last; step < 16 {
		t.b = append(t.b, byte(step<<4|kind))
	} else {
		t.b = binary.AppendVarint(append(t.b, byte(kind)), int64(id))
	}
	t.last = id
}

// number writes one of 16, 32 or 64 bits.
func (t *thrift) number(id, kind int, v int64) {
	t.field(id, kind)
	t.b = binary.AppendVarint(t.b, v)
}

func (t *thrift) small(id int, v int64) {
	t.field(id, kindI8)
	t.b = append(t.b, byte(v))
}

func (t *thrift) truth(id int, v bool) {
	kind := kindFalse
	if v {
		kind = kindTrue
	}
	t.field(id, kind)
}

func (t *thrift) text(id int, s string) {
	t.field(id, kindBinary)
	t.bare(s)
}

// bare writes text that is an element of a list.
func (t *thrift) bare(s string) {
	t.b = append(binary.AppendUvarint(t.b, uint64(len(s))), s...)
}

// group writes a struct.
func (t *thrift) group(id int, content func()) {
	t.field(id, kindStruct)
	t.element(content)
}

// element writes a struct that is one of a list.
func (t *thrift) element(content func()) {
	last := t.last
	t.last = 0
	content()
	t.b = append(t.b, 0)
	t.last = last
}

// list writes the head of a list, whose elements follow.
func (t *thrift) list(id, kind, n int) {
	t.field(id, kindList)
	if n < 15 {
		t.b = append(t.b, byte(n<<4|kind))
	} else {
		t.b = binary.AppendUvarint(append(t.b, byte(0xf0|kind)), uint64(n))
	}
}
