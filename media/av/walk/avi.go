package walk

import (
	"encoding/binary"

	"github.com/headrace/headrace/media/av/heads"
)

// aviWalk follows the chunks in the lists "movi" of AVI.
type aviWalk struct {
	riff    int64 // the end of the list that all others are in; 0: there is none
	movi    int64 // the end of that of chunks; 0: there is none
	live    bool  // the list has no size
	streams int
	odd     bool // the chunk before had an odd size
}

func (w *aviWalk) step(f *file, at int64) (next int64, err error) {
	if w.movi > 0 && at >= w.movi {
		at, w.movi = w.movi, 0
	}
	if w.riff > 0 && at >= w.riff {
		w.riff = 0
	}
	b := f.Bytes(at, 12)
	if len(b) < 8 {
		return f.Len, nil
	}

	name, next := chunkAt(b, at)
	switch {
	case w.movi > 0:
		return w.chunk(f, at, name, next)
	case name == "RIFF":
		if w.riff = next; next > f.Len || heads.Unsaid(next-at-8, f.Len-at-8) {
			w.riff = f.Len
		}
		return at + 12, nil
	case w.riff == 0 || !heads.Named(b):
		return f.Len, nil // behind the file
	case name[0] >= '0' && name[0] <= '9' && w.streams > 0 && w.known(name):
		return 0, damage(at, "the chunk %s is in no list", name)
	case name != "LIST" || len(b) < 12:
		return next, nil
	}
	switch string(b[8:12]) {
	case "hdrl":
		w.streams = 0
		return at + 12, nil
	case "strl":
		w.streams++
	case "movi":
		w.odd, w.live = false, heads.Unsaid(next-at-8, f.Len-at-8)
		w.movi, err = w.end(f, next)
		return at + 12, err
	}
	return next, nil
}

// chunkAt returns the name of a chunk, and the beginning of the next.
func chunkAt(b []byte, at int64) (name string, next int64) {
	size := int64(binary.LittleEndian.Uint32(b[4:]))
	return string(b[:4]), at + 8 + size + size%2
}

// end returns the end of a list of chunks, which states one. Something has to begin
// there: some writers are a few bytes off.
func (w *aviWalk) end(f *file, said int64) (int64, error) {
	const off = 12
	b := f.Bytes(said-off, 2*off+4)
	if w.live || said > f.Len || len(b) < 2*off { // which package whole tells, or the file's end
		return min(said, f.Len), nil
	}

	follows := func(i int) bool {
		name := string(b[i : i+4])
		return name == "idx1" || name == "JUNK" || name == "LIST" || name == "RIFF"
	}
	if follows(off) {
		return said, nil
	}
	for i := range len(b) - 4 {
		if follows(i) {
			return said - off + int64(i), nil
		}
	}
	if heads.Named(b[off:]) {
		return said, nil
	}
	return 0, damage(said, "the list of chunks should end there, and nothing follows it there")
}

// begin implements walker. Demuxers seek after they have found the list of chunks.
func (w *aviWalk) begin(f *file, at int64) int64 {
	if w.odd = false; w.movi == 0 || at >= w.movi {
		return f.Len
	}
	return at
}

// chunk takes one in the list of chunks.
func (w *aviWalk) chunk(f *file, at int64, name string, next int64) (int64, error) {
	if !w.known(name) && w.odd { // some writers put nothing behind chunks of odd sizes
		if b := f.Bytes(at-1, 8); len(b) == 8 && w.known(string(b[:4])) {
			at--
			name, next = chunkAt(b, at)
		}
	}
	w.odd = false
	switch {
	case name == "LIST": // of chunks
		return at + 12, nil
	case name == "idx1": // the list had no size
		w.movi = 0
		return next, nil
	case !w.known(name):
		if w.movi-at < 12 || f.zeros(at, w.movi) {
			return w.movi, nil
		}
		return 0, damage(at, "no chunk begins there, and one should")
	case next > f.Len && w.live: // which package whole tells
		return f.Len, nil
	case next > w.movi+8:
		return 0, damage(at, "the chunk %s goes on to byte %d, and its list ends at %d", name, next, w.movi)
	}
	w.odd = f.oddAt(at)
	return next, nil
}

// oddAt reports whether a chunk has an odd size.
func (f *file) oddAt(at int64) bool {
	b := f.Bytes(at+4, 1)
	return len(b) == 1 && b[0]&1 == 1
}

// known reports whether a chunk in the list may have a name: of a stream, as "01wb", of
// an index, or of padding.
func (w *aviWalk) known(name string) bool {
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	switch {
	case name == "LIST" || name == "JUNK" || name == "idx1":
		return true
	case len(name) < 4:
		return false
	case name[:2] == "ix":
		name = name[2:]
	case !heads.Named([]byte(name)):
		return false
	}
	n := int(name[0]-'0')*10 + int(name[1]-'0')
	return digit(name[0]) && digit(name[1]) && (n < w.streams || w.streams == 0)
}
