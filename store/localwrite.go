package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

var parts atomic.Int64 // files that were begun, for their names

// Put implements [Writer]. Folders are made. The file is written under a name of its own
// that ends in .part, and is on the disk before it gets its name. The condition of a
// version holds among writers of this package alone: the system has no such thing.
func (l Local) Put(ctx context.Context, name string, content io.ReaderAt, size int64, c Condition) (o Object, err error) {
	path := under(l.Root, name)
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return o, err
	}
	temp := filepath.Join(folder, fmt.Sprintf(".%.100s.%d-%d.part", filepath.Base(path), os.Getpid(), parts.Add(1)))

	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return o, err
	}
	defer func() {
		if err != nil {
			os.Remove(temp)
		}
	}()
	_, err = io.Copy(f, io.NewSectionReader(content, 0, size))
	if err = errors.Join(err, f.Sync(), f.Close(), ctx.Err()); err != nil {
		return o, err
	}
	if err = l.settle(temp, name, c); err != nil {
		return o, err
	}
	// Without this a crash could take back a name that Put has said is there.
	if err := SyncFolder(folder); err != nil {
		return o, err
	}
	return l.Stat(ctx, name)
}

// settle gives a file its name, if the condition holds.
func (l Local) settle(temp, name string, c Condition) error {
	path := under(l.Root, name)
	if c.Absent { // a link, unlike a name, replaces nothing
		if err := os.Link(temp, path); errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%w: %q exists", ErrConflict, name)
		} else if err != nil {
			return err
		}
		return os.Remove(temp)
	}

	if c.Version != "" {
		held, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return c.Check(Object{}, err)
		}
		if err != nil {
			return err
		}
		defer held.Close() // and with it the lock, by which writers wait for each other
		if err := again(func() error { return unix.Flock(int(held.Fd()), unix.LOCK_EX) }); err != nil {
			return err
		}
		// While this waited for the lock, the name may have become another file's.
		if err := c.Check(l.Stat(context.Background(), name)); err != nil {
			return err
		}
	}
	return os.Rename(temp, path)
}

// SyncFolder forces the names in a folder of this machine to the disk.
func SyncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Remove implements [Writer].
func (l Local) Remove(_ context.Context, name string) error { return os.Remove(under(l.Root, name)) }

var _ Writer = Local{}
