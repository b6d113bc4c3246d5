package mp4

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrFormat says that a file is not MP4, or is damaged.
var ErrFormat = errors.New("damaged or not an MP4 file")

// ErrUnsupported says that a file has something that this package does not read.
var ErrUnsupported = errors.New("not supported")

// A box is one that has been read.
type box struct {
	kind string // four characters
	at   int64  // where it begins in the file
	head int    // the length of its header
	body []byte // without the header
}

// errorf blames the box.
func (b *box) errorf(format string, args ...any) error {
	return fmt.Errorf("mp4: box %q at byte %d %s: %w", b.kind, b.at, fmt.Sprintf(format, args...), ErrFormat)
}

func (b *box) unsupported(format string, args ...any) error {
	return fmt.Errorf("mp4: box %q at byte %d %s: %w", b.kind, b.at, fmt.Sprintf(format, args...), ErrUnsupported)
}

// each calls f for each box inside, which begin skip bytes after the header. Fewer bytes
// than a header has may follow the last: QuickTime ends lists with four zeros.
func (b *box) each(skip int, f func(c *box) error) error {
	if skip > len(b.body) {
		return b.errorf("is too short")
	}
	rest, at := b.body[skip:], b.at+int64(b.head+skip)
	for len(rest) >= 8 {
		size, head, err := header(rest, int64(len(rest)))
		if err != nil {
			return b.errorf("contains at byte %d %v", at, err)
		}
		c := &box{kind: string(rest[4:8]), at: at, head: head, body: rest[head:size]}
		if err := f(c); err != nil {
			return err
		}
		rest, at = rest[size:], at+size
	}
	return nil
}

// header returns the size of the box that b begins with, and that of its header. It must
// not be larger than room.
func header(b []byte, room int64) (size int64, head int, err error) {
	size, head = int64(binary.BigEndian.Uint32(b)), 8
	switch size {
	case 0: // it is the last one
		return room, head, nil
	case 1:
		head = 16
		if len(b) < head {
			return 0, 0, errors.New("a box that ends in its header")
		}
		long := binary.BigEndian.Uint64(b[8:])
		if long > math.MaxInt64 {
			return 0, 0, fmt.Errorf("box %q of %d bytes", b[4:8], long)
		}
		size = int64(long)
	}
	if size < int64(head) || size > room {
		return size, head, fmt.Errorf("box %q of %d bytes, where %d are left", b[4:8], size, room)
	}
	return size, head, nil
}

// fields reads numbers from the start of a box. After the end they are 0, and short is
// set.
type fields struct {
	b     []byte
	short bool
}

func (b *box) fields() fields { return fields{b: b.body} }

func (f *fields) take(n int) []byte {
	if n > len(f.b) {
		f.b, f.short = nil, true
		return make([]byte, min(n, 64))
	}
	taken := f.b[:n]
	f.b = f.b[n:]
	return taken
}

func (f *fields) skip(n int) {
	if n > len(f.b) {
		f.b, f.short = nil, true
		return
	}
	f.b = f.b[n:]
}

func (f *fields) u8() uint8   { return f.take(1)[0] }
func (f *fields) u16() uint16 { return binary.BigEndian.Uint16(f.take(2)) }
func (f *fields) u32() uint32 { return binary.BigEndian.Uint32(f.take(4)) }
func (f *fields) u64() uint64 { return binary.BigEndian.Uint64(f.take(8)) }

// full reads the version and the flags that many boxes begin with.
func (f *fields) full() (version uint8, flags uint32) {
	word := f.u32()
	return uint8(word >> 24), word & 0xffffff
}

// versioned reads a number that has 64 bits from version 1 on.
func (f *fields) versioned(version uint8) uint64 {
	if version > 0 {
		return f.u64()
	}
	return uint64(f.u32())
}

// entries is the rows of a table in a box: as many as it says, of size bytes each.
type entries struct {
	rows []byte
	size int
	n    int
}

// entries reads a version, flags, and a table whose count comes first.
func (b *box) entries(size int) (entries, error) {
	f := b.fields()
	f.full()
	n := f.u32()
	if f.short {
		return entries{}, b.errorf("is too short")
	}
	return b.table(f.b, n, size)
}

// table checks that n rows are there.
func (b *box) table(rows []byte, n uint32, size int) (entries, error) {
	if int64(n)*int64(size) > int64(len(rows)) {
		return entries{}, b.errorf("says it has %d entries of %d bytes, but has %d bytes", n, size, len(rows))
	}
	return entries{rows[:int(n)*size], size, int(n)}, nil
}

func (e *entries) row(i int) []byte { return e.rows[i*e.size:][:e.size] }

// u32 is the number in a row, at an offset of bytes.
func (e *entries) u32(i, at int) uint32 { return binary.BigEndian.Uint32(e.row(i)[at:]) }
