//go:build cgo

package ffmpeg

// #cgo noescape hr_av_reader_read
// #cgo nocallback hr_av_reader_read
// #include "load.h"
import "C"

import (
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"unsafe"

	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/joined"
	"github.com/headrace/headrace/media/av/packets"
	"github.com/headrace/headrace/media/av/vorbis"
	"github.com/headrace/headrace/media/av/walk"
	"github.com/headrace/headrace/media/av/whole"
)

// Reader reads the packets of a container one after the other. It holds a packet and the
// container's index, however long the file is. One goroutine at a time may use it, and
// somebody has to close it.
type Reader struct {
	Format  string
	Streams []packets.Stream

	// Restarts is how often a container's clock began again, for any stream, among the
	// packets so far.
	Restarts int

	file  *os.File // kept open
	parts []joined.Part
	part  int     // that is read
	now   *source // it
	first *source // the first part, which the file's tags are of
	to    []int   // for each stream of the part its number among Streams; -1: none
	only  []int   // that are wanted; nil: all
	fresh []bool  // of Streams: no packet of the part has come
	keeps bool    // see Keep
	light bool    // see Light

	clocks  []av.Clock // of Streams; nil: times are in order
	ahead   queue
	given   []av.Packet       // times of the packets that come, where the container has none
	keyed   map[int]bool      // the last packet of a stream was said to be key
	guessed map[int]*decoding // of streams whose times of decoding FFmpeg does not guess well any more
}

// source is a container in a part of a file.
type source struct {
	handle[*C.hr_av_reader]
	format  string
	streams []packets.Stream
	guessed []bool // of streams: nothing but the container says which packets are key
	places  map[int]*vorbis.Places
	part    *io.SectionReader
	walk    *walk.Walk   // finds what FFmpeg skips, up to the packets that came
	wanted  []int        // streams; nil: all
	ends    map[int]*end // of streams whose last packet may be cut off
	coded   C.hr_av_coded
	text    [C.HR_AV_TEXT]C.char
}

// NewReader opens a container in a file, which has to stay open, and is the caller's.
func NewReader(file *os.File) (*Reader, error) {
	about, err := file.Stat()
	if err != nil {
		return nil, err
	}
	r := &Reader{file: file, parts: joined.Parts(file, about.Size())}
	if r.now, err = openSource(file, r.parts[0]); err != nil {
		return nil, err
	}
	r.first = r.now
	r.Format, r.Streams = r.now.format, r.now.streams
	if isBare(r.Format) && len(r.Streams) == 1 {
		if err := r.number(); err != nil {
			r.Close()
			return nil, err
		}
	}
	r.begin()
	return r, nil
}

// number reads all packets of a stream without a container for their times.
func (r *Reader) number() error {
	f, err := DemuxFile(onDisk{r.file, r.parts[0].To})
	if err != nil {
		return err
	}
	if len(f.Tracks) == 1 {
		r.given = f.Tracks[0].Packets
	}
	return nil
}

// onDisk is a file as [DemuxFile] takes it.
type onDisk struct {
	*os.File
	size int64
}

// Size returns the number of bytes.
func (f onDisk) Size() int64 { return f.size }

// Descriptor implements [video.OpenFile].
func (f onDisk) Descriptor() int { return int(f.Fd()) }

func openSource(file *os.File, p joined.Part) (*source, error) {
	lib, err := opened()
	if err != nil {
		return nil, err
	}
	s := &source{
		handle: newHandle(lib, func(lib *C.hr_av, r *C.hr_av_reader) { C.hr_av_reader_close(lib, r) }),
		part:   io.NewSectionReader(file, p.From, p.Size()),
	}
	var about *C.hr_av_file
	result := C.hr_av_reader_open(lib.c, &s.c, &about, C.int(file.Fd()), C.int64_t(p.From), C.int64_t(p.Size()), &s.text[0])
	if result < 0 {
		return nil, whole.Blame(s.part, p.Size(), failure(result, &s.text))
	}
	ownedBy(s, &s.handle)
	s.format = C.GoString(&about.format[0])
	for i, c := range unsafe.Slice(about.track, about.tracks) {
		s.streams = append(s.streams, toldStream(i, &c))
		s.guessed = append(s.guessed, c.flags&C.HR_AV_TRACK_GUESSED != 0)
	}
	s.places = placesOf(s.format, s.streams, s.part)
	s.walk = walk.New(s.format, s.part, p.Size(), p.From)
	return s, nil
}

// begin has clocks begin.
func (r *Reader) begin() {
	r.clocks = clocksOf(r.Format, len(r.Streams), func(i int) *av.Stream { return &r.Streams[i].Stream })
	r.ahead, r.guessed, r.keyed = queue{}, map[int]*decoding{}, map[int]bool{}
}

// read reads the next packet as its part has it.
func (s *source) read(p *packets.Packet) error {
	result := C.hr_av_reader_read(s.lib, s.c, &s.coded, &s.text[0])
	runtime.KeepAlive(s)
	switch {
	case result == C.HR_AV_END:
		if _, err := whole.Check(s.format, s.part, s.part.Size()); err != nil {
			return err
		}
		if err := s.follow(s.part.Size()); err != nil {
			return err
		}
		for i, e := range s.ends {
			if endsInside(decodingOf(&s.streams[i]), e.key, e.last) {
				return errInside
			}
		}
		return io.EOF
	case result < 0:
		return whole.Blame(s.part, s.part.Size(), failure(result, &s.text))
	}
	if err := s.follow(int64(s.coded.place)); err != nil {
		return err
	}
	tellPacket(&s.coded, p)
	if st := &s.streams[p.Stream]; openEnded(s.format, &st.Stream) {
		s.remember(p)
	}
	s.place(p)
	return nil
}

// follow looks for what FFmpeg has skipped of streams that are wanted, up to a place.
func (s *source) follow(place int64) error {
	for {
		err := s.walk.To(place)
		d := (*walk.Damage)(nil)
		if !errors.As(err, &d) || d.Stream < 0 || s.wants(d.Stream) {
			return err
		}
		s.walk.Forgive()
	}
}

// wants reports whether a stream is wanted, by its number in the container.
func (s *source) wants(id int) bool {
	for i := range s.streams {
		if s.streams[i].ID == id {
			return s.wanted == nil || slices.Contains(s.wanted, i)
		}
	}
	return false
}

// Only says which streams are wanted. Packets of others need not come, and cost no
// reading where the container can leave them out.
func (r *Reader) Only(streams []int) {
	r.only = streams
	r.now.only(streams)
}

func (s *source) only(streams []int) {
	s.wanted = streams
	tracks := tracksOf(streams)
	C.hr_av_reader_only(s.lib, s.c, unsafe.SliceData(tracks), C.int32_t(len(tracks)))
	runtime.KeepAlive(s)
}

// Light leaves out checksums that FFmpeg does not look at.
func (r *Reader) Light() {
	r.light = true
	r.now.walk.Light()
}

// Keep leaves out damage, as FFmpeg does.
func (r *Reader) Keep() { r.keeps, r.now.walk = true, nil }

func tracksOf(streams []int) []C.int32_t {
	var all []C.int32_t
	for _, n := range streams {
		all = append(all, C.int32_t(n))
	}
	return all
}

// Joined reports whether the file is several, one after the other, each with headers of
// its own.
func (r *Reader) Joined() bool { return len(r.parts) > 1 || r.given != nil }

// Seek goes to a packet of a stream with which decoding may begin, at a time of the
// stream or before it, as far as the container's index knows. Times are those of the
// container from there on, and of the part that is read: where its clock begins again, or
// it is joined, they are not those that Read would have come to.
func (r *Reader) Seek(stream int, time int64) error {
	r.begin()
	s := r.now
	if err := s.sought(); err != nil {
		return err
	}
	var place C.int64_t
	result := C.hr_av_reader_seek(s.lib, s.c, C.int32_t(stream), C.int64_t(time), &place, &s.text[0])
	runtime.KeepAlive(s)
	if result < 0 {
		return failure(result, &s.text)
	}
	s.walk.From(int64(place))
	return nil
}

// Close gives back what it holds. The file is the caller's.
func (r *Reader) Close() {
	r.now.Close()
	r.first.Close()
}
