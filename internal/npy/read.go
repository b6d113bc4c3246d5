package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"headrace/tensor"
)

const magic = "\x93NUMPY"

// Limits of what is read. Headers of arrays are shorter by far: longer ones would be of
// structures, which are not read.
const (
	maxHeader = 10_000
	maxAxes   = 64
)

// An Array is what a file holds, not looked into but for its header.
type Array struct {
	Descr string       // the elements' type, as the format names it: "<f4"
	Shape tensor.Shape // known, and of no more elements than Data has
	Data  []byte       // of the file: the elements, the last axis first
}

// Read reads a file. It is an error if the file holds anything else than one array of
// numbers or truth values, little-endian and in C order, or not all of it, or something
// after it.
func Read(file []byte) (Array, error) {
	text, rest, err := split(file)
	if err != nil {
		return Array{}, err
	}
	h, err := parse(string(text))
	if err != nil {
		return Array{}, fmt.Errorf("npy: %w", err)
	}
	size, err := sizeOf(h.descr)
	if err != nil {
		return Array{}, fmt.Errorf("npy: %w", err)
	}
	if h.fortran && len(h.shape) > 1 {
		return Array{}, errors.New("npy: the array is in Fortran's order: takes C's; write numpy.ascontiguousarray of it")
	}
	elements, err := h.shape.Elements()
	if err != nil {
		return Array{}, fmt.Errorf("npy: %w", err)
	}
	if n := int64(len(rest)); elements != n/size || n%size != 0 {
		return Array{}, fmt.Errorf("npy: %d bytes follow the header: an array %v of %s has %d elements of %d bytes", n, h.shape, h.descr, elements, size)
	}
	return Array{h.descr, h.shape, rest}, nil
}

// Check says what keeps the elements from being of this type. Of truth values it looks
// at each: only 0 and 1 are any. As bfloat16 it takes the bits, as uint16 or as NumPy
// writes those of package ml_dtypes.
func (a Array) Check(d tensor.DType) error {
	switch {
	case d == tensor.BFloat16 && (a.Descr == "<V2" || a.Descr == "|V2"):
		return nil
	case descr[d] == "" || strings.TrimLeft(a.Descr, "<|=") != descr[d][1:]:
		return fmt.Errorf("npy: the elements are %s: takes %s, %s", a.Descr, descr[d], d)
	case d == tensor.Bool && slices.ContainsFunc(a.Data, func(b byte) bool { return b > 1 }):
		return errors.New("npy: a truth value is neither 0 nor 1")
	}
	return nil
}

// split returns the header and what follows it.
func split(file []byte) (header, rest []byte, err error) {
	if !bytes.HasPrefix(file, []byte(magic)) {
		return nil, nil, errors.New("npy: no file of NumPy: it does not begin as one")
	}

	short := errors.New("npy: the file ends in its header")
	after := file[len(magic):]
	if len(after) < 6 {
		return nil, nil, short
	}

	length := uint64(binary.LittleEndian.Uint32(after[2:]))
	switch after[0] {
	case 1:
		length, rest = uint64(binary.LittleEndian.Uint16(after[2:])), after[4:]
	case 2, 3:
		rest = after[6:]
	default:
		return nil, nil, fmt.Errorf("npy: version %d.%d: takes 1.0, 2.0 and 3.0", after[0], after[1])
	}
	if after[1] != 0 {
		return nil, nil, fmt.Errorf("npy: version %d.%d: takes 1.0, 2.0 and 3.0", after[0], after[1])
	}

	if length > maxHeader {
		return nil, nil, fmt.Errorf("npy: the header has %d bytes: takes up to %d", length, maxHeader)
	}
	if length > uint64(len(rest)) {
		return nil, nil, short
	}
	return rest[:length], rest[length:], nil
}

// sizeOf is the bytes of an element.
func sizeOf(name string) (int64, error) {
	if name == "" {
		return 0, errors.New("the type of the elements is \"\"")
	}
	order, kind := name[0], name[1:]
	for d, known := range descr {
		if known[1:] != kind {
			continue
		}
		if order == '<' || order == '=' || order == '|' && d.Size() == 1 {
			return int64(d.Size()), nil
		}
		if order == '>' {
			return 0, fmt.Errorf("the elements are %s, the highest byte first: takes the lowest first; write x.astype(x.dtype.newbyteorder(\"<\"))", name)
		}
	}
	switch {
	case kind == "V2" && order != '>':
		return 2, nil
	case kind == "O":
		return 0, errors.New("the elements are objects of Python, which would have to be unpickled: takes numbers and truth values")
	}
	return 0, fmt.Errorf("the elements are %q: takes numbers and truth values", name)
}
