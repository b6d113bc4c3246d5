package vorbis

import (
	"encoding/binary"
	"io"
)

// A Place is where a packet of a stream in Ogg begins, and how long it lasts, in samples.
type Place struct {
	Size       int   // bytes of the packet
	PTS, Lasts int64 // without what is cut at its end
	Skip, Cut  int64 // samples at its beginning and end that are not part of the recording
}

// Places tells where the packets of a stream of Vorbis in Ogg are, one after the other. A
// page says how many samples there are up to its end (Vorbis I, A.2): that a recording
// ends before its last packet does, or begins after its first one began. FFmpeg, at least
// up to 7.1, does not take a page's word where all packets are in the first, which is the
// last as well.
type Places struct {
	pages pages
	nth   int // among the streams of Vorbis

	serial   uint32
	others   int  // streams of Vorbis that have begun beside it
	begun    bool // headers have come
	opening  bool // the pages are those with which streams begin
	headers  int  // that are still to come
	id       []byte
	packet   []byte // what came of it: all of a header, of others the first byte
	size     int
	blocks   *Blocks
	total    int64 // samples of this recording so far
	begins   int64 // the sample of the recording's clock that comes first
	settled  bool  // that is known
	ready    []Place
	waiting  []Place // of pages that do not say where they end
	finished bool
}

// PlacesOf begins with the nth stream of Vorbis of a file.
func PlacesOf(file io.ReaderAt, size int64, nth int) *Places {
	return &Places{pages: pages{file: file, size: size}, nth: nth}
}

// Next is the place of the next packet that has samples. It is false after the last, and
// where pages are damaged.
func (p *Places) Next() (Place, bool) {
	for len(p.ready) == 0 {
		if p.finished {
			return Place{}, false
		}
		if !p.read() {
			p.finished = true
			p.told()
		}
	}
	next := p.ready[0]
	p.ready = p.ready[1:]
	return next, true
}

// Flags of a page.
const (
	continues = 1
	first     = 2
	last      = 4
)

const mostHeader = 1 << 24

// read takes a page.
func (p *Places) read() bool {
	page, ok := p.pages.next()
	if !ok {
		return false
	}
	if page.flags&first != 0 {
		p.open(&page)
	} else {
		p.opening = false
	}
	if !p.begun || page.serial != p.serial {
		return true
	}

	if page.flags&continues == 0 {
		p.packet, p.size = p.packet[:0], 0
	}
	body := page.body
	for _, n := range page.lacing {
		part := body[:n]
		body = body[n:]
		p.size += len(part)
		if keep := len(part); p.headers > 0 || len(p.packet) == 0 {
			if p.headers == 0 {
				keep = min(keep, 1)
			}
			if len(p.packet)+keep > mostHeader {
				return false
			}
			p.packet = append(p.packet, part[:keep]...)
		}
		if n == 255 {
			continue
		}
		if !p.end() {
			return false
		}
		p.packet, p.size = p.packet[:0], 0
	}
	if page.granule >= 0 && len(p.waiting) > 0 {
		p.settle(&page)
	}
	return true
}

// open takes the page with which a stream begins. Those of other streams are beside it.
func (p *Places) open(page *page) {
	if !p.opening {
		p.told()
		p.opening, p.others, p.begun = true, 0, false
	}
	if len(page.body) < 7 || string(page.body[:7]) != "\x01vorbis" {
		return
	}
	if p.others == p.nth {
		p.serial, p.begun, p.headers = page.serial, true, 3
		p.packet, p.size, p.blocks = p.packet[:0], 0, nil
		p.total, p.begins, p.settled = 0, 0, false
	}
	p.others++
}

// end takes a packet.
func (p *Places) end() bool {
	if p.headers > 0 {
		switch p.headers--; p.headers {
		case 2:
			p.id = append(p.id[:0], p.packet...)
		case 0:
			p.blocks = blocksOf(p.id, p.packet)
			return p.blocks != nil
		}
		return true
	}
	n := max(p.blocks.Samples(p.packet), 0)
	place := Place{Size: p.size, PTS: p.total, Lasts: int64(n)}
	p.total += int64(n)
	p.waiting = append(p.waiting, place)
	return true
}

// settle takes what a page says of its end.
func (p *Places) settle(page *page) {
	ends := page.flags&last != 0

	if !p.settled {
		p.settled = true
		if p.begins = page.granule - p.total; p.begins < 0 && ends {
			p.begins = 0 // it is the end that is not part of the recording
		}
		for skip, i := max(-p.begins, 0), 0; skip > 0 && i < len(p.waiting); i++ {
			w := &p.waiting[i]
			w.Skip = min(skip, w.Lasts)
			skip -= w.Skip
		}
	}

	if cut := p.begins + p.total - page.granule; ends {
		for i := len(p.waiting) - 1; i >= 0 && cut > 0; i-- {
			w := &p.waiting[i]
			w.Cut = min(cut, w.Lasts)
			w.Lasts -= w.Cut
			cut -= w.Cut
		}
	}
	p.told()
}

// told hands over what waits.
func (p *Places) told() {
	for i := range p.waiting {
		p.waiting[i].PTS += p.begins
	}
	p.ready = append(p.ready, p.waiting...)
	p.waiting = p.waiting[:0]
}

// pages reads the pages of a file (RFC 3533).
type pages struct {
	file io.ReaderAt
	size int64
	at   int64
	room []byte
}

type page struct {
	flags   byte
	granule int64
	serial  uint32
	lacing  []byte
	body    []byte
}

const (
	head     = 27
	usual    = 8 << 10 // bytes of a page, at most, as most writers make them
	mostPage = head + 255 + 255*255
)

// next finds the next page. Its bytes are there until the next call.
func (p *pages) next() (page, bool) {
	if p.room == nil {
		p.room = make([]byte, mostPage)
	}
	b := p.room[:min(usual, p.size-p.at)]
	if got, err := p.file.ReadAt(b, p.at); got < len(b) && err != nil {
		return page{}, false
	}
	if len(b) < head || string(b[:4]) != "OggS" || len(b) < head+int(b[26]) {
		return page{}, false
	}

	made := page{flags: b[5], granule: int64(binary.LittleEndian.Uint64(b[6:])),
		serial: binary.LittleEndian.Uint32(b[14:]), lacing: b[head:][:b[26]]}
	size := 0
	for _, l := range made.lacing {
		size += int(l)
	}
	begin := head + len(made.lacing)
	if int64(begin+size) > p.size-p.at {
		return page{}, false
	}
	if have := len(b); have < begin+size {
		rest := p.room[have : begin+size]
		if got, err := p.file.ReadAt(rest, p.at+int64(have)); got < len(rest) && err != nil {
			return page{}, false
		}
	}
	made.body = p.room[begin:][:size]
	p.at += int64(begin + size)
	return made, true
}
