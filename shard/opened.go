package shard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/headrace/headrace/store"
)

// opened is a shard that is open, or a file that is beside one.
type opened struct {
	ctx        context.Context // ends all reads of a store
	in         store.Store
	file       *store.File // of this machine, which is kept open; nil: it is read of the store
	is         store.Object
	path, name string

	doubts *doubts // about what is beside it; nil: there are none

	mu     sync.Mutex
	beside []*opened
}

// open opens an object of a store, which messages call by a name. It can be read as long
// as the context lasts.
func open(ctx context.Context, in store.Store, path, name string) (*opened, error) {
	o := &opened{ctx: ctx, in: in, path: path, name: name}
	if l, local := in.(store.Local); local {
		f, err := l.Open(path)
		if err != nil {
			return nil, err
		}
		o.file, o.is = &f, f.Object()
		return o, nil
	}
	var err error
	if o.is, err = in.Stat(ctx, path); err != nil {
		return nil, err
	}
	return o, nil
}

// open opens the shard.
func (s *listed) open(ctx context.Context) (*opened, error) { return open(ctx, s.in, s.path, s.key) }

// ReadAt implements [File].
func (o *opened) ReadAt(p []byte, at int64) (int, error) {
	if o.file != nil {
		return o.file.ReadAt(p, at)
	}
	have := min(int64(len(p)), max(o.is.Size-at, 0))
	if err := o.in.ReadAt(o.ctx, o.is, p[:have], at); errors.Is(err, store.ErrChanged) {
		return 0, &Error{o.name, -1, fmt.Errorf("%w: %w", ErrChanged, err)}
	} else if err != nil {
		return 0, fmt.Errorf("%s: %w", o.name, err)
	}
	if have < int64(len(p)) {
		return int(have), io.EOF
	}
	return int(have), nil
}

// Name implements [File].
func (o *opened) Name() string { return o.name }

// Size implements [File].
func (o *opened) Size() int64 { return o.is.Size }

// Beside implements [File].
func (o *opened) Beside(name string) (File, error) { return o.other(name, nil) }

// index is Beside for a file that need not be true: see [Index].
func (o *opened) index(name string) (File, error) { return o.other(name, o.doubts) }

func (o *opened) other(name string, doubts *doubts) (File, error) {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`) {
		return nil, fmt.Errorf("%w: %q is not the name of a file beside %s", os.ErrInvalid, name, o.name)
	}
	other, err := open(o.ctx, o.in, path.Join(path.Dir(o.path), name), strings.TrimSuffix(o.name, path.Base(o.name))+name)
	if err != nil {
		return nil, err // not other, which would be a File that is nil
	}
	if doubts != nil && other.file != nil {
		if err := doubts.of(other.path)(other.file.Descriptor()); err != nil {
			other.Close()
			return nil, err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.beside = append(o.beside, other)
	return other, nil
}

// Close closes the shard, and what was opened beside it.
func (o *opened) Close() {
	for _, other := range o.beside {
		other.Close()
	}
	if o.file != nil {
		o.file.Close()
	}
}
