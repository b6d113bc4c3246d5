package tarfile

import (
	"context"
	"maps"

	"github.com/headrace/headrace/shard"
)

// member is a file in an archive.
type member struct {
	name     []byte // until the next one
	header   int64  // where its header is
	at, size int64  // its content
}

// scan walks over the headers of an archive.
type scan struct {
	ctx context.Context
	window
	at     int64 // of the next header
	turn   int   // headers so far
	global map[string]string
	name   []byte
	member member

	links map[string]extent // by the names of earlier files, once there is a hard link
}

type extent struct{ at, size int64 }

// about is what headers before that of a member have said of it.
type about struct {
	name, link []byte // nil: nothing
	records    map[string]string
}

// checkEvery is how many headers pass between two looks at the context.
const checkEvery = 1 << 10

// next returns the next file; nil: there are no more.
func (s *scan) next() (*member, error) {
	var known about
	for {
		if s.turn++; s.turn%checkEvery == 1 && s.ctx.Err() != nil {
			return nil, context.Cause(s.ctx)
		}
		from := s.at
		h, err := s.header(from)
		if err != nil || h == nil {
			return nil, err
		}
		s.at = from + blockSize

		switch kind := h.kind(); kind {
		case kindLongName, kindLongLink, kindExtended, kindSolaris, kindGlobal:
			if err := s.describe(kind, h, from, &known); err != nil {
				return nil, err
			}
			continue
		default:
			m, err := s.entry(kind, h, from, &known)
			if err != nil {
				return nil, err
			}
			if m != nil {
				if s.links != nil {
					s.links[string(m.name)] = extent{m.at, m.size}
				}
				return m, nil
			}
			known = about{}
		}
	}
}

// header returns the header at a place; nil: the archive ends there.
func (s *scan) header(at int64) (header, error) {
	b, err := s.read(at, blockSize)
	switch {
	case err != nil:
		return nil, &shard.Error{Shard: s.f.Name(), At: at, Err: err}
	case len(b) == 0 && at == 0:
		return nil, shard.Wrong(s.f, at, shard.ErrTruncated, "it is empty, and an archive without members has 1024 bytes")
	case len(b) == 0:
		return nil, shard.Wrong(s.f, at, shard.ErrTruncated, "it ends without the mark that ends archives, "+
			"so members may be missing; if you know that it is whole, add one: truncate -s +1024 FILE")
	case len(b) < blockSize:
		return nil, shard.Wrong(s.f, at, shard.ErrTruncated, "it ends in the header of a member")
	case header(b).empty():
		return nil, s.end(at + blockSize)
	case !header(b).valid():
		return nil, shard.Wrong(s.f, at, shard.ErrCorrupt, "there is no member header: its checksum is wrong")
	}
	return b, nil
}

// mostPadding is up to where a second archive is looked for after the end of the first.
const mostPadding = 64 << 10

// end makes sure that nothing comes after the end.
func (s *scan) end(at int64) error {
	for end := min(s.f.Size(), at+mostPadding); at < end; at += blockSize {
		b, err := s.read(at, blockSize)
		if err != nil {
			return &shard.Error{Shard: s.f.Name(), At: at, Err: err}
		}
		if len(b) == blockSize && !header(b).empty() && header(b).valid() {
			return shard.Wrong(s.f, at, shard.ErrUnsupported, "another archive begins after the end of the first: "+
				"put them together with tar --concatenate, or give them as files of their own")
		}
	}
	return nil
}

// body returns where the content of a member is, and has the next header follow it.
func (s *scan) body(from, size int64) (at int64, err error) {
	at = s.at
	if size < 0 || size > s.f.Size()-at {
		return 0, shard.Wrong(s.f, from, shard.ErrTruncated, "a member has %d bytes, and the file only %d more", size, s.f.Size()-at)
	}
	s.at += padded(size)
	return at, nil
}

// mostDescription bounds names and extended headers: those that programs write have some
// hundred bytes.
const mostDescription = 1 << 20

// describe reads what a header says of the member after it.
func (s *scan) describe(kind byte, h header, from int64, known *about) error {
	size, ok := h.size()
	if !ok || size > mostDescription {
		return shard.Wrong(s.f, from, shard.ErrCorrupt, "a header that describes a member has more than %d bytes", mostDescription)
	}
	at, err := s.body(from, size)
	if err != nil {
		return err
	}
	b, err := s.content(at, size)
	if err != nil {
		return err
	}
	switch kind {
	case kindLongName:
		known.name = text(b)
	case kindLongLink:
		known.link = text(b)
	case kindGlobal:
		if s.global == nil {
			s.global = map[string]string{}
		}
		ok = records(b, s.global)
	default:
		if known.records == nil {
			known.records = map[string]string{}
		}
		ok = records(b, known.records)
	}
	if !ok {
		return shard.Wrong(s.f, from, shard.ErrCorrupt, "an extended header is not in its form")
	}
	return nil
}

// content reads some bytes into memory of their own.
func (s *scan) content(at, size int64) ([]byte, error) {
	b := make([]byte, size)
	if n, err := s.f.ReadAt(b, at); int64(n) < size {
		return nil, &shard.Error{Shard: s.f.Name(), At: at, Err: err}
	}
	return b, nil
}

// entry returns the member of a header; nil: it is no file.
func (s *scan) entry(kind byte, h header, from int64, known *about) (*member, error) {
	size, ok := h.size()
	if s.global != nil {
		all := maps.Clone(s.global)
		maps.Copy(all, known.records)
		known.records = all
	}
	name := h.name(s.name[:0])
	s.name = name
	switch {
	case known.name != nil:
		name = known.name
	case known.records["path"] != "":
		name = []byte(known.records["path"])
	}
	if said, is := known.records["size"]; is {
		size, ok = decimal(said)
	}
	if !ok {
		return nil, shard.Wrong(s.f, from, shard.ErrCorrupt, "the size of member %q is not a number", name)
	}

	m := &s.member
	*m = member{name: name, header: from, size: size}
	var err error
	switch kind {
	case kindFile, kindContinuous, kindOld:
		if kind == kindOld && len(name) > 0 && name[len(name)-1] == '/' { // a folder, as old programs write it
			return nil, nil
		}
		if sparse(known.records) {
			return s.sparseRecords(m, known.records)
		}
		m.at, err = s.body(from, size)
		return m, err
	case kindSparse:
		return s.sparseOld(m, h)
	case kindHardLink:
		return s.linked(m, h, known)
	case kindPiece:
		return nil, shard.Wrong(s.f, from, shard.ErrUnsupported, "member %q goes on from another volume", name)
	case '2', '3', '4', '5', '6': // links, devices, folders and pipes have no content, whatever size they have
		return nil, nil
	}
	_, err = s.body(from, size)
	return nil, err
}

// linked returns the content of a hard link: that of an earlier member.
func (s *scan) linked(m *member, h header, known *about) (*member, error) {
	name := known.link
	if name == nil {
		name = h.linkName()
	}
	if said := known.records["linkpath"]; said != "" {
		name = []byte(said)
	}
	if s.links == nil {
		if err := s.remember(m.header); err != nil {
			return nil, err
		}
	}
	to, ok := s.links[string(name)]
	if !ok {
		return nil, shard.Wrong(s.f, m.header, shard.ErrUnsupported, "member %q is a link to %q, "+
			"which is not a file before it: write the archive with --hard-dereference", m.name, name)
	}
	m.at, m.size = to.at, to.size
	return m, nil
}

// remember finds the names of all members that are before a place. Archives without
// hard links, which are nearly all, never pay for this.
func (s *scan) remember(until int64) error {
	again := scan{ctx: s.ctx, window: window{f: s.f}, links: map[string]extent{}}
	for again.at < until {
		m, err := again.next()
		if err != nil {
			return err
		}
		if m == nil {
			break
		}
	}
	s.links = again.links
	return nil
}
