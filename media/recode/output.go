package recode

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/store"
)

// Output is a file that is being written. It appears under its name when it is complete,
// and not at all otherwise: until then it has no name, so nothing is left of it even if
// the program is killed. Where the file system cannot do that, it has a name of its own.
type Output struct {
	*os.File
	path string // "": it is in memory
	temp string // its name so far; "": none

	object string // its name in a store; "": it is a file
}

var outputs atomic.Int64

// Create begins a file that is to have a name; "": one in memory. An object of a store is
// a file in memory until it is complete.
func Create(path string) (*Output, error) {
	if path == "" {
		f, err := emptyMemory()
		return &Output{File: f}, err
	}
	path, err := store.Plain(path)
	if err != nil {
		return nil, err
	}
	if _, _, ok := store.Scheme(path); ok {
		if _, _, err := store.WriterOf(path); err != nil {
			return nil, err
		}
		f, err := emptyMemory()
		return &Output{File: f, object: path}, err
	}
	if about, err := os.Stat(path); err == nil && !about.Mode().IsRegular() {
		return nil, &os.PathError{Op: "create", Path: path, Err: unix.EEXIST}
	}
	fd, err := unix.Open(filepath.Dir(path), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o666)
	if err == nil {
		return &Output{File: os.NewFile(uintptr(fd), path), path: path}, nil
	}
	if err != unix.EOPNOTSUPP && err != unix.EISDIR && err != unix.EINVAL {
		return nil, &os.PathError{Op: "create", Path: path, Err: err}
	}
	temp := tempOf(path)
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_CLOEXEC, 0o666)
	if err != nil {
		return nil, err
	}
	return &Output{File: f, path: path, temp: temp}, nil
}

func tempOf(path string) string {
	return filepath.Join(filepath.Dir(path), fmt.Sprintf(".%.100s.%d-%d.part", filepath.Base(path), os.Getpid(), outputs.Add(1)))
}

// Commit gives the file its name, instead of one that had it before.
func (o *Output) Commit(ctx context.Context) error {
	if o.object != "" {
		return o.put(ctx)
	}
	if o.path == "" {
		return nil
	}
	if o.temp == "" {
		temp := tempOf(o.path)
		own := fmt.Sprintf("/proc/self/fd/%d", o.Fd())
		if err := unix.Linkat(unix.AT_FDCWD, own, unix.AT_FDCWD, temp, unix.AT_SYMLINK_FOLLOW); err != nil {
			return &os.PathError{Op: "link", Path: o.path, Err: err}
		}
		o.temp = temp
	}
	if err := o.File.Close(); err != nil { // some file systems write only now
		return err
	}
	if err := os.Rename(o.temp, o.path); err != nil {
		return err
	}
	o.temp = ""
	return nil
}

// put writes the file as an object.
func (o *Output) put(ctx context.Context) error {
	w, name, err := store.WriterOf(o.object)
	if err != nil {
		return err
	}
	about, err := o.Stat()
	if err != nil {
		return err
	}
	if _, err := w.Put(ctx, name, o.File, about.Size(), store.Condition{}); err != nil {
		return fmt.Errorf("recode: write %q: %w", o.object, err)
	}
	return nil
}

// Content reads what was written into memory.
func (o *Output) Content(size func(n int64) ([]byte, error)) error {
	about, err := o.Stat()
	if err != nil {
		return err
	}
	to, err := size(about.Size())
	if err != nil {
		return err
	}
	_, err = io.ReadFull(io.NewSectionReader(o.File, 0, about.Size()), to)
	return err
}

// Discard closes the file, and removes it unless it was committed. It may be called
// again.
func (o *Output) Discard() {
	o.File.Close()
	if o.temp != "" {
		os.Remove(o.temp)
		o.temp = ""
	}
}
