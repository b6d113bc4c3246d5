package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"path"
	"slices"
	"strings"
	"sync/atomic"
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
	// versions of objects, as hashes, by file: 0 if it is not known yet; nil: there are
	// none
	versions []uint64
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
	t := b.table()
	if t.schemes {
		t.versions = make([]uint64, t.Len())
	}
	return t, nil
}

// Check returns [ErrChanged] if an object is not the version of a file that was listed
// or, if it was not listed, that Check has seen first. So all reads of a table are of one
// version.
func (t *Table) Check(i int, o Object) error {
	if t.versions == nil {
		return nil
	}
	is := o.hash()
	if was := &t.versions[i]; atomic.CompareAndSwapUint64(was, 0, is) || atomic.LoadUint64(was) == is {
		return nil
	}
	return fmt.Errorf("store: read %q: %w: it was replaced after it was listed, or read before; "+
		"write new data under new names, and start again to read this", Shown(t.Path(i)), ErrChanged)
}

// hash is a short form of an object's size and version, and not 0.
func (o Object) hash() uint64 {
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(o.Version) {
		h = (h ^ uint64(o.Version[i])) * 1099511628211
	}
	return max(1, (h^uint64(o.Size))*1099511628211)
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

func (t *Table) name(i int) string { return string(t.nameBytes(uint32(i))) }

func (t *Table) nameBytes(i uint32) []byte {
	start := uint32(0)
	if i > 0 {
		start = t.ends[i-1]
	}
	return t.names[start:t.ends[i]]
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

// addObject adds an object of a name, which was listed.
func (b *builder) addObject(name string, o Object) error {
	cut := strings.LastIndexByte(name, '/') + 1
	if err := b.add(b.folder(name[:cut]), []byte(name[cut:])); err != nil {
		return err
	}
	b.t.versions = append(b.t.versions, o.hash())
	return nil
}

// joined returns one builder with the files of all, which give theirs up.
func joined(all []*builder) *builder {
	b := all[0]
	if len(all) == 1 {
		return b
	}
	files, size := 0, 0
	for _, one := range all {
		files, size = files+one.len(), size+len(one.t.names)
	}
	b = newBuilder(b.t.root)
	b.t.schemes = all[0].t.schemes
	b.t.names, b.t.ends = make([]byte, 0, size), make([]uint32, 0, files)
	b.t.folderOf, b.t.versions = make([]uint32, 0, files), make([]uint64, 0, files)
	for i, one := range all {
		b.join(&one.t)
		all[i] = nil
	}
	return b
}

func (b *builder) join(t *Table) {
	folders := make([]uint32, len(t.folders))
	for i, name := range t.folders {
		folders[i] = b.folder(name)
	}
	begin := uint32(len(b.t.names))
	b.t.names = append(b.t.names, t.names...)
	for i, end := range t.ends {
		b.t.ends = append(b.t.ends, begin+end)
		b.t.folderOf = append(b.t.folderOf, folders[t.folderOf[i]])
	}
	b.t.versions = append(b.t.versions, t.versions...)
}

// sort puts the files of a listing into the order of their keys, each once.
func (b *builder) sort() {
	t := &b.t
	if len(t.ends) == 0 {
		return
	}
	// Most keys differ in the bytes after those that all have. These are compared without
	// looking for the names, which are all over the memory.
	type place struct {
		first uint64
		i     uint32
	}
	common := t.common()
	order := make([]place, len(t.ends))
	for i := range order {
		order[i] = place{t.first(uint32(i), common), uint32(i)}
	}
	slices.SortFunc(order, func(a, b place) int {
		if c := cmp.Compare(a.first, b.first); c != 0 {
			return c
		}
		return t.compare(a.i, b.i)
	})
	order = slices.CompactFunc(order, func(a, b place) bool { return a.first == b.first && t.compare(a.i, b.i) == 0 })

	sorted := Table{root: t.root, schemes: t.schemes, folders: t.folders}
	sorted.names, sorted.ends = make([]byte, 0, len(t.names)), make([]uint32, 0, len(order))
	sorted.folderOf, sorted.versions = make([]uint32, 0, len(order)), make([]uint64, 0, len(order))
	for _, p := range order {
		sorted.names = append(sorted.names, t.nameBytes(p.i)...)
		sorted.ends = append(sorted.ends, uint32(len(sorted.names)))
		sorted.folderOf = append(sorted.folderOf, t.folderOf[p.i])
		sorted.versions = append(sorted.versions, t.versions[p.i])
	}
	b.t = sorted
}

// common returns the number of bytes with which all keys begin, of folders if there are
// several.
func (t *Table) common() int {
	if len(t.folders) == 1 {
		return len(t.folders[0])
	}
	n := len(t.folders[0])
	for _, f := range t.folders {
		n = min(n, len(f))
		for k := range n {
			if f[k] != t.folders[0][k] {
				n = k
				break
			}
		}
	}
	return n
}

// first returns eight bytes of a key from a place on, so that their order is that of the
// numbers.
func (t *Table) first(i uint32, from int) (n uint64) {
	x, name := t.folders[t.folderOf[i]], t.nameBytes(i)
	for k := from; k < from+8; k++ {
		n <<= 8
		if k < len(x)+len(name) {
			n |= uint64(at(x, name, k))
		}
	}
	return n
}

// compare compares the keys of two files.
func (t *Table) compare(i, j uint32) int {
	a, b := t.nameBytes(i), t.nameBytes(j)
	if t.folderOf[i] == t.folderOf[j] {
		return bytes.Compare(a, b)
	}
	// One folder may be below the other, or beside a file.
	x, y := t.folders[t.folderOf[i]], t.folders[t.folderOf[j]]
	n := min(len(x), len(y))
	if c := strings.Compare(x[:n], y[:n]); c != 0 {
		return c
	}
	x, y = x[n:], y[n:]
	for k := range min(len(x)+len(a), len(y)+len(b)) {
		if c := cmp.Compare(at(x, a, k), at(y, b, k)); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(x)+len(a), len(y)+len(b))
}

// at returns a byte of two texts, one after the other.
func at(x string, a []byte, k int) byte {
	if k < len(x) {
		return x[k]
	}
	return a[k-len(x)]
}

func (b *builder) len() int { return len(b.t.ends) }

// table returns what was collected, less the room that was left to grow.
func (b *builder) table() *Table {
	t := b.t
	t.folders = append([]string(nil), t.folders...)
	t.folderOf = append([]uint32(nil), t.folderOf...)
	t.names = append([]byte(nil), t.names...)
	t.ends = append([]uint32(nil), t.ends...)
	t.versions = append([]uint64(nil), t.versions...)
	return &t
}
