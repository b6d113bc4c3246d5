package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// ErrConflict marks an object that was not written, as its [Condition] does not hold.
var ErrConflict = errors.New("store: written by others")

// ErrReadOnly marks a store that cannot be written to.
var ErrReadOnly = errors.New("store: read only")

// Writer is a store that can be written to.
type Writer interface {
	Store
	// Put makes an object of size bytes of the content, or replaces one: whole or not at
	// all, however it ends. If the condition does not hold, nothing changes, and the
	// error is [ErrConflict]. The content may be read several times, and by several
	// goroutines.
	Put(ctx context.Context, name string, content io.ReaderAt, size int64, c Condition) (Object, error)
	// Remove removes an object. If there is none, the error is [io/fs.ErrNotExist].
	Remove(ctx context.Context, name string) error
}

// Condition restricts when an object is written. The zero value allows it always.
type Condition struct {
	Absent  bool   // there must be no object of the name
	Version string // the object must have this version; "": any
}

// IfAbsent allows an object only if the name has none.
var IfAbsent = Condition{Absent: true}

// IfUnchanged allows an object only in place of this version.
func IfUnchanged(o Object) Condition { return Condition{Version: o.Version} }

// Check returns [ErrConflict] if the condition does not hold for the object that a name
// has now; stat is the error of looking for it.
func (c Condition) Check(now Object, stat error) error {
	missing := errors.Is(stat, fs.ErrNotExist)
	switch {
	case stat != nil && !missing:
		return stat
	case c.Absent && !missing:
		return fmt.Errorf("%w: it exists", ErrConflict)
	case c.Version != "" && (missing || now.Version != c.Version):
		return fmt.Errorf("%w: it is not the version %s any more", ErrConflict, c.Version)
	}
	return nil
}

// WriterOf returns the store of a name if it can be written to, and the object's name
// there.
func WriterOf(name string) (w Writer, object string, err error) {
	in, object, err := Of(name)
	if err != nil {
		return nil, "", err
	}
	w, ok := in.(Writer)
	if !ok {
		return nil, "", fmt.Errorf("%w: %q: its store takes no objects: write to a folder of this machine, and copy it",
			ErrReadOnly, Shown(name))
	}
	return w, object, nil
}

// Put writes an object by its name in any store; see [Writer].
func Put(ctx context.Context, name string, content []byte, c Condition) (Object, error) {
	w, object, err := WriterOf(name)
	if err != nil {
		return Object{}, err
	}
	o, err := w.Put(ctx, object, bytes.NewReader(content), int64(len(content)), c)
	if err != nil {
		return Object{}, fmt.Errorf("store: write %q: %w", Shown(name), err)
	}
	return o, nil
}

// Holds reports whether an object has this content, and returns it: a writer asks when it
// was told that there is one, and an earlier try of its own may have made it.
func Holds(ctx context.Context, s Store, name string, content io.ReaderAt, size int64) (o Object, same bool) {
	o, err := s.Stat(ctx, name)
	if err != nil || o.Size != size {
		return o, false
	}
	there, here := make([]byte, min(size, pieces)), make([]byte, min(size, pieces))
	for at := int64(0); at < size; at += int64(len(here)) {
		there, here = there[:min(int64(len(there)), size-at)], here[:min(int64(len(here)), size-at)]
		if err := s.ReadAt(ctx, o, there, at); err != nil {
			return o, false
		}
		if n, _ := content.ReadAt(here, at); n < len(here) || !bytes.Equal(here, there) {
			return o, false
		}
	}
	return o, true
}

// Told returns an object that was just written, with a version: if the answer had none,
// that of the object which is there, if it has this content. Without one, a later write
// on the condition of no change would replace an object that others have written.
func Told(ctx context.Context, s Store, o Object, content io.ReaderAt) (Object, error) {
	if o.Version != "" {
		return o, nil
	}
	now, same := Holds(ctx, s, o.Name, content, o.Size)
	if !same || now.Version == "" {
		return Object{}, errors.New("store: the service has not told the version of what was written: a proxy may remove it")
	}
	return now, nil
}

// appends is how often [Append] tries, when others write to the same object.
const appends = 16

// Append adds bytes to an object, or makes one of them. It reads the object and replaces
// it if nobody else has meanwhile, and so takes the longer the larger the object is; with
// more than most bytes the error is [ErrTooLarge].
func Append(ctx context.Context, name string, more []byte, most int64) error {
	w, object, err := WriterOf(name)
	name = Shown(name)
	var tried []byte
	for range appends {
		if err != nil {
			return err
		}
		var is Object
		var old []byte
		c := IfAbsent
		switch is, err = w.Stat(ctx, object); {
		case err == nil:
			c = IfUnchanged(is)
			if is.Size+int64(len(more)) > most {
				return fmt.Errorf("store: write %q: %w: more than %d bytes", name, ErrTooLarge, most)
			}
			old = make([]byte, is.Size)
			err = w.ReadAt(ctx, is, old, 0)
		case errors.Is(err, fs.ErrNotExist):
			err = nil
		}

		if err == nil && tried != nil && len(old) > len(tried) && bytes.HasPrefix(old, tried) {
			return nil // the answer was lost, and others have added to it
		}
		if err == nil {
			tried = append(old, more...)
			_, err = w.Put(ctx, object, bytes.NewReader(tried), int64(len(tried)), c)
		}
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrConflict) || errors.Is(err, ErrChanged):
			err = nil // somebody was faster
		default:
			return fmt.Errorf("store: write %q: %w", name, err)
		}
	}
	return fmt.Errorf("store: write %q: %w %d times", name, ErrConflict, appends)
}
