package store

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Find is [List] in any store. Folders are the names of objects up to a slash.
func Find(ctx context.Context, s Store, root, text string, suffixes []string) (*Table, error) {
	if _, local := s.(Local); local {
		return List(ctx, root, text, suffixes)
	}
	p, err := patternOf(text, suffixes)
	if err != nil {
		return nil, err
	}
	var found []string
	for o, err := range s.Objects(ctx, p.base) {
		if err != nil {
			return nil, fmt.Errorf("store: list %q: %w", text, err)
		}
		if p.fits(o.Name) {
			found = append(found, o.Name)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: %q matches nothing", ErrNoFiles, text)
	}
	return Files("", slices.Values(found))
}

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
		return err == nil, err
	}
	return false, nil
}
