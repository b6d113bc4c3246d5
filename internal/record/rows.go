package record

import (
	"encoding/binary"
	"fmt"
	"math"
)

// A batch has a text or an object for each row. They are in one value: how many there
// are, where each ends, from 0 on, and then they themselves; the numbers have four bytes
// each. docs/protocol.md states it.

// PackRows puts texts or objects, one a row, into one value.
func PackRows(rows []string) (string, error) {
	size := 4 * (len(rows) + 2)
	for _, row := range rows {
		size += len(row)
	}
	if size > math.MaxUint32 {
		return "", fmt.Errorf("headrace: text or objects of %d bytes in a batch: at most %d; use a smaller batch",
			size, uint32(math.MaxUint32))
	}

	b := make([]byte, 0, size)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(rows)))
	end := uint32(0)
	b = binary.LittleEndian.AppendUint32(b, 0)
	for _, row := range rows {
		end += uint32(len(row))
		b = binary.LittleEndian.AppendUint32(b, end)
	}
	for _, row := range rows {
		b = append(b, row...)
	}
	return string(b), nil
}

// CountRows returns how many rows a value has; false: it is none that has rows.
func CountRows[S string | []byte](packed S) (int, bool) {
	if len(packed) < 8 {
		return 0, false
	}
	n := number(packed, 0)
	head := 8 + 4*int64(n)
	if head > int64(len(packed)) || number(packed, 4) != 0 || head+int64(number(packed, int(head)-4)) != int64(len(packed)) {
		return 0, false
	}
	for i := range int(n) {
		if number(packed, 4+4*i) > number(packed, 8+4*i) {
			return 0, false
		}
	}
	return int(n), true
}

// Row returns row i of a value that has more rows than i.
func Row[S string | []byte](packed S, i int) S {
	head := 8 + 4*int(number(packed, 0))
	return packed[head+int(number(packed, 4+4*i)) : head+int(number(packed, 8+4*i))]
}

// UnpackRows returns what PackRows was given.
func UnpackRows(packed string) []string {
	n, _ := CountRows(packed)
	rows := make([]string, n)
	for i := range rows {
		rows[i] = Row(packed, i)
	}
	return rows
}

// NoRows is the value that has none.
const NoRows = "\x00\x00\x00\x00\x00\x00\x00\x00"

// number is that at a place.
func number[S string | []byte](b S, at int) uint32 {
	return uint32(b[at]) | uint32(b[at+1])<<8 | uint32(b[at+2])<<16 | uint32(b[at+3])<<24
}
