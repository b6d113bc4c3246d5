package npy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/headrace/headrace/tensor"
)

// Form is the content of an array's header, also of one whose elements are no numbers, or
// are in another order than samples have them.
type Form struct {
	Descr   string       // the elements' type, as the header names it
	DType   tensor.DType // Invalid: they are no numbers
	Shape   tensor.Shape // known
	Item    int          // bytes of an element
	Swapped bool         // they have the highest byte first
	Fortran bool         // the first axis comes first
	At      int          // of the first element in the file
	Size    int64        // of the elements, in bytes
}

// ReadForm reads the header of a file of which head is the beginning. It is an error if
// the elements are Python objects.
func ReadForm(head []byte) (f Form, err error) {
	h, at, err := readHeader(head)
	if err != nil {
		return f, err
	}
	item := h.item
	if item == 0 {
		if item, err = itemOf(h.descr); err != nil {
			return f, fmt.Errorf("npy: %w", err)
		}
	}
	size, err := h.bytes(item)
	if err != nil {
		return f, err
	}
	f = Form{Descr: h.descr, Shape: h.shape, Item: int(item), At: at, Size: size}
	f.Fortran = h.fortran && len(h.shape) > 1
	f.Swapped = strings.HasPrefix(h.descr, ">") && item > 1
	if h.item == 0 {
		f.DType = dtypeOf(h.descr)
	}
	return f, nil
}

// HeaderSize returns the place of the elements in a file of which head is the beginning,
// or if that is too short to say it, how much of the file does.
func HeaderSize(head []byte) (n int, err error) {
	_, _, err = split(head)
	if !errors.Is(err, ErrShort) {
		return len(head), err
	}
	after := head[len(magic):]
	switch {
	case len(after) < 6:
		return len(magic) + 6, nil
	case after[0] == 1:
		return len(magic) + 4 + int(after[2]) + int(after[3])<<8, nil
	}
	return len(magic) + 6 + int(after[2]) + int(after[3])<<8 + int(after[4])<<16 + int(after[5])<<24, nil
}

// dtypeOf is the dtype of numbers and truth values, in whatever order their bytes are.
// NumPy has no name for bfloat16 of package ml_dtypes.
func dtypeOf(name string) tensor.DType {
	kind := name[1:]
	for d := tensor.Bool; d.Valid(); d++ {
		if descr[d][1:] == kind && d != tensor.BFloat16 {
			return d
		}
	}
	if kind == "V2" && name[0] != '>' {
		return tensor.BFloat16
	}
	return tensor.Invalid
}

// sizes are the sizes that elements of a kind can have, in bytes; nil: any.
var sizes = map[byte][]int64{
	'b': {1}, 'i': {1, 2, 4, 8}, 'u': {1, 2, 4, 8}, 'f': {2, 4, 8, 12, 16}, 'c': {8, 16, 24, 32},
	'M': {8}, 'm': {8}, 'S': nil, 'a': nil, 'U': nil, 'V': nil,
}

// itemOf is the bytes of an element of any type that NumPy has, but objects.
func itemOf(name string) (int64, error) {
	wrong := fmt.Errorf("the elements are %q, which is not a dtype", name)
	if len(name) < 2 || !strings.ContainsRune("<>=|", rune(name[0])) {
		return 0, wrong
	}
	kind, digits := name[1], name[2:]
	if kind == 'O' {
		return 0, errors.New("the elements are Python objects, which would have to be unpickled, and that can run anything")
	}
	if kind == 'M' || kind == 'm' {
		digits, _, _ = strings.Cut(digits, "[")
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || n < 0 || digits[0] == '+' {
		return 0, wrong
	}
	allowed, known := sizes[kind]
	if !known {
		return 0, wrong
	}
	for _, size := range allowed {
		if n == size {
			return n, nil
		}
	}
	if allowed != nil {
		return 0, wrong
	}
	if kind == 'U' {
		n *= 4
	}
	return n, nil
}
