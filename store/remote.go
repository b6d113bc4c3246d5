package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// remote is an object that is read by its name: nothing is held open.
type remote struct {
	ctx  context.Context // ends all reads
	in   Store
	name string // with its scheme, for messages; without the secrets of URLs
	is   Object
	// first has the bytes at its beginning that came with its size.
	first []byte
}

func openRemote(ctx context.Context, in Store, name, object string, most int64, first []byte) (File, error) {
	r := &remote{ctx: ctx, in: in, name: Shown(name)}
	if object == "" || strings.HasSuffix(object, "/") {
		return File{}, fmt.Errorf("store: read %q: %w but a folder", r.name, ErrNotRegular)
	}
	var err error
	if b, ok := in.(Beginning); ok && len(first) > 0 {
		var n int
		r.is, n, err = b.Begin(ctx, object, first)
		r.first = first[:n]
	} else {
		r.is, err = in.Stat(ctx, object)
	}
	if err != nil {
		return File{}, fmt.Errorf("store: read %q: %w", r.name, err)
	}
	// The size is believed: nothing is ever larger, as reads are of this version.
	f := File{name: name, fd: -1, size: r.is.Size, stored: r.is.Size, limit: most, remote: r}
	if f.limit <= 0 {
		f.limit = math.MaxInt64
	}
	if f.size > f.limit {
		return File{}, fmt.Errorf("store: read %q: %w", r.name, f.tooLarge(f.size))
	}
	return f, nil
}

// Beside opens the object that has the name of this one and a suffix, in the same store.
func (f File) Beside(suffix string, most int64) (File, error) {
	if f.remote == nil {
		return Local{MaxBytes: most}.Open(f.name + suffix)
	}
	r := f.remote
	return openRemote(r.ctx, r.in, f.name+suffix, r.is.Name+suffix, most, nil)
}

// Until returns the file with this context for reads of its store, instead of that of
// [Open].
func (f File) Until(ctx context.Context) File {
	if f.remote != nil {
		r := *f.remote
		r.ctx, f.remote = ctx, &r
	}
	return f
}

// readAt implements [io.ReaderAt].
func (r *remote) readAt(p []byte, at int64) (int, error) {
	if at < 0 {
		return 0, fmt.Errorf("store: read %q: a negative offset", r.name)
	}
	have := min(int64(len(p)), max(r.is.Size-at, 0))
	begun := int64(0)
	if at < int64(len(r.first)) {
		begun = int64(copy(p, r.first[at:]))
	}
	if have > begun {
		if err := r.in.ReadAt(r.ctx, r.is, p[begun:have], at+begun); err != nil {
			return int(begun), r.unreadable(err, at+begun)
		}
	}
	if have < int64(len(p)) {
		return int(have), io.EOF
	}
	return int(have), nil
}

// unreadable adds the name to an error of a read.
func (r *remote) unreadable(err error, at int64) error {
	if errors.Is(err, io.ErrUnexpectedEOF) { // the size is of this version
		err = fmt.Errorf("%w: it ends before byte %d, and had %d bytes when it was opened", ErrChanged, at, r.is.Size)
	}
	return fmt.Errorf("store: read %q: %w", r.name, err)
}

// pieces is how many bytes of an object are copied at a time.
const pieces = 8 << 20

// OnDisk returns the content as a file with a descriptor, for libraries that read files
// by themselves: another descriptor of a file of this machine, or a copy of an object.
// The copy has no name, and is gone when it is closed.
func (f File) OnDisk() (*os.File, error) {
	if f.remote == nil {
		fd, err := unix.FcntlInt(uintptr(f.fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("store: another descriptor of %q: %w", f.name, err)
		}
		return os.NewFile(uintptr(fd), f.name), nil
	}
	to, err := scratch(f.name)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, min(pieces, f.size))
	for at := int64(0); at < f.size && err == nil; at += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), f.size-at)]
		if _, err = f.remote.readAt(buf, at); err == nil {
			_, err = to.WriteAt(buf, at)
		}
	}
	if err != nil {
		to.Close()
		return nil, err
	}
	return to, nil
}

// scratch makes a file without a name: in the folder for temporary files, or in memory if
// that cannot have one.
func scratch(name string) (*os.File, error) {
	fd, err := unix.Open(os.TempDir(), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		fd, err = unix.MemfdCreate("headrace-object", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, fmt.Errorf("store: a copy of %q: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}
