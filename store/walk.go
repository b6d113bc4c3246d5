package store

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// A walker goes through folders with the set of the pattern's names that the next name
// may fit. So it reads every folder once, however many ** the pattern has, and finds no
// file twice.
type walker struct {
	ctx context.Context
	p   *pattern
	b   *builder
	buf []byte // entries as the system gives them

	above   []entered // the folders from the base to where it is
	folders int       // folders that fit the whole pattern: not files, but perhaps what was meant
	others  kinds     // files below a named folder, of other suffixes
}

// entered is a folder that is being listed.
type entered struct {
	dev, ino uint64
	names    set
}

func (w *walker) walk() error {
	return w.folder(w.p.base, w.p.open(1))
}

// folder lists what fits in one folder and below it. The folder's path is a key: it
// ends in a slash, or is empty.
func (w *walker) folder(key string, s set) error {
	if i, ok := w.p.single(s); ok {
		return w.lookUp(key, i)
	}
	l, err := w.read(key, s)
	if err != nil {
		return err
	}
	l.sort()
	w.above = append(w.above, l.id)
	for _, e := range l.entries {
		if err := w.enter(key, l.name(e), e.next); err != nil {
			return err
		}
	}
	w.above = w.above[:len(w.above)-1]
	return nil
}

// enter lists a file, or what is in a folder.
func (w *walker) enter(key string, name []byte, next set) error {
	if next == 0 {
		return w.b.add(w.b.folder(key), name)
	}
	return w.folder(key+string(name)+"/", next)
}

// lookUp follows a name that is no pattern. The folder need not be readable for that.
func (w *walker) lookUp(key string, i int) error {
	text := w.p.names[i].text
	isFolder, err := kindAt(unix.AT_FDCWD, under(w.b.t.root, key+text))
	switch {
	case err == unix.ENOENT || err == unix.ENOTDIR:
		return nil
	case err != nil:
		return fmt.Errorf("%q: %w", key+text, err)
	case isFolder && w.p.last(i):
		w.folders++
	case isFolder:
		return w.enter(key, []byte(text), w.p.open(1<<(i+1)))
	case w.p.last(i):
		return w.enter(key, []byte(text), 0)
	}
	return nil
}

// read returns the entries of a folder that lead on.
func (w *walker) read(key string, s set) (listing, error) {
	l := listing{id: entered{names: s}}
	f, err := openFolder(under(w.b.t.root, key), &l.id)
	if err != nil {
		return l, w.unreadable(key, err)
	}
	defer f.close()

	if w.inside(l.id) {
		return l, nil
	}

	if w.buf == nil {
		w.buf = make([]byte, 1<<16)
	}
	for {
		block, err := f.read(w.buf)
		if err == nil {
			err = w.ctx.Err()
		}
		if err != nil {
			return l, w.unreadable(key, err)
		}
		if len(block) == 0 {
			return l, nil
		}

		for name, kind := range entries(block) {
			if err := w.consider(f, s, name, kind, &l); err != nil {
				return l, fmt.Errorf("%q: %w", key+string(name), err)
			}
		}
	}
}

// consider keeps an entry if it leads on.
func (w *walker) consider(f folder, s set, name []byte, kind byte, l *listing) error {
	fits, next := w.p.below(s, name)
	if !fits && next == 0 {
		return nil
	}
	isFolder, err := f.isFolder(name, kind)
	switch {
	case err != nil:
		return err
	case isFolder && next == 0:
		w.folders++
	case isFolder:
		l.add(name, w.p.open(next))
	case fits && w.p.suffix(name):
		l.add(name, 0)
	case fits:
		w.others.add(string(name))
	}
	return nil
}

// inside reports whether a folder holds nothing that is not found anyway: it is one of
// those above, where all its names are being looked for. Without this, a link to a
// folder above would lead round for ever.
func (w *walker) inside(f entered) bool {
	return slices.ContainsFunc(w.above, func(a entered) bool {
		return a.dev == f.dev && a.ino == f.ino && a.names&f.names == f.names
	})
}

// unreadable says which folder stopped the walk.
func (w *walker) unreadable(key string, err error) error {
	if key == w.p.base && (err == unix.ENOENT || err == unix.ENOTDIR) {
		return fmt.Errorf("%w: %q matches nothing: %w", ErrNoFiles, w.p.text, missing(w.b.t.root, key))
	}
	return fmt.Errorf("folder %q: %w", key, err)
}
