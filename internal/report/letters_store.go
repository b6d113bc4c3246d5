package report

import (
	"bytes"
	"context"
	"io"
	"time"

	"github.com/headrace/headrace/store"
)

// Lines for an object are collected, as an object is replaced as a whole.
const (
	lettersEvery = 10 * time.Second
	lettersMost  = 64 << 20 // bytes of the object
	lettersWait  = time.Minute
)

// letters are the dead letters of a run whose file is an object of a store.
type letters struct {
	ctx     context.Context // has the credentials of the run, and no end
	name    string
	pending bytes.Buffer
	last    time.Time // when lines were written
}

// openLetters makes the object, so that one that cannot be written is known at once. Own
// is for a name that a recipe has given, as for [openOwn].
func openLetters(ctx context.Context, name string, own bool) (io.WriteCloser, error) {
	if own {
		if err := checkOwn(name); err != nil {
			return nil, err
		}
	}
	l := &letters{ctx: context.WithoutCancel(ctx), name: name, last: time.Now()}
	if err := l.flush(); err != nil {
		return nil, err
	}
	if !own {
		return l, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lettersWait)
	defer cancel()
	f, err := store.Open(ctx, name, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Size() > 0 && !beginsWithLetter(io.NewSectionReader(f, 0, f.Size())) {
		return nil, errNoLetters(name)
	}
	return l, nil
}

// Write implements [io.Writer]. Some lines stay in memory, until Close at the latest.
func (l *letters) Write(line []byte) (int, error) {
	l.pending.Write(line)
	if time.Since(l.last) < lettersEvery && l.pending.Len() < lettersMost/64 {
		return len(line), nil
	}
	return len(line), l.flush()
}

func (l *letters) flush() error {
	ctx, cancel := context.WithTimeout(l.ctx, lettersWait)
	defer cancel()
	l.last = time.Now()
	if err := store.Append(ctx, l.name, l.pending.Bytes(), lettersMost); err != nil {
		return err
	}
	l.pending.Reset()
	return nil
}

// Close implements [io.Closer].
func (l *letters) Close() error {
	if l.pending.Len() == 0 {
		return nil
	}
	return l.flush()
}
