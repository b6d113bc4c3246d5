package npy

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/headrace/headrace/tensor"
)

// descr is the name that the format has for an element type.
var descr = map[tensor.DType]string{
	tensor.Bool: "|b1", tensor.Uint8: "|u1", tensor.Int8: "|i1", tensor.Uint16: "<u2", tensor.Int16: "<i2",
	tensor.Uint32: "<u4", tensor.Int32: "<i4",
	tensor.Uint64: "<u8", tensor.Int64: "<i8", tensor.Float16: "<f2", tensor.BFloat16: "<u2", tensor.Float32: "<f4", tensor.Float64: "<f8",
}

// Write returns what is before the elements of an array, in version 1.0 of the
// format. Its length is a multiple of 64 bytes, and does not depend on the first
// extent, so that it can be written again when that is known. The bits of bfloat16,
// which the format has no name for, are written as uint16.
func Write(d tensor.DType, shape tensor.Shape) []byte {
	const before = len(magic) + 2 + 2
	room := 1
	if len(shape) > 0 {
		room += 20 - len(strconv.Itoa(shape[0])) // digits of the largest int64, and a sign
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr[d], pythonTuple(shape))
	total := (before + len(text) + room + 63) / 64 * 64
	text += strings.Repeat(" ", total-before-len(text)-1) + "\n"
	return append(binary.LittleEndian.AppendUint16([]byte(magic+"\x01\x00"), uint16(len(text))), text...)
}

func pythonTuple(shape tensor.Shape) string {
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = strconv.Itoa(n)
	}
	if len(parts) == 1 {
		return "(" + parts[0] + ",)"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
