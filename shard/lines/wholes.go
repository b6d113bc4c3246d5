package lines

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/headrace/headrace/tensor"
)

// Lists of whole numbers, such as token ids, are most of the text of many files. They are
// read in one pass, eight digits at a time. Every other list is left to the reader of any
// value, which also says what is wrong with it.

// wholes reads a list of whole numbers and appends them as a type. If it is another list,
// or has another length than it must have, nothing is read.
func (r *jsonReader) wholes(dst []byte, d tensor.DType, length int) (all []byte, n int, ok bool) {
	least, most, ok := rangeOf(d)
	if !ok || r.next() != '[' {
		return dst, 0, false
	}
	text := r.b[r.at+1:]
	end := bytes.IndexByte(text, ']')
	if end < 0 {
		return dst, 0, false
	}
	n = 1 + bytes.Count(text[:end], comma)
	if length != tensor.Unknown && length != n {
		return dst, 0, false
	}

	size, before := d.Size(), len(dst)
	dst = slices.Grow(dst, n*size+8) // each is written as eight bytes; the next one overwrites those too many
	if !readWholes(dst[before:before+n*size+8], text[:end+1], size, n, least, most) {
		return dst, 0, false
	}
	r.at += len("[") + end + len("]")
	return dst[:before+n*size], n, true
}

var comma = []byte{','}

// rangeOf returns how far the numbers of a type are below and above zero; false: they are
// not whole, or have one byte, as few lists do.
func rangeOf(d tensor.DType) (least, most uint64, ok bool) {
	switch d {
	case tensor.Int16, tensor.Int32, tensor.Int64:
		least = 1 << (8*d.Size() - 1)
		return least, least - 1, true
	case tensor.Uint16, tensor.Uint32, tensor.Uint64:
		return 0, 1<<(8*d.Size()) - 1, true
	}
	return 0, 0, false
}

// readWholes sets n numbers to those of a text, which ends with a bracket; false: it has
// another form, or a number is too large.
func readWholes(dst, text []byte, size, n int, least, most uint64) bool {
	at := 0
	for k := 0; k < n; k++ {
		if read, length := usual(dst[k*size:], text[at:], size, n-1-k, most); read > 0 {
			k, at = k+read, at+length
		}

		for isBlank(text[at]) {
			at++
		}
		limit, sign := most, uint64(0)
		if text[at] == '-' && least > 0 {
			limit, sign = least, ^uint64(0)
			at++
		}
		v, digits := leading(text[at:])
		if digits == 0 || digits > 1 && text[at] == '0' || v > limit {
			return false
		}
		binary.LittleEndian.PutUint64(dst[k*size:], (v^sign)-sign)

		for at += digits; isBlank(text[at]); {
			at++
		}
		if k+1 < n && text[at] != ',' {
			return false
		}
		at++
	}
	return at == len(text)
}

// ones has a one in each byte.
const ones = 0x0101010101010101

// usual is readUsual for up to n numbers of a size.
func usual(dst, text []byte, size, n int, most uint64) (read, length int) {
	at := unsafe.Pointer(unsafe.SliceData(dst))
	switch size {
	case 2:
		return readUsual(unsafe.Slice((*uint16)(at), n), text, most)
	case 4:
		return readUsual(unsafe.Slice((*uint32)(at), n), text, most)
	default:
		return readUsual(unsafe.Slice((*uint64)(at), n), text, most)
	}
}

// readUsual sets numbers to those that a text begins with, as far as they have the form
// that programs write: up to eight digits, a comma, and a blank or none. It returns how
// many there were, and the length of their text. Some before the text's end are left.
//
// Where numbers begin and end is found for 64 bytes at once, so that none has to wait for
// the one before it.
func readUsual[T uint16 | uint32 | uint64](dst []T, text []byte, most uint64) (read, length int) {
	const piece = 64
	for len(text)-length >= piece+8 {
		from := (*[piece + 8]byte)(text[length:])
		digits := digitsOf((*[piece]byte)(from[:]))
		begins, ends := digits&^(digits<<1), ^digits&(digits<<1)
		if digits&1 == 0 {
			break
		}

		at := 0
		for begins &= begins - 1; begins != 0 && read < len(dst); begins &= begins - 1 {
			end, next := bits.TrailingZeros64(ends)&63, bits.TrailingZeros64(begins)&63
			count := end - at
			switch {
			case count > 8, count > 1 && from[at] == '0', from[end] != ',':
				return read, length + at
			case next > end+2, next == end+2 && from[end+1] != ' ':
				return read, length + at
			}
			v := decimal((binary.LittleEndian.Uint64(from[at:at+8]) ^ '0'*ones) << (-8 * count & 63))
			if v > most {
				return read, length + at
			}
			dst[read] = T(v)
			read, at = read+1, next
			ends &= ends - 1
		}
		if at == 0 || read == len(dst) {
			return read, length + at
		}
		length += at
	}
	return read, length
}

// digitsOf tells which of 64 bytes are digits: the lowest bit is for the first.
func digitsOf(text *[64]byte) (digits uint64) {
	for i := range 8 {
		v := binary.LittleEndian.Uint64(text[8*i:]) ^ '0'*ones // digits are bytes from 0 to 9
		none := ((v & (0x7f * ones)) + (0x80-10)*ones | v) >> 7 & ones
		digits |= (none * 0x0102040810204080 >> 56) << (8 * i) // the lowest bit of each byte, together
	}
	return ^digits
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// leading returns the number that a text begins with, and how many digits it has; 0: it
// has none, or more than 15.
func leading(text []byte) (v uint64, digits int) {
	if v, digits = eight(text); digits < 8 {
		return v, digits
	}
	low, more := eight(text[8:])
	if more == 8 {
		return 0, 0
	}
	return v*powers[more] + low, 8 + more
}

// powers are those of ten.
var powers = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7}

// eight is leading for the first eight bytes.
func eight(text []byte) (v uint64, digits int) {
	if len(text) < 8 {
		var padded [8]byte
		copy(padded[:], text)
		text = padded[:]
	}
	v = binary.LittleEndian.Uint64(text) ^ '0'*ones // digits are bytes from 0 to 9
	// The high bit of a byte says that it is no digit. Only such a byte carries into the
	// next one, and nothing after it counts.
	none := (v + (0x80-10)*ones | v) & (0x80 * ones)
	digits = bits.TrailingZeros64(none) / 8

	// Digits come into the high bytes, after as many zeros as are missing.
	return decimal(v << (64 - 8*digits)), digits
}

// decimal is the number of eight digits, a byte each, of which the first is the lowest.
// Two of them become a number, two of these one of four digits, and those all eight.
func decimal(v uint64) uint64 {
	v = v * (1 + 10<<8) >> 8 & 0x00ff00ff00ff00ff
	v = v * (1 + 100<<16) >> 16 & 0x0000ffff0000ffff
	return v * (1 + 10000<<32) >> 32
}
