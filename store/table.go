package store

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"path"
	"slices"
	"strings"
)

// A Table is a list of files. It takes about 8 bytes a file beside the bytes of its
// name; folders are stored once.
type Table struct {
	root     string
	folders  []string // with the slash at their end; "" is the root
	folderOf []uint32 // by file
	names    []byte   // without their folder, one after the other
	ends     []uint32 // by file
	schemes  bool     // some paths begin with one
}

// Files returns the table of the given paths, in the given order, with repetitions.
// Relative ones belong to root; names of stores are paths, too. No file is looked at: one
// that does not exist is found when it is read.
func Files(root string, paths iter.Seq[string]) (*Table, error) {
	b := newBuilder(root)
	for p := range paths {
		if _, _, ok := Scheme(p); ok {
			b.t.schemes = true
			if _, _, err := Of(p); err != nil {
				return nil, err
			}
		}
		cut := strings.LastIndexByte(p, '/') + 1
		if err := b.add(b.folder(p[:cut]), []byte(p[cut:])); err != nil {
			return nil, err
		}
	}
	return b.table(), nil
}

// Without returns the table without one of its files.
func (t *Table) Without(out int) (*Table, error) {
	return Files(t.root, func(yield func(string) bool) {
		for i := range t.Len() {
			if i != out && !yield(t.Key(i)) {
				return
			}
		}
	})
}

// Len returns the number of files.
func (t *Table) Len() int { return len(t.ends) }

// Key returns the path of a file as it was given, or as the pattern began: relative to
// the root where that was relative.
func (t *Table) Key(i int) string { return t.folders[t.folderOf[i]] + t.name(i) }

// Path returns the path by which a file can be opened, or its name in a store.
func (t *Table) Path(i int) string {
	key := t.Key(i)
	if !t.schemes {
		return under(t.root, key)
	}
	key, _ = Plain(key) // [Files] has looked at it
	return Under(t.root, key)
}

// Away reports whether some of the files are in a store, and not on this machine.
func (t *Table) Away() bool {
	return t.schemes && slices.ContainsFunc(t.folders, func(folder string) bool {
		scheme, _, ok := Scheme(folder)
		return ok && scheme != file
	})
}

// Parent returns the name of the folder in which a file is. It is the last name of
// the file's path without the file itself, whatever links that path goes through; ""
// for a file in "/".
func (t *Table) Parent(i int) string {
	at := t.folders[t.folderOf[i]]
	if _, rest, ok := Scheme(at); ok && t.schemes {
		at = "/" + rest
		if path := t.Path(i); path[0] == '/' { // of file://
			at = path[:strings.LastIndexByte(path, '/')+1]
		}
	}
	folder := path.Base(path.Clean(under(t.root, at)))
	if folder == "/" || folder == "." {
		return ""
	}
	return folder
}

func (t *Table) name(i int) string {
	start := uint32(0)
	if i > 0 {
		start = t.ends[i-1]
	}
	return string(t.names[start:t.ends[i]])
}

// under resolves a path against the folder to which relative paths belong.
func under(root, p string) string {
	switch {
	case root == "" && p == "":
		return "."
	case root == "" || strings.HasPrefix(p, "/"):
		return p
	}
	return strings.TrimSuffix(root, "/") + "/" + p
}

// builder collects a table.
type builder struct {
	t     Table
	ids   map[string]uint32
	last  string // most files follow one of their own folder
	lastN uint32
}

func newBuilder(root string) *builder {
	return &builder{t: Table{root: root}, ids: make(map[string]uint32)}
}

// folder returns the number of a folder.
func (b *builder) folder(name string) uint32 {
	if name == b.last && len(b.t.folders) > 0 {
		return b.lastN
	}
	n, ok := b.ids[name]
	if !ok {
		n = uint32(len(b.t.folders))
		name = strings.Clone(name) // it may be a part of something long
		b.ids[name] = n
		b.t.folders = append(b.t.folders, name)
	}
	b.last, b.lastN = name, n
	return n
}

var errTooMany = errors.New("store: the files' names take more than 4 GiB")

func (b *builder) add(folder uint32, name []byte) error {
	if len(b.t.names)+len(name) > math.MaxUint32 {
		return fmt.Errorf("%w, after %d files", errTooMany, len(b.t.ends))
	}
	b.t.names = append(b.t.names, name...)
	b.t.ends = append(b.t.ends, uint32(len(b.t.names)))
	b.t.folderOf = append(b.t.folderOf, folder)
	return nil
}

func (b *builder) len() int { return len(b.t.ends) }

// table returns what was collected, less the room that was left to grow.
func (b *builder) table() *Table {
	t := b.t
	t.folders = append([]string(nil), t.folders...)
	t.folderOf = append([]uint32(nil), t.folderOf...)
	t.names = append([]byte(nil), t.names...)
	t.ends = append([]uint32(nil), t.ends...)
	return &t
}
