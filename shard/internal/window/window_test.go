package window_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/internal/window"
)

type file struct {
	*bytes.Reader
	reads, bytes int
	fails        error
	says         int64 // its size; 0: what it is
}

func (f *file) Name() string                      { return "a.shard" }
func (f *file) Beside(string) (shard.File, error) { return nil, errors.ErrUnsupported }

func (f *file) Size() int64 {
	if f.says > 0 {
		return f.says
	}
	return f.Reader.Size()
}

func (f *file) ReadAt(p []byte, at int64) (int, error) {
	if f.fails != nil {
		return 0, f.fails
	}
	f.reads++
	n, err := f.Reader.ReadAt(p, at)
	f.bytes += n
	return n, err
}

func content(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7 / 3)
	}
	return b
}

func TestWhatIsRead(t *testing.T) {
	const size = 4 << 20
	data := content(size)
	for _, c := range []struct{ step, reads, bytes int }{
		{20, 40, size + size/100}, // dense: large reads
		{64 << 10, 64, 64 << 10},  // far apart: small ones
	} {
		f := &file{Reader: bytes.NewReader(data)}
		w := window.New(f)
		for at := 0; at+12 <= size; at += c.step {
			got, err := w.At(int64(at), 12)
			if err != nil || !bytes.Equal(got, data[at:at+12]) {
				t.Fatalf("at %d: %v, %v", at, got, err)
			}
		}
		if f.reads > c.reads || f.bytes > c.bytes {
			t.Errorf("step %d: %d reads of %d bytes, want at most %d of %d", c.step, f.reads, f.bytes, c.reads, c.bytes)
		}
	}
}

func TestErrors(t *testing.T) {
	f := &file{Reader: bytes.NewReader(content(100))}
	w := window.New(f)
	for _, c := range []struct {
		at int64
		n  int
	}{{-1, 1}, {100, 1}, {99, 2}, {0, 101}, {1 << 62, 12}, {-1 << 63, 12}} {
		if _, err := w.At(c.at, c.n); !errors.Is(err, shard.ErrTruncated) {
			t.Errorf("%d bytes at %d: %v", c.n, c.at, err)
		}
	}
	if got, err := w.At(100, 0); err != nil || len(got) != 0 {
		t.Errorf("nothing at the end: %v, %v", got, err)
	}

	// A file that becomes shorter, and one that cannot be read.
	short := &file{Reader: bytes.NewReader(content(100)), says: 1000}
	if _, err := window.New(short).At(90, 20); !errors.Is(err, shard.ErrTruncated) || err.Error() != "a.shard at byte 100: cut off: the file ends while it is read" {
		t.Errorf("%v", err)
	}
	broken := &file{Reader: bytes.NewReader(content(100)), fails: errors.ErrUnsupported}
	if _, err := window.New(broken).At(0, 20); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}
