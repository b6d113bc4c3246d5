package node

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// locked is a file with locks on its bytes, which need not exist. They are those of open
// file descriptions: each open of a file has its own, in one process, too, and they end
// when it is closed, or its process dies.
type locked struct{ fd int }

// door is the byte whose lock is held while members come, or the file is removed.
const door = 1 << 20

var errTaken = errors.New("node: locked")

func openLocked(path string, flags int) (locked, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOFOLLOW|flags, 0o600)
	if err != nil {
		return locked{-1}, fmt.Errorf("node: %s: %w", path, err)
	}
	return locked{fd}, nil
}

func (l locked) close() { unix.Close(l.fd) }

// lock locks a byte, or returns errTaken.
func (l locked) lock(at int64) error {
	err := l.set(unix.F_WRLCK, at)
	if err == unix.EAGAIN || err == unix.EACCES {
		return errTaken
	}
	return err
}

func (l locked) unlock(at int64) error { return l.set(unix.F_UNLCK, at) }

func (l locked) set(kind int16, at int64) error {
	return unix.FcntlFlock(uintptr(l.fd), unix.F_OFD_SETLK, &unix.Flock_t{Type: kind, Start: at, Len: 1})
}

// isFree tells whether no other member has a lock on some bytes.
func (l locked) isFree(from, to int64) (bool, error) {
	is := unix.Flock_t{Type: unix.F_WRLCK, Start: from, Len: to - from}
	err := unix.FcntlFlock(uintptr(l.fd), unix.F_OFD_GETLK, &is)
	return is.Type == unix.F_UNLCK, err
}

// isAt tells whether the file is still the one at a path.
func (l locked) isAt(path string) bool {
	var ours, there unix.Stat_t
	return unix.Fstat(l.fd, &ours) == nil && unix.Lstat(path, &there) == nil && ours.Dev == there.Dev && ours.Ino == there.Ino
}

// file returns another descriptor of the same open file, whose locks are the same.
func (l locked) file(name string) *os.File {
	fd, err := unix.FcntlInt(uintptr(l.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		fd = -1 // all that is done with it fails
	}
	return os.NewFile(uintptr(fd), name)
}

// write writes the first bytes, so that the file has room for them.
func (l locked) write(p []byte) error {
	if n, err := unix.Pwrite(l.fd, p, 0); err != nil || n < len(p) {
		return errors.Join(err, os.ErrInvalid)
	}
	return nil
}
