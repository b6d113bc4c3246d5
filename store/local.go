package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strings"

	"golang.org/x/sys/unix"
)

// Objects implements [Store]. Names with a part that begins with a dot are left out, as
// patterns leave them out.
func (l Local) Objects(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		folder := prefix[:strings.LastIndexByte(prefix, '/')+1]
		t, err := List(ctx, l.Root, magicless.Replace(folder)+"**", nil)
		if errors.Is(err, ErrNoFiles) {
			return
		}
		if err != nil {
			yield(Object{}, err)
			return
		}
		for i := range t.Len() {
			if name := t.Key(i); strings.HasPrefix(name, prefix) {
				o, err := l.Stat(ctx, name)
				if errors.Is(err, ErrNotRegular) || errors.Is(err, fs.ErrNotExist) {
					continue // a pipe, or a link to nothing
				}
				if !yield(o, err) {
					return
				}
			}
		}
	}
}

// magicless writes a name as a pattern that means it alone.
var magicless = strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]")

// Stat implements [Store]. A folder is no object: [ErrNotRegular].
func (l Local) Stat(_ context.Context, name string) (Object, error) {
	st, err := status(under(l.Root, name))
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = fmt.Errorf("%w but a %s", ErrNotRegular, kindOf(st.Mode))
	}
	if err != nil {
		return Object{}, fmt.Errorf("store: read %q: %w", name, err)
	}
	return Object{name, st.Size, versionOf(&st).String()}, nil
}

// ReadAt implements [Store]. Who reads more than once opens the file instead.
func (l Local) ReadAt(_ context.Context, o Object, p []byte, at int64) error {
	f, err := l.Open(o.Name)
	if err != nil {
		return err
	}
	defer f.Close()
	if now := f.Object(); now != o {
		return fmt.Errorf("%w: %q was %d bytes, version %s, and is %d, version %s", ErrChanged,
			o.Name, o.Size, o.Version, now.Size, now.Version)
	}
	if _, err := f.ReadAt(p, at); err == io.EOF {
		return io.ErrUnexpectedEOF
	} else if err != nil {
		return err
	}
	if now, err := l.Stat(context.Background(), o.Name); err != nil || now != o { // written meanwhile
		return fmt.Errorf("%w: %q while it was read", ErrChanged, o.Name)
	}
	return nil
}

// Object is the file, as it was when it was opened.
func (f File) Object() Object {
	if f.remote != nil {
		return f.remote.is
	}
	return Object{f.name, f.size, f.version.String()}
}
