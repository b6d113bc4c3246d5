package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"golang.org/x/sys/unix"
)

// ErrTooLarge marks a file that is larger than the reader may read.
var ErrTooLarge = errors.New("store: file too large")

// ErrNotRegular marks what has a name in a folder but no content to read: a folder, a
// pipe, a socket, a device.
var ErrNotRegular = errors.New("store: not a regular file")

// ReadFile returns the content of a file, in the memory of buf where it fits.
func ReadFile(path string, buf []byte) ([]byte, error) {
	return Local{}.Read(context.Background(), path, buf)
}

// Open opens a file or an object by its name, for reading: a path, or a name with the
// scheme of a store, which is read until ctx ends. More than most bytes are refused; 0
// means no limit.
func Open(ctx context.Context, name string, most int64) (File, error) {
	return OpenToRead(ctx, name, most, nil)
}

// OpenToRead is [Open] of a file that is read whole. If the store can do that, the bytes
// at the beginning of an object come with its size: as many as fit into first, which the
// file uses until it is closed.
func OpenToRead(ctx context.Context, name string, most int64, first []byte) (File, error) {
	if _, _, ok := Scheme(name); !ok {
		return Local{MaxBytes: most}.Open(name)
	}
	in, object, err := Of(name)
	if err != nil {
		return File{}, err
	}
	if _, local := in.(Local); local {
		return Local{MaxBytes: most}.Open(object)
	}
	return openRemote(ctx, in, name, object, most, first)
}

// Read returns the content of a file or an object; the arguments are those of [Open].
func Read(ctx context.Context, name string, most int64) ([]byte, error) {
	f, err := Open(ctx, name, most)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Read(nil)
}

// Local reads files of this machine.
type Local struct {
	Root     string // relative names belong to it; "": to the folder of the process
	MaxBytes int64  // larger files are refused; 0: none are
}

// Read returns the content of a file, in the memory of buf where it fits.
func (l Local) Read(ctx context.Context, name string, buf []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("store: read %q: %w", name, err)
	}
	f, err := l.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Read(buf)
}

// Open opens a file, for a reader that has to know its size before there is memory for
// it.
func (l Local) Open(name string) (File, error) {
	f := File{name: name, limit: l.MaxBytes}
	if f.limit <= 0 {
		f.limit = math.MaxInt64
	}
	var err error
	f.fd, err = openRegular(under(l.Root, name), &f)
	if err == nil && f.size > f.limit {
		f.Close()
		err = f.tooLarge(f.size)
	}
	if err != nil {
		return File{}, fmt.Errorf("store: read %q: %w", name, err)
	}
	return f, nil
}

// openRegular uses the system's calls and not package os: its files are registered with
// the network poller, which regular files have no use for, and take several allocations
// each.
func openRegular(path string, f *File) (fd int, err error) {
	// Without O_NONBLOCK, opening a pipe would wait for somebody to write into it;
	// without O_NOCTTY a terminal could become ours.
	err = again(func() error {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
		return err
	})
	if err != nil {
		// A socket cannot be opened; ENXIO would be said of it, "no such device or
		// address".
		if err == unix.ENXIO {
			err = ErrNotRegular
		}
		return -1, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = fmt.Errorf("%w but a %s", ErrNotRegular, kindOf(st.Mode))
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	f.size, f.stored = st.Size, st.Blocks*512
	f.version = versionOf(&st)
	return fd, nil
}

func kindOf(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return "folder"
	case unix.S_IFIFO:
		return "pipe"
	case unix.S_IFSOCK:
		return "socket"
	default:
		return "device"
	}
}

// File is an open file. Anyone who opened it closes it.
type File struct {
	name    string
	fd      int
	size    int64
	stored  int64 // bytes that are on the disk: a size costs nothing to claim
	limit   int64
	version Version
	remote  *remote // of a store; nil: a file of this machine
}

// Name returns the path of the file, or its name in a store.
func (f File) Name() string { return f.name }

// Size returns the file's size when it was opened. The file may have changed since.
func (f File) Size() int64 { return f.size }

// Read returns the file's content up to its end, in the memory of buf where it fits. A
// file that was cut short meanwhile gives what is left of it, one that grew all of it,
// as far as the reader's limit allows.
func (f File) Read(buf []byte) ([]byte, error) {
	buf, _, err := f.ReadOn(buf[:0], math.MaxInt64)
	return buf, err
}

// mostTrusted is how much memory a file of holes gets before anything of it has come.
const mostTrusted = 1 << 20

// ReadOn appends to buf, which holds what has been read so far, until it has at least n
// bytes or the file ends. Memory is made for what is on the disk, and beyond that, as
// in a sparse file, for what comes.
func (f File) ReadOn(buf []byte, n int64) (all []byte, ended bool, err error) {
	for int64(len(buf)) < n {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, f.Room(len(buf), n))
		}
		got, err := f.readNext(buf[len(buf):cap(buf)], int64(len(buf)))
		if err != nil {
			return nil, false, err
		}
		if got <= 0 {
			return buf, true, nil
		}
		buf = buf[:len(buf)+got]
		if int64(len(buf)) > f.limit {
			return nil, false, fmt.Errorf("store: read %q: %w", f.name, f.tooLarge(int64(len(buf))))
		}
	}
	return buf, false, nil
}

// readNext reads some of what follows the bytes that have been read so far. None: the
// file ends there.
func (f File) readNext(p []byte, at int64) (n int, err error) {
	if f.remote != nil {
		n, err = f.remote.readAt(p, at)
		if err == io.EOF {
			err = nil
		}
		return n, err
	}
	err = again(func() (err error) {
		n, err = unix.Read(f.fd, p)
		return err
	})
	if err != nil {
		return 0, f.unreadable(err)
	}
	return n, nil
}

// Room is how many bytes to make room for after the first have, to read on to n. One
// more than the size: the end is found by reading nothing, and that needs room.
func (f File) Room(have int, n int64) int {
	rest := min(f.size, n-1) + 1 - int64(have)
	trusted := max(f.stored, mostTrusted, 2*int64(have)) + 1 - int64(have)
	return int(max(min(rest, trusted), 4096))
}

// ReadAt implements [io.ReaderAt]: it reads len(p) bytes from a place of the file,
// wherever others read, and returns io.EOF if the file ends before. It may be called by
// several goroutines at once.
func (f File) ReadAt(p []byte, at int64) (n int, err error) {
	if f.remote != nil {
		return f.remote.readAt(p, at)
	}
	for n < len(p) {
		var got int
		err := again(func() (err error) {
			got, err = unix.Pread(f.fd, p[n:], at+int64(n))
			return err
		})
		if err != nil {
			return n, f.unreadable(err)
		}
		if got <= 0 {
			return n, io.EOF
		}
		n += got
	}
	return n, nil
}

// Descriptor is the system's number of the file, for libraries that read it by
// themselves; negative: it has none, as it is in a store.
func (f File) Descriptor() int { return f.fd }

// IsLocal reports whether it is a file of this machine.
func (f File) IsLocal() bool { return f.remote == nil }

// Touch reads the first byte, to find out whether the file can be read at all.
func (f File) Touch() error {
	var one [1]byte
	if f.remote != nil {
		if _, err := f.remote.readAt(one[:], 0); err != io.EOF {
			return err
		}
		return nil
	}
	err := again(func() error {
		_, err := unix.Read(f.fd, one[:])
		return err
	})
	if err != nil {
		return f.unreadable(err)
	}
	return nil
}

// unreadable is what a read has failed with.
func (f File) unreadable(err error) error {
	// Files of the kernel may be streams that call themselves regular, such as
	// /proc/kmsg. Elsewhere the same error says that the machine lacks something.
	if err == unix.EAGAIN {
		err = fmt.Errorf("%w: there is nothing to read yet", ErrNotRegular)
	}
	return fmt.Errorf("store: read %q: %w", f.name, err)
}

// Close gives the file back. A file that was only read has nothing to lose by it.
func (f File) Close() {
	if f.remote == nil {
		unix.Close(f.fd)
	}
}

func (f File) tooLarge(size int64) error {
	return fmt.Errorf("%w: %d bytes; the limit is %d, raise it with max_bytes", ErrTooLarge, size, f.limit)
}

// again calls f until no signal interrupts it: the Go runtime sends signals to its own
// threads.
func again(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}

var _ io.ReaderAt = File{}
