package arrowfile

import "encoding/binary"

// flat is a FlatBuffer of metadata, written from its beginning to its end: a table
// comes before the values that it refers to. https://flatbuffers.dev/internals/ states
// the form.
type flat struct{ b []byte }

// table is one by the numbers of its fields: nil, bool, uint8, int16, int32, int64, and
// those that have a place of their own: string, table, tables, longs.
type table []any

// tables is a vector of tables.
type tables []table

// longs is a vector of structs whose members take 8 bytes each.
type longs struct {
	structs int
	members []int64
}

// bufferOf returns the FlatBuffer that begins with a table.
func bufferOf(root table) []byte {
	f := &flat{b: make([]byte, 4)}
	binary.LittleEndian.PutUint32(f.b, uint32(f.table(root)))
	f.align(8, 0)
	return f.b
}

// align fills up, so that the place after so many bytes is a multiple of n.
func (f *flat) align(n, after int) {
	for (len(f.b)+after)%n != 0 {
		f.b = append(f.b, 0)
	}
}

// table writes one, and returns its place.
func (f *flat) table(t table) int {
	f.align(8, 4+2*len(t)) // so that the fields of 8 bytes need the least between them
	places := len(f.b)
	f.b = append(f.b, make([]byte, 4+2*len(t))...)
	f.align(4, 0)
	start := len(f.b)
	f.b = binary.LittleEndian.AppendUint32(f.b, uint32(start-places))

	at := make([]int, len(t))
	for i, v := range t {
		size := sizeOf(v)
		if size == 0 {
			continue
		}
		f.align(size, 0)
		at[i] = len(f.b)
		binary.LittleEndian.PutUint16(f.b[places+4+2*i:], uint16(at[i]-start))
		f.b = appendScalar(f.b, v)
	}
	binary.LittleEndian.PutUint16(f.b[places:], uint16(4+2*len(t)))
	binary.LittleEndian.PutUint16(f.b[places+2:], uint16(len(f.b)-start))

	for i, v := range t {
		if elsewhere(v) {
			to := f.put(v)
			binary.LittleEndian.PutUint32(f.b[at[i]:], uint32(to-at[i]))
		}
	}
	return start
}

// sizeOf returns the bytes of a field within its table.
func sizeOf(v any) int {
	switch v.(type) {
	case nil:
		return 0
	case bool, uint8:
		return 1
	case int16:
		return 2
	case int64:
		return 8
	}
	return 4 // an int32, or where something is
}

func elsewhere(v any) bool {
	switch v.(type) {
	case string, table, tables, longs:
		return true
	}
	return false
}

func appendScalar(b []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		if v {
			return append(b, 1)
		}
		return append(b, 0)
	case uint8:
		return append(b, v)
	case int16:
		return binary.LittleEndian.AppendUint16(b, uint16(v))
	case int32:
		return binary.LittleEndian.AppendUint32(b, uint32(v))
	case int64:
		return binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return append(b, 0, 0, 0, 0) // set when it is known
}

// put writes a value that has a place of its own, and returns its place.
func (f *flat) put(v any) int {
	switch v := v.(type) {
	case string:
		f.align(4, 0)
		start := len(f.b)
		f.b = append(append(binary.LittleEndian.AppendUint32(f.b, uint32(len(v))), v...), 0)
		return start

	case table:
		return f.table(v)
	case tables:
		f.align(4, 0)
		start := len(f.b)
		f.b = append(binary.LittleEndian.AppendUint32(f.b, uint32(len(v))), make([]byte, 4*len(v))...)
		for i, t := range v {
			at := start + 4 + 4*i
			to := f.table(t)
			binary.LittleEndian.PutUint32(f.b[at:], uint32(to-at))
		}
		return start
	case longs:
		f.align(8, 4)
		start := len(f.b)
		f.b = binary.LittleEndian.AppendUint32(f.b, uint32(v.structs))
		for _, n := range v.members {
			f.b = binary.LittleEndian.AppendUint64(f.b, uint64(n))
		}
		return start
	}
	return 0
}
