package tarfile

import (
	"io"

	"github.com/headrace/headrace/shard"
)

// A window is what was last read of the file. Large members are hopped over, and what is
// read after them is enough for a small neighbour, such as a label, and the header that
// follows it. Small members are read through.
type window struct {
	f    shard.File
	buf  []byte
	at   int64
	size int // of the next read
}

const (
	smallWindow = 2 << 10
	largeWindow = 256 << 10
	nearby      = 32 << 10 // a gap that is not worth a hop
)

// read returns n bytes at a place, n of which is at most smallWindow. They stay until the
// next call. Fewer come only where the file ends.
func (w *window) read(at int64, n int) ([]byte, error) {
	end := w.at + int64(len(w.buf))
	if at >= w.at && at+int64(n) <= end {
		return w.buf[at-w.at:][:n], nil
	}
	if gap := at - end; at >= w.at && gap < nearby {
		w.size = min(max(2*w.size, smallWindow), largeWindow)
	} else {
		w.size = smallWindow
	}
	if cap(w.buf) < w.size {
		w.buf = make([]byte, w.size)
	}
	w.buf, w.at = w.buf[:w.size], at
	if left := max(0, w.f.Size()-at); left < int64(w.size) {
		w.buf = w.buf[:left]
	}
	if len(w.buf) > 0 {
		got, err := w.f.ReadAt(w.buf, at)
		w.buf = w.buf[:got]
		if err != nil && err != io.EOF {
			return nil, err
		}
	}
	return w.buf[:min(n, len(w.buf))], nil
}
