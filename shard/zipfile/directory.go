package zipfile

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/internal/window"
)

// Sizes and marks of what a file has.
const (
	endMark     = 0x06054b50
	endLength   = 22
	longComment = 1<<16 - 1

	wideMark      = 0x06064b50 // the end with numbers of 8 bytes
	wideLength    = 56
	locatorMark   = 0x07064b50 // where that is
	locatorLength = 20

	entryMark   = 0x02014b50
	entryLength = 46

	headerMark   = 0x04034b50
	headerLength = 30

	descriptorMark   = 0x08074b50
	descriptorLength = 16 // up to and with the checksum, and more
)

// Flags of a member.
const (
	encrypted  = 1 << 0
	descriptor = 1 << 3 // sizes and checksum are after the data
)

// member is what the directory says of one.
type member struct {
	name   []byte
	header int64  // its place
	start  int64  // that of its content, known when the header is read
	data   int64  // that of its content as samples have it: in the file, or in what blocks hold
	packed int64  // bytes of content in the file
	size   int64  // unpacked
	sum    uint32 // CRC-32 of its content
	flags  uint16
	method uint16
}

// directory is where that of a file is.
type directory struct {
	at, size int64
	base     int64 // what is before the zip file in this one
	entries  int64
	exact    bool // entries is not modulo 2¹⁶
}

var (
	u16 = binary.LittleEndian.Uint16
	u32 = binary.LittleEndian.Uint32
	u64 = binary.LittleEndian.Uint64
)

// findDirectory reads the end of the file.
func findDirectory(f shard.File) (d directory, err error) {
	length := min(f.Size(), endLength+longComment)
	from := f.Size() - length
	tail, err := window.New(f).At(from, int(length))
	if err != nil {
		return d, err
	}
	at := -1
	for i := len(tail) - endLength; i >= 0 && at < 0; i-- {
		// A comment that holds a mark has another length than what follows that.
		if u32(tail[i:]) == endMark && int(u16(tail[i+20:])) == len(tail)-i-endLength {
			at = i
		}
	}
	if at < 0 {
		return d, shard.Wrong(f, f.Size(), shard.ErrTruncated, "the file has no directory at its end")
	}

	end := tail[at:]
	if u16(end[4:]) != u16(end[6:]) || u16(end[4:]) != 0 && u16(end[4:]) != 0xffff {
		return d, shard.Wrong(f, from+int64(at), shard.ErrUnsupported, "the file is one of several that belong together")
	}
	d.entries, d.size, d.at = int64(u16(end[10:])), int64(u32(end[12:])), int64(u32(end[16:]))
	after := from + int64(at) // where the directory ends
	if wide, found, err := findWide(f, after); err != nil {
		return d, err
	} else if found {
		d, after = wide, wide.base // kept there for a moment
	}

	d.base = after - d.size - d.at
	if d.size < 0 || d.at < 0 || d.size > after || d.at > after-d.size {
		return d, shard.Wrong(f, from+int64(at), shard.ErrCorrupt, "the directory is of %d bytes at %d, of %d", d.size, d.at, after)
	}
	d.at += d.base
	return d, nil
}

// findWide reads the end of zip64, if there is one before the usual end. Its base is its
// own place.
func findWide(f shard.File, before int64) (d directory, found bool, err error) {
	if before < locatorLength+wideLength {
		return d, false, nil
	}
	w := window.New(f)
	locator, err := w.At(before-locatorLength, locatorLength)
	if err != nil || u32(locator) != locatorMark {
		return d, false, err
	}
	// Its place is counted from where the zip file begins, which need not be where this
	// file does. It is right before its locator, unless a later version has put more
	// there.
	at := before - locatorLength - wideLength
	end, err := w.At(at, wideLength)
	if err != nil {
		return d, false, err
	}
	if u32(end) != wideMark {
		return d, false, shard.Wrong(f, at, shard.ErrUnsupported, "the end of the directory is of a later version of zip64")
	}
	return directory{at: int64(u64(end[48:])), size: int64(u64(end[40:])), base: at, entries: int64(u64(end[32:])), exact: true}, true, nil
}

// members reads the directory. The names of members are in its memory.
func members(ctx context.Context, f shard.File, d directory) (all []member, err error) {
	rest, err := window.New(f).At(d.at, int(d.size))
	if err != nil {
		return nil, err
	}
	for len(rest) > 0 {
		at := d.at + d.size - int64(len(rest))
		if len(all)%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		m, length, err := entry(rest)
		if err != nil {
			return nil, &shard.Error{Shard: f.Name(), At: at, Err: err}
		}
		m.header += d.base
		all = append(all, m)
		rest = rest[length:]
	}

	n := int64(len(all))
	if n != d.entries && (d.exact || n&0xffff != d.entries) {
		return nil, shard.Wrong(f, d.at, shard.ErrCorrupt, "the directory has %d entries, and should have %d", n, d.entries)
	}
	return all, ctx.Err()
}

// entry reads the first of a directory, and returns its length.
func entry(rest []byte) (m member, length int, err error) {
	if len(rest) < entryLength {
		return m, 0, fmt.Errorf("%w: the directory ends in an entry", shard.ErrCorrupt)
	}
	if u32(rest) != entryMark {
		return m, 0, fmt.Errorf("%w: the directory has something else than entries", shard.ErrCorrupt)
	}
	name := entryLength + int(u16(rest[28:]))
	extra := name + int(u16(rest[30:]))
	length = extra + int(u16(rest[32:]))
	if length > len(rest) {
		return m, 0, fmt.Errorf("%w: the directory ends in an entry", shard.ErrCorrupt)
	}

	m = member{
		name: rest[entryLength:name:name], header: int64(u32(rest[42:])), packed: int64(u32(rest[20:])), size: int64(u32(rest[24:])),
		sum: u32(rest[16:]), flags: u16(rest[8:]), method: u16(rest[10:]),
	}
	if !m.widen(rest[name:extra]) {
		return m, 0, fmt.Errorf("%w: the sizes of %q do not fit into 8 bytes", shard.ErrCorrupt, m.name)
	}
	return m, length, nil
}

// widen reads those numbers that do not fit into 4 bytes, in the order that they have.
func (m *member) widen(extra []byte) bool {
	wide := []byte(nil)
	for len(extra) >= 4 {
		id, n := u16(extra), int(u16(extra[2:]))
		if extra = extra[4:]; n > len(extra) {
			break
		}
		if id == 1 {
			wide = extra[:n]
		}
		extra = extra[n:]
	}
	for _, number := range []*int64{&m.size, &m.packed, &m.header} {
		if *number == math.MaxUint32 && len(wide) >= 8 {
			*number = int64(u64(wide))
			wide = wide[8:]
		}
		if *number < 0 {
			return false
		}
	}
	return true
}
