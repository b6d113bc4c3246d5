package tarfile

import (
	"bytes"
	"strings"

	"github.com/headrace/headrace/shard"
)

// Files with holes are written without them, with a table of what is there. A sample is
// one range of the archive, so only those can be read that have no hole after all.

// sparse tells whether an extended header describes a file with holes.
func sparse(records map[string]string) bool {
	return records["GNU.sparse.major"] != "" || records["GNU.sparse.map"] != ""
}

// sparseOld reads the table of GNU's old format, which is in the header and in blocks
// after it.
func (s *scan) sparseOld(m *member, h header) (*member, error) {
	size, ok := number(h[483:495])
	if !ok {
		return nil, s.noTable(m)
	}
	var holes holes
	more := h[482] != 0
	ok = holes.entries(h[386:482], 24)
	for more && ok {
		b, err := s.read(s.at, blockSize)
		if err != nil {
			return nil, &shard.Error{Shard: s.f.Name(), At: s.at, Err: err}
		}
		if len(b) < blockSize {
			return nil, shard.Wrong(s.f, s.at, shard.ErrTruncated, "it ends in the header of member %q", m.name)
		}
		s.at += blockSize
		ok, more = holes.entries(b[:504], 24), b[504] != 0
	}
	if !ok {
		return nil, s.noTable(m)
	}
	return s.whole(m, &holes, size)
}

// sparseRecords reads the table of an extended header, or the one that begins the
// content, as its third version has it.
func (s *scan) sparseRecords(m *member, records map[string]string) (*member, error) {
	if name := records["GNU.sparse.name"]; name != "" {
		m.name = []byte(name)
	}
	said := records["GNU.sparse.realsize"]
	if said == "" {
		said = records["GNU.sparse.size"]
	}
	size, ok := decimal(said)
	if !ok {
		return nil, s.noTable(m)
	}
	var holes holes
	if records["GNU.sparse.major"] == "1" {
		table, err := s.table(m)
		if err != nil {
			return nil, err
		}
		for i := 0; i+1 < len(table); i += 2 {
			holes.add(table[i], table[i+1])
		}
		return s.whole(m, &holes, size)
	}
	numbers := strings.Split(records["GNU.sparse.map"], ",")
	if len(numbers)%2 != 0 {
		return nil, s.noTable(m)
	}
	for i := 0; i < len(numbers); i += 2 {
		at, one := decimal(numbers[i])
		n, two := decimal(numbers[i+1])
		if !one || !two {
			return nil, s.noTable(m)
		}
		holes.add(at, n)
	}
	return s.whole(m, &holes, size)
}

// mostLines is how long the table of a file without holes can be.
const mostLines = 64

// table reads the table that begins the content: a count, and pairs of numbers, each on a
// line of its own.
func (s *scan) table(m *member) ([]int64, error) {
	first, err := s.read(s.at, blockSize)
	if err != nil {
		return nil, &shard.Error{Shard: s.f.Name(), At: s.at, Err: err}
	}
	var all []int64
	count := int64(0)
	for used := 0; ; {
		line, _, ok := bytes.Cut(first[used:], []byte("\n"))
		n, is := decimal(string(line))
		if !ok || !is {
			return nil, s.noTable(m)
		}
		used += len(line) + 1
		if count == 0 {
			if n < 1 {
				return nil, s.noTable(m)
			}
			if count = n; n > mostLines/2 {
				return nil, s.hasHoles(m)
			}
			continue
		}
		if all = append(all, n); int64(len(all)) == 2*count {
			break
		}
	}
	if m.size < blockSize {
		return nil, s.noTable(m)
	}
	s.at += blockSize
	m.size -= blockSize
	return all, nil
}

// whole returns a member of which nothing is left out.
func (s *scan) whole(m *member, h *holes, size int64) (*member, error) {
	if h.any || h.end != size {
		return nil, s.hasHoles(m)
	}
	if size != m.size {
		return nil, s.noTable(m)
	}
	var err error
	m.at, err = s.body(m.header, m.size)
	return m, err
}

func (s *scan) hasHoles(m *member) error {
	return shard.Wrong(s.f, m.header, shard.ErrUnsupported, "member %q is stored with holes: write the archive without --sparse", m.name)
}

func (s *scan) noTable(m *member) error {
	return shard.Wrong(s.f, m.header, shard.ErrCorrupt, "the table of member %q, a file with holes, is not in its form", m.name)
}

// holes finds out whether what is stored of a file leaves gaps.
type holes struct {
	end int64 // of what has come without one
	any bool
}

func (h *holes) add(at, n int64) {
	if n == 0 { // the end of the file
		return
	}
	if at != h.end || at+n < at {
		h.any = true
		return
	}
	h.end = at + n
}

// entries reads a table of pairs of numbers, which ends with zeros.
func (h *holes) entries(b []byte, size int) bool {
	for ; len(b) >= size; b = b[size:] {
		if b[0] == 0 {
			return true
		}
		at, one := number(b[:size/2])
		n, two := number(b[size/2 : size])
		if !one || !two {
			return false
		}
		h.add(at, n)
	}
	return true
}
