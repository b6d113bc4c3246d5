package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Find is [List] in a store, for names without a scheme.
func Find(ctx context.Context, s Store, root, text string, suffixes []string) (*Table, error) {
	if isLocal(s) {
		return listLocal(ctx, root, text, suffixes)
	}
	return listObjects(ctx, s, text, text, suffixes)
}

// listObjects finds the objects of a pattern in a store. Named is the pattern as it was
// given, with the scheme that keys begin with.
func listObjects(ctx context.Context, s Store, named, text string, suffixes []string) (*Table, error) {
	before := strings.TrimSuffix(named, text)
	l := objectList{before: before}
	b := l.builder()
	// Without wildcards it is the name of an object or a folder. A store has no folders
	// to ask for, so the object is tried first.
	_, unlisted := s.(Unlisted)
	told := Shown(named)
	if unlisted {
		told, _, _ = strings.Cut(told, "?")
	}
	if (unlisted || !hasWildcard(text)) && text != "" && !strings.HasSuffix(text, "/") {
		switch o, err := s.Stat(ctx, text); {
		case err == nil:
			err = b.addObject(before+o.Name, o)
			return b.table(), err
		case unlisted && !strings.ContainsAny(text, "*["), // a ? begins a query
			!errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrNotRegular):
			return nil, fmt.Errorf("store: list %q: %w", told, err)
		}
	}

	p, err := patternOf(text, suffixes)
	if err != nil {
		return nil, err
	}
	l.pattern = p
	b, err = listOnce(ctx, &stretches{in: s, prefix: p.base, keep: l.keep, make: l.builder}, &l.others, named, suffixes)
	switch {
	case err != nil:
		return nil, fmt.Errorf("store: list %q: %w", told, err)
	case b.len() > 0:
		return b.table(), nil
	case l.others.all > 0:
		return nil, l.others.nothing(told, p.suffixes)
	case hasWildcard(text):
		return nil, fmt.Errorf("%w: %q matches nothing", ErrNoFiles, told)
	}
	return nil, fmt.Errorf("%w: %w", ErrNoFiles, notExist(fmt.Sprintf("%q does not exist", told)))
}

// objectList keeps the objects that fit a pattern.
type objectList struct {
	*pattern
	before string // their names: the scheme

	mu     sync.Mutex
	others kinds
}

func (l *objectList) builder() *builder {
	b := newBuilder("")
	b.t.schemes = l.before != ""
	return b
}

func (l *objectList) keep(b *builder, o Object) error {
	if l.fits(o.Name) {
		return b.addObject(l.before+o.Name, o)
	}
	if l.suffixes != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.others.add(o.Name)
	}
	return nil
}

func hasWildcard(text string) bool { return strings.ContainsAny(text, "*?[") }

// patternOf is the pattern of a text in a store, whose root has no name.
func patternOf(text string, suffixes []string) (*pattern, error) {
	if text == "" || text == "/" {
		p := new(pattern)
		p.all(suffixes)
		p.base = ""
		return p, nil
	}
	p, names, err := splitPattern(text)
	if err == nil && slices.Contains(strings.Split(text, "/"), "..") {
		err = fmt.Errorf("%w: %q has .., which no folder of a store can have: write the name without it", ErrName, text)
	}
	if err != nil {
		return nil, err
	}
	for _, part := range names { // empty ones, too, as objects may have them
		p.add(part)
	}
	if names == nil {
		p.all(suffixes)
	}
	return p, p.check()
}

// fits reports whether the whole name of an object below the base fits. Between its
// slashes may be nothing, or a dot: a store has no folders, in which these would mean
// something. Two dots never fit: a proxy, or a disk to which an object is copied, could
// make another name of them.
func (p *pattern) fits(object string) bool {
	below, ok := strings.CutPrefix(object, p.base)
	if !ok {
		return false
	}
	parts, at, fits := strings.Split(below, "/"), p.open(1), false
	for _, part := range parts {
		if part == ".." {
			return false
		}
		fits, at = p.below(at, []byte(part))
		at = p.open(at)
	}
	return fits && p.suffix([]byte(parts[len(parts)-1]))
}

// First returns the first object that a pattern in any store finds, in the order of the
// service; suffixes are as for [List].
func First(ctx context.Context, name string, suffixes []string) (Object, error) {
	in, object, err := Of(name)
	if err != nil {
		return Object{}, err
	}
	p, err := patternOf(object, suffixes)
	if err != nil {
		return Object{}, err
	}
	for o, err := range in.Objects(ctx, p.base) {
		if err != nil || p.fits(o.Name) {
			return o, err
		}
	}
	return Object{}, fmt.Errorf("%w: %q matches nothing", ErrNoFiles, Shown(name))
}

// IsPattern reports whether a name in any store has wildcards, and can be listed.
func IsPattern(name string) bool {
	in, object, err := Of(name)
	_, unlisted := in.(Unlisted)
	return err == nil && !unlisted && hasWildcard(object)
}

// Stat returns the object of a name in any store; see [Store]. The path of a file that is
// not absolute belongs to root.
func Stat(ctx context.Context, root, name string) (Object, error) {
	in, object, err := Of(name)
	if err != nil {
		return Object{}, err
	}
	if isLocal(in) {
		return Local{Root: root}.Stat(ctx, object)
	}
	o, err := in.Stat(ctx, object)
	if err != nil {
		err = fmt.Errorf("store: read %q: %w", Shown(name), err)
	}
	return o, err
}

// HasFolder is [IsFolder] for a name in any store.
func HasFolder(ctx context.Context, name string) (bool, error) {
	in, object, err := Of(name)
	if err != nil {
		return false, err
	}
	return IsFolder(ctx, in, object)
}

// IsFolder reports whether a store has objects below a name, or the folder of that name.
func IsFolder(ctx context.Context, s Store, name string) (bool, error) {
	if l, local := s.(Local); local {
		st, err := status(under(l.Root, name))
		return err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR, nil
	}
	prefix := ""
	if name != "" {
		prefix = strings.TrimSuffix(name, "/") + "/"
	}
	for _, err := range s.Objects(ctx, prefix) {
		if errors.Is(err, ErrNoListing) {
			return false, nil
		}
		return err == nil, err
	}
	return false, nil
}
