package recode

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/store"
)

// Open opens a file to read, or a copy of a store's object: libraries read files by
// themselves. Folders, devices and pipes are refused: a container is sought in.
func Open(ctx context.Context, path string) (*os.File, error) {
	if _, _, ok := store.Scheme(path); ok {
		return openCopy(ctx, path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	about, err := f.Stat()
	if err == nil && !about.Mode().IsRegular() {
		err = fmt.Errorf("%w: it is not a file but a %s", media.ErrUnsupported, about.Mode().Type())
	}
	if err == nil && about.Size() == 0 {
		err = fmt.Errorf("%w: the file is empty", media.ErrTruncated)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func openCopy(ctx context.Context, name string) (*os.File, error) {
	f, err := store.Open(ctx, name, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Size() == 0 {
		return nil, fmt.Errorf("%w: the file is empty", media.ErrTruncated)
	}
	return f.OnDisk()
}

// Memory makes a file in memory of bytes, which are copied.
func Memory(data []byte) (*os.File, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("%w: the file is empty", media.ErrTruncated)
	}
	f, err := emptyMemory()
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(data); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func emptyMemory() (*os.File, error) {
	fd, err := unix.MemfdCreate("headrace-media", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("recode: a file in memory: %w", err)
	}
	return os.NewFile(uintptr(fd), "memory"), nil
}
