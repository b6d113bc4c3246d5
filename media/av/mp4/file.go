package mp4

import (
	"errors"
	"fmt"
	"io"

	"github.com/headrace/headrace/media/av"
)

// File is the index of a file.
type File struct {
	Streams []av.Stream // in the order of the file's tracks

	size   int64
	movie  movie
	tracks []*track
	room   int64 // how many packets may still be listed
	skim   bool  // those of fragments are not kept
}

// mostTracks is far more than a file has that somebody wants to see.
const mostTracks = 256

// Open reads the index of a file of so many bytes.
func Open(r io.ReaderAt, size int64) (*File, error) {
	f := &File{size: size, room: packetsOf(size)}
	if err := f.read(&walker{r: r, size: size}); err != nil {
		return nil, err
	}
	for i, t := range f.tracks {
		t.stream.Index = i
		f.Streams = append(f.Streams, t.stream)
	}
	return f, nil
}

func (f *File) read(w *walker) error {
	moov, err := findMovie(w)
	if err != nil {
		return err
	}
	err = f.readMovie(moov)
	if err == nil || errors.Is(err, ErrUnsupported) { // which FFmpeg may know
		if err := w.checkJoined(moov, f.movie.fragmented); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	if f.movie.fragmented {
		return f.readFragments(w)
	}
	return nil
}

// Fragmented reports whether packets of the file are in fragments. It may end after any.
func (f *File) Fragmented() bool { return f.movie.fragmented }

// packetsOf returns how many packets a file can have. What is kept of one has 40 bytes.
// Speech at the lowest rates has packets of 13 bytes, which 4 more in the index belong
// to.
func packetsOf(size int64) int64 { return 1<<16 + size/16 }

// checkRoom refuses a box that claims more packets than the file has room for.
func (f *File) checkRoom(b *box, packets int64) error {
	if packets > f.room {
		return b.errorf("says there are %d samples, too many for a file of %d bytes", packets, f.size)
	}
	return nil
}

// openings are boxes that files begin with.
var openings = map[string]bool{
	"ftyp": true, "styp": true, "moov": true, "mdat": true, "free": true, "skip": true, "wide": true,
	"pnot": true, "uuid": true, "sidx": true,
}

// Probe reports whether a file that begins with b, of which 8 bytes are enough, can be
// one of these.
func Probe(b []byte) bool { return len(b) >= 8 && openings[string(b[4:8])] }

// findMovie returns the first moov box.
func findMovie(w *walker) (*box, error) {
	for at := int64(0); ; {
		t, err := w.next(at)
		if err == io.EOF {
			return nil, fmt.Errorf("mp4: the file has no moov box: it is truncated, or its writer did not finish it: %w", ErrFormat)
		}
		if err != nil && !errors.Is(err, errCut) {
			return nil, err
		}
		if at == 0 && !openings[t.kind] {
			return nil, fmt.Errorf("mp4: the file begins with %q: %w", t.kind, ErrFormat)
		}
		if t.kind == "moov" {
			if err != nil {
				return nil, fmt.Errorf("mp4: box \"moov\" at byte %d %w: %w", at, err, ErrFormat)
			}
			return w.read(t)
		}
		w.samples = w.samples || t.kind == "mdat"
		at += t.size
	}
}

// movie is what moov says of the whole file.
type movie struct {
	scale      uint32 // ticks a second of edits
	matrix     matrix
	fragmented bool
}

func (f *File) readMovie(moov *box) error {
	f.movie = movie{matrix: unturned}
	defaults := make(map[uint32]fragmentDefaults)
	err := moov.each(0, func(b *box) error {
		switch b.kind {
		case "cmov":
			return b.unsupported("is a compressed index")
		case "mvhd":
			return f.readMovieHeader(b)
		case "mvex":
			f.movie.fragmented = true
			return readExtends(b, defaults)
		case "trak":
			if len(f.tracks) == mostTracks {
				return b.errorf("is one of more than %d tracks", mostTracks)
			}
			t, err := readTrack(b)
			if err != nil {
				return err
			}
			f.tracks = append(f.tracks, t)
		}
		return nil
	})
	if err != nil {
		return err
	}

	for _, t := range f.tracks {
		m := t.matrix.times(f.movie.matrix)
		t.stream.Orientation = av.OrientationOf(m.a, m.b, m.c, m.d)
		t.defaults = defaults[uint32(t.stream.ID)]
	}
	return nil
}

func (f *File) readMovieHeader(b *box) error {
	h := b.fields()
	version, _ := h.full()
	h.versioned(version) // creation
	h.versioned(version) // modification
	f.movie.scale = h.u32()
	h.versioned(version) // duration
	h.skip(16)           // rate, volume, reserved
	f.movie.matrix = readMatrix(&h)
	if h.short {
		return b.errorf("is too short")
	}
	return nil
}

// Table returns all packets of a stream, which is counted as in Streams. It makes it
// again at each call.
func (f *File) Table(stream int) (*av.Table, error) {
	if stream < 0 || stream >= len(f.tracks) {
		return nil, fmt.Errorf("mp4: there is no stream %d: the file has %d", stream, len(f.tracks))
	}
	t := f.tracks[stream]
	if t.unsupported != nil {
		return nil, t.unsupported
	}
	packets, err := f.packets(t)
	if err != nil {
		return nil, err
	}
	return av.NewTable(t.stream, packets)
}

func (f *File) packets(t *track) ([]av.Packet, error) {
	packets, err := f.listed(t)
	if err != nil {
		return nil, err
	}
	if !f.movie.fragmented {
		return t.edited(packets, f.movie.scale, f.room)
	}
	packets = append(packets, t.fragments...)
	t.shift(packets, f.movie.scale)
	return packets, nil
}
