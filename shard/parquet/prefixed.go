package parquet

// prefixed is the values of such a page.
type prefixed struct {
	prefixes, suffixes []int64
	bytes              []byte // of suffixes
}

// readPrefixed checks that no prefix is longer than the value before, and that all
// suffixes are there. It returns how many bytes all values have.
func (p *prefixed) read(b []byte, n int) (size int64, ok bool) {
	var at, used int
	if p.prefixes, at, ok = deltas(p.prefixes[:0], b, n); !ok {
		return 0, false
	}
	if p.suffixes, used, ok = deltas(p.suffixes[:0], b[at:], n); !ok {
		return 0, false
	}
	p.bytes = b[at+used:]
	before, left := int64(0), int64(len(p.bytes))
	for i, prefix := range p.prefixes {
		suffix := p.suffixes[i]
		if prefix < 0 || prefix > before || suffix < 0 || suffix > left {
			return 0, false
		}
		left -= suffix
		before = prefix + suffix
		size += before
	}
	return size, true
}
