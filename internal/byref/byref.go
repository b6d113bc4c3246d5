// Package byref counts the uses of objects that stay in the program.
//
// A number travels in place of an object, and the program lets go of the object when the
// last copy of the number is gone.
package byref

import (
	"encoding/binary"
	"sync/atomic"
)

// Object is an object of the program.
type Object struct {
	count atomic.Int64
	end   func()
}

// List is one use of each of its objects.
type List []*Object

// New returns an object with one use. end is called after the last, by any goroutine.
func New(end func()) *Object {
	o := &Object{end: end}
	o.count.Store(1)
	return o
}

// Share returns the same objects with another use of each.
func (l List) Share() List {
	for _, o := range l {
		o.count.Add(1)
	}
	return append(List(nil), l...)
}

// Leave ends these uses. Leaving again does nothing.
func (l *List) Leave() {
	for _, o := range *l {
		if o.count.Add(-1) == 0 {
			o.end()
		}
	}
	*l = nil
}

// Together returns one use that stands for all of these, which it takes over: to share it
// costs the same for any number of objects.
func (l List) Together() List {
	if len(l) < 2 {
		return l
	}
	return List{New(l.Leave)}
}

// head begins a number in place of an object; no pickle begins with it
// (docs/protocol.md, "Objects").
const head = 16

// Number returns the number in the bytes of an object; false: they are a pickle.
func Number(b []byte) (uint64, bool) {
	if len(b) < head || binary.LittleEndian.Uint64(b) != 1<<32 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[8:]), true
}

// Numbers returns the numbers in the bytes of objects that have so many axes, as rows of
// a batch have them.
func Numbers(b []byte, axes int) (all []uint64) {
	if axes == 0 {
		if n, ok := Number(b); ok {
			all = append(all, n)
		}
		return all
	}
	if len(b) < 8 {
		return nil
	}
	head := 8 + 4*int64(binary.LittleEndian.Uint32(b))
	for at := int64(4); at+8 <= head && head <= int64(len(b)); at += 4 {
		begin, end := int64(binary.LittleEndian.Uint32(b[at:])), int64(binary.LittleEndian.Uint32(b[at+4:]))
		if begin > end || end > int64(len(b))-head {
			return all
		}
		all = append(all, Numbers(b[head:][begin:end], axes-1)...)
	}
	return all
}
