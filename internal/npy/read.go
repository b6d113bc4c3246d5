package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headrace/headrace/tensor"
)

const magic = "\x93NUMPY"

// Limits of what is read. Headers of arrays are shorter by far: longer ones would be of
// structures, which are not read.
const (
	maxHeader = 10_000
	maxAxes   = 64
)

// ErrShort is a file that ends in its header.
var ErrShort = errors.New("npy: the file ends in its header")

// An Array is what a file holds, not looked into but for its header.
type Array struct {
	Descr string       // the elements' type, as the format names it: "<f4"
	Shape tensor.Shape // known, and of no more elements than Data has
	Data  []byte       // of the file: the elements, the last axis first
}

// A Layout is what the header of a file says.
type Layout struct {
	Descr string       // the elements' type, as the format names it: "<f4"
	Shape tensor.Shape // known
	At    int          // of the first element in the file
	Size  int64        // of the elements, in bytes
}

// MaxHeader is how many bytes of a file have its header in them.
const MaxHeader = len(magic) + 6 + maxHeader

// ReadLayout reads the header of a file of which head is the beginning, [MaxHeader] bytes
// or all. It is an error if the elements are anything else than numbers or truth values,
// little-endian and in C order.
func ReadLayout(head []byte) (Layout, error) {
	h, at, err := readHeader(head)
	if err != nil {
		return Layout{}, err
	}
	if h.item > 0 {
		return Layout{}, errors.New("npy: the elements are structures: must be numbers and truth values")
	}
	item, err := sizeOf(h.descr)
	if err != nil {
		return Layout{}, fmt.Errorf("npy: %w", err)
	}
	if h.fortran && len(h.shape) > 1 {
		return Layout{}, errors.New("npy: the array is in Fortran order: must be in C order; write numpy.ascontiguousarray(x)")
	}
	size, err := h.bytes(item)
	if err != nil {
		return Layout{}, err
	}
	return Layout{h.descr, h.shape, at, size}, nil
}

// readHeader reads the header of a file of which head is the beginning, and returns where
// the elements begin.
func readHeader(head []byte) (h header, at int, err error) {
	text, rest, err := split(head)
	if err != nil {
		return h, 0, err
	}
	if h, err = parse(string(text)); err != nil {
		return h, 0, fmt.Errorf("npy: %w", err)
	}
	return h, len(head) - len(rest), nil
}

// bytes returns the size of an array whose elements have so many bytes.
func (h header) bytes(item int64) (int64, error) {
	elements, err := h.shape.Elements()
	if err == nil && item > 0 && elements > math.MaxInt64/item {
		err = fmt.Errorf("an array %v of %s has more than 2⁶³ bytes", h.shape, h.descr)
	}
	if err != nil {
		return 0, fmt.Errorf("npy: %w", err)
	}
	return elements * item, nil
}

// DType is the type of the elements.
func (l Layout) DType() tensor.DType { return dtypeOf(l.Descr) }

// Read reads a file. It is an error if the file holds anything else than one array of
// numbers or truth values, little-endian and in C order, or not all of it, or something
// after it.
func Read(file []byte) (Array, error) {
	l, err := ReadLayout(file)
	if err != nil {
		return Array{}, err
	}
	rest := file[l.At:]
	if n := int64(len(rest)); l.Size != n {
		elements, _ := l.Shape.Elements() // counted already
		size := int64(1)
		if elements > 0 {
			size = l.Size / elements
		}
		return Array{}, fmt.Errorf("npy: %d bytes follow the header: an array %v of %s has %d elements of %d bytes",
			n, l.Shape, l.Descr, elements, size)
	}
	return Array{l.Descr, l.Shape, rest}, nil
}

// Check says what keeps the elements from being of this type. Of truth values it looks
// at each: only 0 and 1 are any. As bfloat16 it takes the bits, as uint16 or as NumPy
// writes those of package ml_dtypes.
func (a Array) Check(d tensor.DType) error {
	switch {
	case d == tensor.BFloat16 && (a.Descr == "<V2" || a.Descr == "|V2"):
		return nil
	case descr[d] == "" || strings.TrimLeft(a.Descr, "<|=") != descr[d][1:]:
		return fmt.Errorf("npy: the elements are %s: must be %s, %s", a.Descr, descr[d], d)
	case d == tensor.Bool && slices.ContainsFunc(a.Data, func(b byte) bool { return b > 1 }):
		return errors.New("npy: a truth value is neither 0 nor 1")
	}
	return nil
}

// split returns the header and what follows it.
func split(file []byte) (header, rest []byte, err error) {
	if !bytes.HasPrefix(file, []byte(magic)) {
		return nil, nil, errors.New("npy: it is not a NumPy file: its first bytes are wrong")
	}

	after := file[len(magic):]
	if len(after) < 6 {
		return nil, nil, ErrShort
	}

	length := uint64(binary.LittleEndian.Uint32(after[2:]))
	switch after[0] {
	case 1:
		length, rest = uint64(binary.LittleEndian.Uint16(after[2:])), after[4:]
	case 2, 3:
		rest = after[6:]
	default:
		return nil, nil, fmt.Errorf("npy: version %d.%d: must be 1.0, 2.0 or 3.0", after[0], after[1])
	}
	if after[1] != 0 {
		return nil, nil, fmt.Errorf("npy: version %d.%d: must be 1.0, 2.0 or 3.0", after[0], after[1])
	}

	if length > maxHeader {
		return nil, nil, fmt.Errorf("npy: the header has %d bytes: must be at most %d", length, maxHeader)
	}
	if length > uint64(len(rest)) {
		return nil, nil, ErrShort
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
			return 0, fmt.Errorf("the elements are %s, the highest byte first: must be the lowest first; "+
				"write x.astype(x.dtype.newbyteorder(\"<\"))", name)
		}
	}
	switch {
	case kind == "V2" && order != '>':
		return 2, nil
	case kind == "O":
		return 0, errors.New("the elements are Python objects, which would have to be unpickled: must be numbers and truth values")
	}
	return 0, fmt.Errorf("the elements are %q: must be numbers and truth values", name)
}
