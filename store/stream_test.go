package store

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// A file of the kernel may call itself regular and be a stream, as /proc/kmsg does, which
// root alone may open: that it has nothing to read yet is the file's own affair, and
// nothing that the machine lacks.
func TestWhatHasNothingToReadYet(t *testing.T) {
	f := File{name: "stream"}
	if err := f.unreadable(unix.EAGAIN); !errors.Is(err, ErrNotRegular) || errors.Is(err, unix.EAGAIN) {
		t.Error(err)
	}
	if err := f.unreadable(unix.EIO); !errors.Is(err, unix.EIO) || errors.Is(err, ErrNotRegular) {
		t.Error(err)
	}
}
