package arrowipc

import "encoding/binary"

// Metadata is in FlatBuffers. The reader is our own because its input is hostile: every
// place is checked against the bytes there are, and what is outside is as if it were not
// there.

// table is a table of a FlatBuffer.
type table struct {
	b  []byte
	at int // 0: there is no table
}

func rootOf(b []byte) table { return table{b, place(b, 0)} }

// place follows an offset; 0: it leads out.
func place(b []byte, at int) int {
	off, ok := u32(b, at)
	if !ok || off == 0 || uint64(at)+uint64(off) >= uint64(len(b)) {
		return 0
	}
	return at + int(off)
}

func u32(b []byte, at int) (uint32, bool) {
	if at < 0 || at > len(b)-4 {
		return 0, false
	}
	return binary.LittleEndian.Uint32(b[at:]), true
}

// field returns where a field is, which has some bytes; 0: it has its default.
func (t table) field(i, size int) int {
	if t.at == 0 {
		return 0
	}
	back, ok := u32(t.b, t.at)
	vtable := t.at - int(int32(back))
	if !ok || vtable < 0 || vtable > len(t.b)-4 {
		return 0
	}
	entry := 4 + 2*i
	if int(binary.LittleEndian.Uint16(t.b[vtable:])) < entry+2 || vtable+entry > len(t.b)-2 {
		return 0
	}
	off := int(binary.LittleEndian.Uint16(t.b[vtable+entry:]))
	if off == 0 || t.at+off > len(t.b)-size {
		return 0
	}
	return t.at + off
}

func (t table) byte(i int) byte {
	if at := t.field(i, 1); at > 0 {
		return t.b[at]
	}
	return 0
}

func (t table) int16(i int, missing int16) int16 {
	if at := t.field(i, 2); at > 0 {
		return int16(binary.LittleEndian.Uint16(t.b[at:]))
	}
	return missing
}

func (t table) int32(i int, missing int32) int32 {
	if at := t.field(i, 4); at > 0 {
		return int32(binary.LittleEndian.Uint32(t.b[at:]))
	}
	return missing
}

func (t table) int64(i int) int64 {
	if at := t.field(i, 8); at > 0 {
		return int64(binary.LittleEndian.Uint64(t.b[at:]))
	}
	return 0
}

func (t table) table(i int) table {
	if at := t.field(i, 4); at > 0 {
		return table{t.b, place(t.b, at)}
	}
	return table{}
}

// vector returns the elements of a vector, which have size bytes each.
func (t table) vector(i, size int) (elements []byte, at int) {
	start := t.field(i, 4)
	if start == 0 {
		return nil, 0
	}
	if start = place(t.b, start); start == 0 {
		return nil, 0
	}
	n, ok := u32(t.b, start)
	if !ok || uint64(n)*uint64(size) > uint64(len(t.b)-start-4) {
		return nil, 0
	}
	return t.b[start+4:][:int(n)*size], start + 4
}

func (t table) text(i int) string {
	b, _ := t.vector(i, 1)
	return string(b)
}

// tables returns the elements of a vector of tables.
func (t table) tables(i int) []table {
	b, at := t.vector(i, 4)
	all := make([]table, len(b)/4)
	for k := range all {
		all[k] = table{t.b, place(t.b, at+4*k)}
	}
	return all
}

// pairs returns the elements of a vector of structs of two int64.
func (t table) pairs(i int) [][2]int64 {
	b, _ := t.vector(i, 16)
	all := make([][2]int64, len(b)/16)
	for k := range all {
		all[k] = [2]int64{int64(binary.LittleEndian.Uint64(b[16*k:])), int64(binary.LittleEndian.Uint64(b[16*k+8:]))}
	}
	return all
}
