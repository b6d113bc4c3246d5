package window

import (
	"io"

	"github.com/headrace/headrace/shard"
)

const (
	least = 512
	most  = 256 << 10
)

// Reader holds the part of a file that was read last.
type Reader struct {
	file shard.File
	at   int64
	data []byte
	next int // bytes to read next
}

// New returns a Reader of a file.
func New(f shard.File) *Reader { return &Reader{file: f, next: least} }

// At returns n bytes of the file, which are there until the next call. Those that are not
// in the file are [shard.ErrTruncated].
func (r *Reader) At(at int64, n int) ([]byte, error) {
	size := r.file.Size()
	if at < 0 || int64(n) > size || at > size-int64(n) {
		return nil, shard.Wrong(r.file, at, shard.ErrTruncated, "%d bytes are needed here, and the file has %d", n, size)
	}
	end := r.at + int64(len(r.data))
	if at < r.at || at+int64(n) > end {
		if err := r.fill(at, n, end); err != nil {
			return nil, err
		}
	}
	from := at - r.at
	return r.data[from : from+int64(n) : from+int64(n)], nil
}

// fill reads more when what is wanted is near to what was read, and less when not.
func (r *Reader) fill(at int64, n int, end int64) error {
	if at <= end+int64(r.next) {
		r.next = min(2*r.next, most)
	} else {
		r.next = max(r.next/2, least)
	}

	length := int(min(int64(max(r.next, n)), r.file.Size()-at))
	if cap(r.data) < length {
		r.data = make([]byte, length)
	}
	r.at, r.data = at, r.data[:length]
	if got, err := r.file.ReadAt(r.data, at); got < length {
		r.data = r.data[:0]
		if err == nil || err == io.EOF {
			return shard.Wrong(r.file, at+int64(got), shard.ErrTruncated, "the file ends while it is read")
		}
		return &shard.Error{Shard: r.file.Name(), At: at, Err: err}
	}
	return nil
}
