package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrNoFiles marks a listing that would be empty.
var ErrNoFiles = errors.New("store: no files")

// List finds files by pattern, in the order of their paths' bytes.
//
//   - In a pattern * means any characters of a name, ? for one, [a-z] for one of a
//     set, [!a-z] for one that is not of it, and ** as a name of its own for any number
//     of folders, also none. There is no escape character: [*] means a star. Names
//     that begin with a dot are found only by a name in the pattern that begins with a
//     dot.
//   - The path of a folder means all files below it whose names end in one of
//     suffixes, in upper or lower case; the path of a file for itself. Elsewhere
//     suffixes have no meaning.
//   - Whatever is not a folder counts as a file; reading it says what is wrong with it.
//     Links are followed. A folder that is reached again from below itself is not
//     entered twice; one that is reached by two ways is listed by both.
//   - A relative pattern belongs to root, and gives keys that begin as the pattern does.
//   - A pattern with a scheme is for the objects of its store, whose folders are their
//     names up to a slash. One of file:// is for files of this machine, whose keys are
//     their paths.
//
// A folder that has to be read and cannot be is an error, and so is an empty result,
// with a message that says how far the path exists.
func List(ctx context.Context, root, pattern string, suffixes []string) (*Table, error) {
	in, object, err := ofPattern(pattern)
	if err != nil {
		return nil, err
	}
	if isLocal(in) {
		return listLocal(ctx, root, object, suffixes)
	}
	return listObjects(ctx, in, pattern, object, suffixes)
}

// ofPattern is [Of] for a pattern.
func ofPattern(pattern string) (in Store, object string, err error) {
	if scheme, rest, _ := Scheme(pattern); scheme == file {
		object, err = pathOf(pattern, rest, true)
		return Local{}, object, err
	}
	return Of(pattern)
}

func listLocal(ctx context.Context, root, pattern string, suffixes []string) (*Table, error) {
	w, err := walk(ctx, root, pattern, suffixes)
	if err == nil && w.b.len() == 0 {
		err = w.nothing()
	}
	if err != nil {
		return nil, err
	}
	return w.b.table(), nil
}

// Base returns the folder in which all is that List finds by a pattern: the pattern up to
// its first wildcard, or itself, if it names a folder.
func Base(ctx context.Context, root, pattern string) (string, error) {
	in, object, err := ofPattern(pattern)
	if err != nil {
		return "", err
	}
	before := strings.TrimSuffix(pattern, object) // the scheme
	if isLocal(in) {
		before, in = "", Local{Root: root}
	}
	if !hasWildcard(object) {
		if folder, err := IsFolder(ctx, in, object); folder || err != nil {
			return before + object, err
		}
	}
	p, err := parsePattern(object)
	if err != nil {
		return "", err
	}
	return before + p.base, nil
}

// walk finds what fits a pattern, which may be nothing.
func walk(ctx context.Context, root, pattern string, suffixes []string) (*walker, error) {
	p, err := parsePattern(pattern)
	if err != nil {
		return nil, err
	}
	if !p.wild() {
		if err := p.lookUp(root, suffixes); err != nil {
			return nil, err
		}
	}
	w := &walker{ctx: ctx, p: p, b: newBuilder(root)}
	if err := w.walk(); err != nil {
		if errors.Is(err, ErrNoFiles) {
			return nil, err
		}
		return nil, fmt.Errorf("store: list %q: %w", pattern, err)
	}
	return w, nil
}

// lookUp finds out what a pattern without wildcards names: a file, or a folder with all
// it holds.
func (p *pattern) lookUp(root string, suffixes []string) error {
	st, err := status(under(root, p.text))
	switch {
	case err == unix.ENOENT || err == unix.ENOTDIR:
		return fmt.Errorf("%w: %w", ErrNoFiles, missing(root, p.text))
	case err != nil:
		return fmt.Errorf("store: list %q: %w", p.text, err)
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		p.all(suffixes)
	}
	return nil
}

func status(path string) (st unix.Stat_t, err error) {
	err = again(func() error { return unix.Stat(path, &st) })
	return st, err
}

// missing says how far a path exists.
func missing(root, p string) error {
	if scheme, object, ok := strings.Cut(p, ":/"); ok && len(scheme) > 1 && !strings.HasPrefix(object, "/") && root != "" {
		if _, _, valid := Scheme(scheme + "://"); valid {
			return notExist(fmt.Sprintf("%q does not exist; names of stores begin with "+
				"%s:// (pathlib.Path removes a slash: give text)", p, scheme))
		}
	}
	at := path.Clean(under(root, p))
	if st, err := status(at); err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return notExist(fmt.Sprintf("%q is a file, not a folder", p))
	}
	if target, err := os.Readlink(at); err == nil {
		return notExist(fmt.Sprintf("%q is a link to %q, which does not exist", p, target))
	}
	for at != "/" && at != "." {
		at = path.Dir(at)
		st, err := status(at)
		switch {
		case err != nil:
			continue
		case st.Mode&unix.S_IFMT == unix.S_IFDIR:
			return notExist(fmt.Sprintf("%q does not exist; the nearest folder that does is %q", p, at))
		default:
			return notExist(fmt.Sprintf("%q does not exist; %q is a file, not a folder", p, at))
		}
	}
	return notExist(fmt.Sprintf("%q does not exist", p))
}

// notExist is a text that means fs.ErrNotExist, without repeating it.
type notExist string

func (e notExist) Error() string { return string(e) }

func (e notExist) Is(target error) bool { return target == fs.ErrNotExist }

// nothing says why a listing is empty, as far as that can be known.
func (w *walker) nothing() error {
	p := w.p
	switch {
	case p.suffixes != nil:
		return w.others.nothing(p.text, p.suffixes)
	case w.folders > 0:
		return fmt.Errorf("%w: %q matches only folders (%d); write %q for the files in them, or %q for all below",
			ErrNoFiles, p.text, w.folders, p.text+"/*", p.text+"/**")
	}
	hint := ""
	if _, err := status(under(w.b.t.root, p.text)); err == nil {
		hint = "; something of exactly this name exists: to name it, write [[] for [, [*] for * and [?] for ?"
	} else if other, files := w.otherSpelling(); files > 0 {
		hint = fmt.Sprintf("; %q matches %d", other, files)
	}
	return fmt.Errorf("%w: %q matches nothing in %q%s", ErrNoFiles, p.text, path.Clean(under(w.b.t.root, p.base)), hint)
}
