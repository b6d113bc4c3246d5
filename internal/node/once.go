package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	askAgain   = 10 * time.Millisecond // whether another process has finished, at first
	mostAsking = 200 * time.Millisecond
)

// Work is something that is done once. Its methods are not called at the same time.
type Work interface {
	Do() error
	Tell(w io.Writer) error // what came of it
	Hear(r io.Reader) error // what came of it in another process
}

// Once does some work, or hears of it if another process of the node is doing it just
// now. If that one dies or fails, one of those that wait does it once more. If it fails
// again, that is the outcome for all: the others return an [OtherError]. So eight ranks
// wait for a service that is gone no longer than two would.
//
// Only work in progress is waited for. Earlier results are not used, as the world may
// have changed since.
func Once(ctx context.Context, name string, work Work) error {
	f := met()
	if f == nil {
		return work.Do()
	}
	path := f.file(turns, name)
	for again := false; ; {
		l, err := openLocked(path, unix.O_CREAT)
		if err != nil {
			return work.Do() // a full disk must not end a run
		}
		done, err := l.once(ctx, path, work)
		l.close()
		var failed *OtherError
		if done || err != nil && (again || !errors.As(err, &failed)) {
			return err
		}
		again = err != nil
	}
}

// OtherError says that work failed in another process, and again when it was done once
// more. Its text is the other's.
type OtherError struct {
	text string
	is   error
}

func (e *OtherError) Error() string { return e.text }
func (e *OtherError) Unwrap() error { return e.is }

// told has the errors that callers ask for, by a byte that tells of them.
var told = map[byte]error{'n': fs.ErrNotExist, 'p': fs.ErrPermission, '-': nil}

// Bytes with locks.
const (
	doing = iota // of who does it
	first        // of the others, in which they have one each
	last  = first + 1024
)

// once does the work, or waits for the process that does; not done: try again.
func (l locked) once(ctx context.Context, path string, work Work) (done bool, err error) {
	switch err := l.lock(doing); {
	case err == nil && !l.isAt(path):
		return false, nil // it was done between our open and our lock
	case err == nil:
		return true, l.do(path, work)
	case !errors.Is(err, errTaken):
		return true, work.Do()
	}

	for at := int64(first); at < last && l.lock(at) != nil; at++ {
		// Each of the others has one.
	}
	for wait := askAgain; ; wait = min(2*wait, mostAsking) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return false, ctx.Err()
		}
		switch free, err := l.isFree(doing, first); {
		case err != nil:
			return true, work.Do()
		case free:
			return l.hear(work)
		}
	}
}

// do does the work, and tells the others of it.
func (l locked) do(path string, work Work) error {
	defer os.Remove(path) // later processes begin again
	failed := work.Do()
	if nobody, err := l.isFree(first, last); err != nil || nobody {
		return failed
	}
	// A mark at the end says that it is whole. If there is no room, they do it
	// themselves.
	f := l.file(path)
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	switch {
	case errors.Is(failed, context.Canceled), errors.Is(failed, context.DeadlineExceeded):
		// This process ends. It says nothing of the work.
	case failed != nil:
		fmt.Fprintf(f, "%c%s%s", kindOf(failed), failed, markFailed)
	default:
		if err := work.Tell(w); err == nil && w.Flush() == nil {
			f.WriteString(mark)
		}
	}
	return failed
}

func kindOf(failed error) byte {
	for kind, is := range told {
		if is != nil && errors.Is(failed, is) {
			return kind
		}
	}
	return '-'
}

// Marks are equally long.
const (
	mark       = "whole"
	markFailed = "error"
)

// hear reads what another process told, and returns whether there is all of it.
func (l locked) hear(work Work) (done bool, err error) {
	f := l.file("")
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	end := make([]byte, len(mark))
	if err == nil && size >= int64(len(mark)) {
		_, err = f.ReadAt(end, size-int64(len(mark)))
	}
	content := bufio.NewReaderSize(io.NewSectionReader(f, 0, size-int64(len(mark))), 1<<20)
	switch {
	case err != nil:
	case string(end) == markFailed:
		text, err := io.ReadAll(io.LimitReader(content, 1<<20))
		if err == nil && len(text) > 0 {
			return false, &OtherError{string(text[1:]), told[text[0]]}
		}
	case string(end) == mark:
		return work.Hear(content) == nil, nil
	}
	return false, nil
}
