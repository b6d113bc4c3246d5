package tarfile

import (
	"bytes"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
)

// grouping makes samples of members that follow each other.
type grouping struct {
	found  *index.Builder
	begun  bool
	key    []byte
	fields [][]byte // of the sample at hand
	lower  []byte
}

// add adds a file to the sample that it belongs to.
func (g *grouping) add(f shard.File, m *member) error {
	if isMeta(m.name) || appleDouble(m.name) {
		return nil
	}
	key, suffix, ok := split(m.name)
	if !ok {
		return nil
	}

	suffix = g.lowered(suffix)
	if !g.begun || !bytes.Equal(key, g.key) {
		g.begun, g.key = true, append(g.key[:0], key...)
		g.fields = g.fields[:0]
		g.found.Sample(key)
	}
	if slices.ContainsFunc(g.fields, func(b []byte) bool { return bytes.Equal(b, suffix) }) {
		return shard.Wrong(f, m.header, shard.ErrCorrupt, "sample %q has %q twice, the second time as %q: "+
			"samples are told apart by what is before the first dot of their names; rename one of them, "+
			"or write the archive again without it", key, suffix, m.name)
	}
	g.remember(suffix)
	g.found.Part(suffix, m.at, m.size)
	return nil
}

// remember keeps a field of the sample at hand, in memory that is used again.
func (g *grouping) remember(suffix []byte) {
	n := len(g.fields)
	if n < cap(g.fields) {
		g.fields = g.fields[:n+1]
		g.fields[n] = append(g.fields[n][:0], suffix...)
		return
	}
	g.fields = append(g.fields, slices.Clone(suffix))
}

// lowered returns a suffix in lower case.
func (g *grouping) lowered(suffix []byte) []byte {
	plain := true
	for _, c := range suffix {
		if c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			plain = false
			break
		}
	}
	switch {
	case plain:
		return suffix
	case utf8.Valid(suffix):
		return bytes.ToLower(suffix)
	}
	g.lower = append(g.lower[:0], suffix...)
	for i, c := range g.lower {
		if 'A' <= c && c <= 'Z' {
			g.lower[i] = c + 'a' - 'A'
		}
	}
	return g.lower
}

// isMeta tells whether a member describes its archive and is no part of a sample: those
// in a folder, or of a name, between two underscores on either side.
func isMeta(name []byte) bool {
	if !bytes.HasPrefix(name, []byte("__")) {
		return false
	}
	first, _, _ := bytes.Cut(name, []byte("/"))
	return len(first) >= 4 && bytes.HasSuffix(first, []byte("__"))
}

// appleDouble tells whether a member is what macOS keeps beside a file.
func appleDouble(name []byte) bool {
	return bytes.HasPrefix(name[bytes.LastIndexByte(name, '/')+1:], []byte("._"))
}

// rule is WebDataset's: split does what it does, faster, but for names of several lines.
var rule = regexp.MustCompile(`^((?:.*/|)[^.]+)[.]([^/]*)$`)

// split returns the key and the suffix of a name; false: it has no suffix.
func split(name []byte) (key, suffix []byte, ok bool) {
	if bytes.IndexByte(name, '\n') >= 0 {
		m := rule.FindSubmatch(name)
		if m == nil {
			return nil, nil, false
		}
		return m[1], m[2], true
	}
	base := bytes.LastIndexByte(name, '/') + 1
	dot := bytes.IndexByte(name[base:], '.')
	switch {
	case dot < 0:
		return nil, nil, false
	case dot == 0: // "a/.b" is suffix b of "a/", if the folder's own name has no dot
		if base == 0 {
			return nil, nil, false
		}
		folder := name[:base-1]
		if bytes.IndexByte(folder[bytes.LastIndexByte(folder, '/')+1:], '.') >= 0 {
			return nil, nil, false
		}
	}
	return name[:base+dot], name[base+dot+1:], true
}
