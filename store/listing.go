package store

import (
	"bytes"
	"slices"
)

// A listing is the entries of one folder that lead on. Their names are in one piece of
// memory: folders of millions of files exist.
type listing struct {
	id      entered
	names   []byte
	entries []entry
}

type entry struct {
	start, end int // of its name
	next       set // a folder: what the names in it may fit; none: a file to list
}

func (l *listing) add(name []byte, next set) {
	l.entries = append(l.entries, entry{len(l.names), len(l.names) + len(name), next})
	l.names = append(l.names, name...)
}

func (l *listing) name(e entry) []byte { return l.names[e.start:e.end] }

// sort puts the entries into the order that the paths below them have.
func (l *listing) sort() {
	slices.SortFunc(l.entries, func(a, b entry) int {
		x, y := l.name(a), l.name(b)
		n := min(len(x), len(y))
		if c := bytes.Compare(x[:n], y[:n]); c != 0 {
			return c
		}
		return a.after(x, n) - b.after(y, n)
	})
}

// after returns the byte that follows the first n of a path through e: in a folder's
// path, a slash follows the name. So the file "a.b" comes before what is in the folder
// "a".
func (e entry) after(name []byte, n int) int {
	switch {
	case n < len(name):
		return int(name[n])
	case e.next != 0:
		return '/'
	default:
		return -1
	}
}
