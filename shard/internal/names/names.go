// Package names collects the names of a dictionary: what its codes stand for.
package names

// A dictionary with more names than this has none: they are in the index and in the
// schema of a loader.
const (
	Most      = 1 << 16
	MostBytes = 1 << 20
)

// Set is names in the order in which they come first.
type Set struct {
	All    []string
	TooBig bool // there are more than Most or MostBytes
	known  map[string]bool
	bytes  int
}

// Add adds a name, unless it is there.
func (s *Set) Add(name []byte) {
	if s.TooBig || s.known[string(name)] {
		return
	}
	if s.known == nil {
		s.known = map[string]bool{}
	}
	s.known[string(name)] = true
	s.All = append(s.All, string(name))
	if s.bytes += len(name); len(s.All) > Most || s.bytes > MostBytes {
		*s = Set{TooBig: true}
	}
}
