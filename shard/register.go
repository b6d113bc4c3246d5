package shard

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/headrace/headrace/internal/words"
)

var registry struct {
	sync.RWMutex
	formats []Format
	openers []Opener
}

// Register has [Open] know a format.
func Register(f Format) {
	registry.Lock()
	defer registry.Unlock()
	registry.formats = append(registry.formats, f)
}

// RegisterSet has [Open] know a kind of set.
func RegisterSet(o Opener) {
	registry.Lock()
	defer registry.Unlock()
	registry.openers = append(registry.openers, o)
}

// Formats returns the formats that were registered.
func Formats() []Format {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Clone(registry.formats)
}

func openers() []Opener {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Clone(registry.openers)
}

// Names are those of all formats and kinds of sets.
func Names() (all []string) {
	for _, f := range Formats() {
		all = append(all, f.Name())
	}
	for _, o := range openers() {
		all = append(all, o.Name())
	}
	return all
}

// suffixes are those of all formats.
func suffixes() (all []string) {
	for _, f := range Formats() {
		all = append(all, f.Suffixes()...)
	}
	return all
}

// named returns the format of that name; nil: there is none.
func named(name string) Format {
	for _, f := range Formats() {
		if f.Name() == name {
			return f
		}
	}
	return nil
}

// bySuffix returns the format whose suffix a name has, the longest of those that fit;
// nil: there is none.
func bySuffix(name string) (found Format) {
	name = strings.ToLower(path.Base(name))
	longest := 0
	for _, f := range Formats() {
		for _, s := range f.Suffixes() {
			if len(s) > longest && strings.HasSuffix(name, s) {
				found, longest = f, len(s)
			}
		}
	}
	return found
}

// headBytes is how much of a file tells its format.
const headBytes = 512

// detect finds the format of a shard: by how it begins, or else by its name.
func detect(f File) (Format, error) {
	head := make([]byte, min(headBytes, f.Size()))
	n, err := f.ReadAt(head, 0)
	if n < len(head) {
		return nil, &Error{Shard: f.Name(), At: 0, Err: err}
	}
	for _, known := range Formats() {
		if known.Begins(head) {
			return known, nil
		}
	}
	if known := bySuffix(f.Name()); known != nil {
		return known, nil
	}
	return nil, Wrong(f, -1, ErrUnsupported, "neither its first bytes nor its name show a format: "+
		"set format to one of %s", words.List(Names()))
}

// openerOf finds the kind of set that a file describes; nil: none that is known.
func openerOf(f File) Opener {
	head := make([]byte, min(headBytes, f.Size()))
	if n, _ := f.ReadAt(head, 0); n < len(head) {
		return nil
	}
	for _, o := range openers() {
		named := slices.ContainsFunc(o.Suffixes(), func(s string) bool { return strings.HasSuffix(path.Base(f.Name()), s) })
		if named && o.Begins(head) {
			return o
		}
	}
	return nil
}

// describing are the names under which folders have files that describe sets.
func describing() (all []string) {
	for _, o := range openers() {
		for _, s := range o.Suffixes() {
			if !strings.HasPrefix(s, ".") {
				all = append(all, s)
			}
		}
	}
	slices.SortFunc(all, cmp.Compare)
	return slices.Compact(all)
}

// Named tells whether a name, or a pattern, is that of shards: whether its suffix is of a
// format.
func Named(name string) bool { return bySuffix(name) != nil }
