package parquet

import (
	"encoding/binary"
	"errors"
)

// Metadata is in Thrift's compact protocol. The reader is our own because its input is
// hostile: a list is never believed to be longer than the bytes that are left.

var (
	errShort = errors.New("metadata ends early")
	errBad   = errors.New("metadata is malformed")
)

// Kinds of values, of which booleans are two.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

// maxDepth is deeper than any metadata goes.
const maxDepth = 32

// thrift reads values one after the other. After an error it reads zeros.
type thrift struct {
	b     []byte
	at    int
	depth int
	err   error
}

func (t *thrift) fail(err error) {
	if t.err == nil {
		t.err = err
	}
	t.at = len(t.b)
}

func (t *thrift) byte() byte {
	if t.at >= len(t.b) {
		t.fail(errShort)
		return 0
	}
	t.at++
	return t.b[t.at-1]
}

func (t *thrift) uvarint() uint64 {
	v, n := binary.Uvarint(t.b[t.at:])
	switch {
	case n == 0:
		t.fail(errShort)
		return 0
	case n < 0:
		t.fail(errBad)
		return 0
	}
	t.at += n
	return v
}

func (t *thrift) int() int64 {
	v := t.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

func (t *thrift) bytes() []byte {
	n := t.uvarint()
	if n > uint64(len(t.b)-t.at) {
		t.fail(errShort)
		return nil
	}
	t.at += int(n)
	return t.b[t.at-int(n) : t.at]
}

// fields calls each for the fields of a struct; it must read the value.
func (t *thrift) fields(each func(id int16, kind byte)) {
	if t.depth++; t.depth > maxDepth {
		t.fail(errBad)
	}
	id := int16(0)
	for t.err == nil {
		head := t.byte()
		kind := head & 15
		if kind == 0 {
			break
		}
		if delta := head >> 4; delta > 0 {
			id += int16(delta)
		} else {
			id = int16(t.int())
		}
		each(id, kind)
	}
	t.depth--
}

// list calls each for the elements of a list; it must read one.
func (t *thrift) list(each func(kind byte)) {
	head := t.byte()
	n, kind := uint64(head>>4), head&15
	if n == 15 {
		n = t.uvarint()
	}
	if n > uint64(len(t.b)-t.at) {
		t.fail(errShort)
	}
	for ; n > 0 && t.err == nil; n-- {
		each(kind)
	}
}

// skip reads a value that nobody needs.
func (t *thrift) skip(kind byte) {
	switch kind {
	case thriftTrue, thriftFalse: // of a field: the value is its kind
	case thriftByte:
		t.byte()
	case 4, 5, 6:
		t.uvarint()
	case thriftDouble:
		if len(t.b)-t.at < 8 {
			t.fail(errShort)
			return
		}
		t.at += 8
	case thriftBinary:
		t.bytes()
	case thriftList, thriftSet:
		t.list(t.skipElement)
	case thriftMap:
		t.skipMap()
	case thriftStruct:
		t.fields(func(_ int16, kind byte) { t.skip(kind) })
	default:
		t.fail(errBad)
	}
}

// skipElement skips what is in a list or map, where a boolean has a byte.
func (t *thrift) skipElement(kind byte) {
	if kind == thriftTrue || kind == thriftFalse {
		kind = thriftByte
	}
	if t.depth++; t.depth > maxDepth {
		t.fail(errBad)
	}
	t.skip(kind)
	t.depth--
}

func (t *thrift) skipMap() {
	n := t.uvarint()
	if n == 0 {
		return
	}
	kinds := t.byte()
	for ; n > 0 && t.err == nil; n-- {
		t.skipElement(kinds >> 4)
		t.skipElement(kinds & 15)
	}
}
