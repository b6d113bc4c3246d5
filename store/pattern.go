package store

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// pattern is a path up to the first name that is a pattern, and the names from there on.
type pattern struct {
	text     string
	base     string // as given; empty, or ends in a slash
	names    []name
	suffixes []string // in lower case, of the files below a folder that was named; nil: all files
}

// name is one name of a pattern.
type name struct {
	text   string
	glob   glob // nil where the text means itself
	deep   bool // **, whatever glob is
	hidden bool // may begin with a dot
}

// A set of names is the bits of a word. Longer patterns have no use.
const maxNames = 64

func parsePattern(text string) (*pattern, error) {
	p, parts, err := splitPattern(text)
	if err != nil || parts == nil {
		return p, err
	}
	if folder := strings.TrimRight(p.base, "/"); folder != "" {
		p.base = folder + "/" // slashes before the first wildcard count once
	}
	for _, part := range parts {
		if part != "" && part != "." {
			p.add(part)
		}
	}
	return p, p.check()
}

// splitPattern returns a pattern with its base, and the names that follow; none: all of
// it is there.
func splitPattern(text string) (p *pattern, names []string, err error) {
	switch {
	case text == "":
		return nil, nil, errors.New("store: the pattern is empty")
	case strings.IndexByte(text, 0) >= 0:
		return nil, nil, fmt.Errorf("store: the pattern %q contains a zero byte", text)
	}

	parts := strings.Split(text, "/")
	last := len(parts) - 1
	first := slices.IndexFunc(parts, magic)
	if first < 0 {
		return &pattern{text: text, base: text[:len(text)-len(parts[last])], names: []name{{text: parts[last]}}}, nil, nil
	}
	if parts[last] == "" {
		return nil, nil, fmt.Errorf("store: the pattern %q names folders; write %q for the files in them, or %q for all below",
			text, text+"*", text+"**")
	}

	if slices.Contains(parts[first:], "..") {
		return nil, nil, fmt.Errorf("store: the pattern %q has .. after a wildcard", text)
	}
	return &pattern{text: text, base: strings.Join(append(parts[:first:first], ""), "/")}, parts[first:], nil
}

func (p *pattern) check() error {
	if len(p.names) > maxNames {
		return fmt.Errorf("store: the pattern %q has more than %d names after the first wildcard", p.text, maxNames)
	}
	return nil
}

func (p *pattern) add(part string) {
	switch {
	case part == "**":
		if n := len(p.names); n == 0 || !p.names[n-1].deep { // twice is once
			p.names = append(p.names, name{text: part, deep: true})
		}
	case magic(part):
		p.names = append(p.names, name{text: part, glob: parseGlob(part), hidden: part[0] == '.'})
	default:
		p.names = append(p.names, name{text: part})
	}
}

// wild reports whether there is anything but plain names.
func (p *pattern) wild() bool { return !p.names[0].plain() }

// all makes p, the path of a folder, mean the files below it.
func (p *pattern) all(suffixes []string) {
	if p.base = p.text; !strings.HasSuffix(p.base, "/") {
		p.base += "/"
	}
	p.names = []name{{text: "**", deep: true}}
	p.suffixes = make([]string, len(suffixes))
	for i, s := range suffixes {
		p.suffixes[i] = strings.ToLower(s)
	}
}

// set is some of the names of a pattern, as bits.
type set uint64

// open adds to s what ** lets through: the name after it, as ** may mean no
// folder at all.
func (p *pattern) open(s set) set {
	for i, n := range p.names {
		if s&(1<<i) != 0 && n.deep && !p.last(i) {
			s |= 1 << (i + 1)
		}
	}
	return s
}

// below says what a name means where any of s may be: whether it completes the
// pattern, and what the names below it may fit if it is a folder.
func (p *pattern) below(s set, name []byte) (fits bool, next set) {
	for ; s != 0; s &= s - 1 {
		i := bits.TrailingZeros64(uint64(s))
		if !p.names[i].match(name) {
			continue
		}
		fits = fits || p.last(i)
		if p.names[i].deep {
			next |= 1 << i
		} else if !p.last(i) {
			next |= 1 << (i + 1)
		}
	}
	return fits, next
}

// single returns the one plain name of s, if that is all there is.
func (p *pattern) single(s set) (int, bool) {
	i := bits.TrailingZeros64(uint64(s))
	return i, s == 1<<i && p.names[i].plain()
}

func (p *pattern) last(i int) bool { return i == len(p.names)-1 }

// suffix reports whether a file is of a kind that is listed.
func (p *pattern) suffix(name []byte) bool {
	if p.suffixes == nil {
		return true
	}
	return slices.ContainsFunc(p.suffixes, func(s string) bool {
		return len(name) >= len(s) && strings.EqualFold(string(name[len(name)-len(s):]), s)
	})
}

// plain reports whether n means itself, and can be looked up without reading the
// folder.
func (n name) plain() bool { return n.glob == nil && !n.deep }

func (n name) match(name []byte) bool {
	switch {
	case n.plain():
		return n.text == string(name)
	case len(name) > 1 && name[0] == '.' && !n.hidden:
		return false
	default:
		return n.deep || n.glob.match(name)
	}
}
