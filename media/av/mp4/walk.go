package mp4

import (
	"errors"
	"fmt"
	"io"
)

// A walker goes from box to box of a file. It reads a block at each, so that most small
// boxes need no second read.
type walker struct {
	r     io.ReaderAt
	size  int64
	block []byte
	from  int64 // where block begins

	samples bool // there are some before the index
}

const blockSize = 4096

// top is a box of the file itself, which has not been read.
type top struct {
	kind     string
	at, size int64
	head     int
}

// errCut says that a box goes on after the end of the file.
var errCut = errors.New("is cut off by the end of the file")

// next returns the box at an offset. If it is cut off, the error is errCut, and the box
// is what there is of it.
func (w *walker) next(at int64) (top, error) {
	room := w.size - at
	if room < 8 {
		return top{}, io.EOF
	}
	b, err := w.bytes(at, min(16, room))
	if err != nil {
		return top{}, err
	}
	size, head, err := header(b, room)
	t := top{string(b[4:8]), at, size, head}
	if err != nil && size > room {
		t.size = room
		return t, errCut
	}
	if err != nil {
		return top{}, fmt.Errorf("mp4: at byte %d is %v: %w", at, err, ErrFormat)
	}
	return t, nil
}

// read returns a box with what is in it.
func (w *walker) read(t top) (*box, error) {
	b := make([]byte, t.size)
	if n := t.at - w.from; n >= 0 && n+t.size <= int64(len(w.block)) {
		copy(b, w.block[n:])
	} else if n, err := w.r.ReadAt(b, t.at); n < len(b) {
		return nil, fmt.Errorf("mp4: box %q at byte %d: %w", t.kind, t.at, err)
	}
	return &box{t.kind, t.at, t.head, b[t.head:]}, nil
}

// bytes returns n bytes at an offset, which are within the file and no more than a block.
// They are valid until the next call.
func (w *walker) bytes(at, n int64) ([]byte, error) {
	if at < w.from || at+n > w.from+int64(len(w.block)) {
		want := min(blockSize, w.size-at)
		if w.block == nil {
			w.block = make([]byte, blockSize)
		}
		w.block, w.from = w.block[:want], at
		if got, err := w.r.ReadAt(w.block, at); got < len(w.block) {
			w.block = nil
			return nil, fmt.Errorf("mp4: %d bytes at %d: %w", want, at, err)
		}
	}
	return w.block[at-w.from:][:n], nil
}
