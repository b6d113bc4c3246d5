package walk

import (
	"bytes"
	"encoding/binary"

	"github.com/headrace/headrace/media/av/heads"
)

// pageWalk follows the pages of Ogg. Each has a checksum, and a number that counts those
// of its stream.
type pageWalk struct {
	streams map[uint32]*pageStream
	open    int // streams that have begun and not ended
}

// pageStream is a stream of Ogg, as far as it has come.
type pageStream struct {
	number, sum uint32 // of its last page
	sounds      bool   // a page came with more than headers
	counts      bool   // of such pages one came after the other by its number
	free        bool   // numbers count something else
	ended       bool
}

// Flags of a page.
const (
	firstPage = 2
	lastPage  = 4
)

// mostSummed limits the bytes that are summed up in search of a page: pages that begin in
// each other would take hours.
const mostSummed = 64 << 20

// mostStreams limits the streams that are followed at a time.
const mostStreams = 1 << 12

func (w *pageWalk) step(f *file, at int64) (next int64, err error) {
	page := f.page(at)
	if page == nil {
		return w.lost(f, at)
	}
	if !heads.Summed(page) {
		return 0, damage(at, "the checksum of its page is wrong")
	}
	return at + int64(len(page)), w.take(f, at, page)
}

// begin implements walker.
func (w *pageWalk) begin(f *file, at int64) int64 {
	w.streams, w.open = nil, 0
	at, _ = f.nextPage(at)
	return at
}

// lost is at something that is no page. After the last pages of all streams it may be
// tags, behind which another recording may begin.
func (w *pageWalk) lost(f *file, at int64) (next int64, err error) {
	next, flags := f.nextPage(at + 1)
	ended := w.open == 0 && len(w.streams) > 0
	cut := next == f.Len && bytes.HasPrefix(f.Bytes(at, 4), []byte("OggS")[:min(4, f.Len-at)]) // which Check says better
	if cut || ended && (next == f.Len || flags&firstPage != 0) {
		return next, nil
	}
	if next == f.Len {
		return 0, damage(at, "what follows is no page, and no page was the last")
	}
	return 0, damage(at, "%d bytes are no page", next-at)
}

// take counts a page.
func (w *pageWalk) take(f *file, at int64, page []byte) error {
	serial, number := binary.LittleEndian.Uint32(page[14:]), binary.LittleEndian.Uint32(page[18:])
	sum, flags := binary.LittleEndian.Uint32(page[22:]), page[5]
	sounds := int64(binary.LittleEndian.Uint64(page[6:])) > 0 // samples, or frames, up to its end
	s := w.streams[serial]

	switch {
	case s == nil || flags&firstPage != 0:
		if s == nil || s.ended {
			w.open++
		}
		if w.streams == nil || len(w.streams) == mostStreams {
			w.streams, w.open = map[uint32]*pageStream{}, 1
		}
		s = &pageStream{}
		w.streams[serial] = s
	case number == s.number && sum == s.sum:
		return damage(at, "page %d comes twice", number)
	case number == s.number+1:
		s.counts = s.counts || s.sounds
	case s.sounds && int32(number-s.number) > 1 && !s.free:
		if s.counts || f.numbersGoOn(at+int64(len(page)), serial, number) {
			return damage(at, "page %d follows on page %d: what was between them is missing", number, s.number)
		}
		s.free = true
	}

	s.number, s.sum = number, sum
	s.sounds = s.sounds || sounds
	if flags&lastPage != 0 && !s.ended {
		s.ended = true
		w.open--
	}
	return nil
}

// numbersGoOn reports whether the number of the next page of a stream, looked for from a
// place on, is the next one, or there is none. Else its writer does not count pages.
func (f *file) numbersGoOn(at int64, serial, number uint32) bool {
	for range 64 {
		page := f.page(at)
		if page == nil {
			break
		}
		if binary.LittleEndian.Uint32(page[14:]) == serial {
			return binary.LittleEndian.Uint32(page[18:]) == number+1
		}
		at += int64(len(page))
	}
	return true
}

// page returns the page at a place, if it is whole; its sum may be wrong. It lasts until
// the next call.
func (f *file) page(at int64) []byte {
	size, _ := heads.Page(f.Bytes(at, 27+255))
	if size == 0 || !bytes.HasPrefix(f.Bytes(at, 4), []byte("OggS")) {
		return nil
	}
	if b := f.Bytes(at, size); len(b) == size && b[4] == 0 {
		return b
	}
	return nil
}

// nextPage finds the next page whose checksum is right. It returns the file's size if
// there is none, or if too much looks like one.
func (f *file) nextPage(at int64) (next int64, flags byte) {
	for left := mostSummed; at < f.Len && left > 0; {
		b := f.Bytes(at, heads.Together)
		i := bytes.Index(b, []byte("OggS"))
		if i < 0 {
			at += int64(max(len(b)-3, 1))
			continue
		}
		at += int64(i)
		page := f.page(at)
		if page != nil && heads.Summed(page) {
			return at, page[5]
		}
		left -= len(page)
		at++
	}
	return f.Len, 0
}
