package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

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
	b := newBuilder("")
	b.t.schemes = before != ""
	add := func(object string) error {
		cut := strings.LastIndexByte(object, '/') + 1
		return b.add(b.folder(before+object[:cut]), []byte(object[cut:]))
	}
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
			err = add(o.Name)
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
	var others kinds
	for o, err := range s.Objects(ctx, p.base) {
		if err == nil && !p.fits(o.Name) {
			if p.suffixes != nil {
				others.add(o.Name)
			}
			continue
		}
		if err == nil {
			err = add(o.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("store: list %q: %w", told, err)
		}
	}
	switch {
	case b.len() > 0:
		return b.table(), nil
	case others.all > 0:
		return nil, others.nothing(named, p.suffixes)
	case hasWildcard(text):
		return nil, fmt.Errorf("%w: %q matches nothing", ErrNoFiles, named)
	}
	return nil, fmt.Errorf("%w: %w", ErrNoFiles, notExist(fmt.Sprintf("%q does not exist", named)))
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
	p, err := parsePattern(text)
	if err == nil && !p.wild() {
		p.all(suffixes)
	}
	return p, err
}

// fits reports whether the whole name of an object below the base fits.
func (p *pattern) fits(object string) bool {
	below, ok := strings.CutPrefix(object, p.base)
	if !ok {
		return false
	}
	parts, at, fits := strings.Split(below, "/"), p.open(1), false
	for _, part := range parts {
		if part == "" {
			return false
		}
		fits, at = p.below(at, []byte(part))
		at = p.open(at)
	}
	return fits && p.suffix([]byte(parts[len(parts)-1]))
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
		err = fmt.Errorf("store: read %q: %w", name, err)
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
		prefix = path.Clean(name) + "/"
	}
	for _, err := range s.Objects(ctx, prefix) {
		if errors.Is(err, ErrNoListing) {
			return false, nil
		}
		return err == nil, err
	}
	return false, nil
}
