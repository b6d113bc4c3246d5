package tfexample

import (
	"encoding/binary"
	"errors"
)

// errForm is a message that is not encoded as protocol buffers are.
var errForm = errors.New("invalid protocol buffer")

// The types of wire encoding.
const (
	varint = 0
	wide   = 1 // 8 bytes
	length = 2 // bytes after their number
	narrow = 5 // 4 bytes
)

// field is one of a message.
type field struct {
	number int
	wire   int
	value  uint64 // of varint
	data   []byte // of the others
}

// next takes the first field off a message that is not empty.
func next(message []byte) (f field, rest []byte, err error) {
	tag, n := binary.Uvarint(message)
	if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29-1 {
		return f, nil, errForm
	}
	f.number, f.wire, rest = int(tag>>3), int(tag&7), message[n:]

	size := uint64(0)
	switch f.wire {
	case varint:
		if f.value, n = binary.Uvarint(rest); n <= 0 {
			return f, nil, errForm
		}
		return f, rest[n:], nil
	case wide:
		size = 8
	case narrow:
		size = 4
	case length:
		if size, n = binary.Uvarint(rest); n <= 0 {
			return f, nil, errForm
		}
		rest = rest[n:]
	default: // groups, which these messages never had
		return f, nil, errForm
	}
	if size > uint64(len(rest)) {
		return f, nil, errForm
	}
	f.data = rest[:size:size]
	return f, rest[size:], nil
}

// walker finds the features of a record, one after the other.
type walker struct {
	example  []byte // what is left of it
	features []byte // what is left of those that are being read
}

// next returns the name and the message of the next feature; false: there is none.
func (w *walker) next() (name, feature []byte, ok bool, err error) {
	for len(w.features) > 0 || len(w.example) > 0 {
		var f field
		if len(w.features) == 0 {
			if f, w.example, err = next(w.example); err != nil {
				return nil, nil, false, err
			}
			// 1 is Example.features, and SequenceExample.context.
			if f.number == 1 && f.wire == length {
				w.features = f.data
			}
			continue
		}

		if f, w.features, err = next(w.features); err != nil {
			return nil, nil, false, err
		}
		if f.number == 1 && f.wire == length {
			name, feature, err = entry(f.data)
			return name, feature, err == nil, err
		}
	}
	return nil, nil, false, nil
}

// entry reads one of a map: its key and its value.
func entry(message []byte) (key, value []byte, err error) {
	for len(message) > 0 {
		var f field
		if f, message, err = next(message); err != nil {
			return nil, nil, err
		}
		switch {
		case f.number == 1 && f.wire == length:
			key = f.data
		case f.number == 2 && f.wire == length:
			value = f.data
		}
	}
	return key, value, nil
}

// kind is which list a feature has.
type kind int

const (
	noList    kind = 0
	bytesList kind = 1
	floatList kind = 2
	int64List kind = 3
)

func (k kind) String() string {
	return [...]string{"no list", "a bytes_list", "a float_list", "an int64_list"}[k]
}

// list is the one that a feature has, and how many values are in it. Of several, the last
// counts, as of every field of which a message can have only one.
func list(feature []byte) (k kind, values []byte, n int, err error) {
	for len(feature) > 0 {
		var f field
		if f, feature, err = next(feature); err != nil {
			return 0, nil, 0, err
		}
		if f.wire == length && f.number <= int(int64List) {
			k, values = kind(f.number), f.data
		}
	}
	n, err = count(k, values)
	return k, values, n, err
}

// count is how many values a list has.
func count(k kind, list []byte) (n int, err error) {
	for len(list) > 0 {
		var f field
		if f, list, err = next(list); err != nil {
			return 0, err
		}
		switch {
		case f.number != 1:
		case f.wire != length:
			n++
		case k == bytesList:
			n++
		case k == floatList:
			n += len(f.data) / 4
		case k == int64List:
			for _, b := range f.data {
				if b < 0x80 { // the last byte of a number
					n++
				}
			}
		}
	}
	return n, nil
}

// bytesOf is the first value of a bytes_list.
func bytesOf(list []byte) (first []byte, err error) {
	found := false
	err = eachBytes(list, func(value []byte) bool {
		first, found = value, true
		return false
	})
	if err == nil && !found {
		err = errForm
	}
	return first, err
}

// eachBytes calls each with the values of a bytes_list.
func eachBytes(list []byte, each func([]byte) bool) (err error) {
	for len(list) > 0 {
		var f field
		if f, list, err = next(list); err != nil {
			return err
		}
		if f.number == 1 && f.wire == length && !each(f.data) {
			return nil
		}
	}
	return nil
}

// floats appends the bytes of a float_list to dst. One that is packed, as all are that
// TensorFlow writes, is returned as it is.
func floats(dst, list []byte) (all, scratch []byte, err error) {
	from := len(dst)
	for len(list) > 0 {
		var f field
		if f, list, err = next(list); err != nil {
			return nil, dst, err
		}
		switch {
		case f.number != 1:
		case f.wire == length && len(f.data)%4 != 0, f.wire != length && f.wire != narrow:
			return nil, dst, errForm
		case len(list) == 0 && len(dst) == from:
			return f.data, dst, nil
		default:
			dst = append(dst, f.data...)
		}
	}
	return dst[from:len(dst):len(dst)], dst, nil
}

// ints calls each with every value of an int64_list.
func ints(list []byte, each func(int64) bool) (err error) {
	for len(list) > 0 {
		var f field
		if f, list, err = next(list); err != nil {
			return err
		}
		switch {
		case f.number != 1:
		case f.wire == varint:
			if !each(int64(f.value)) {
				return nil
			}
		case f.wire != length:
			return errForm
		}
		for packed := f.data; f.number == 1 && len(packed) > 0; {
			v, n := binary.Uvarint(packed)
			if n <= 0 {
				return errForm
			}
			if packed = packed[n:]; !each(int64(v)) {
				return nil
			}
		}
	}
	return nil
}
