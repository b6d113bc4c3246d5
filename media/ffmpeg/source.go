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

	"github.com/headrace/headrace/media/av/joined"
	"github.com/headrace/headrace/media/av/packets"
	"github.com/headrace/headrace/media/av/vorbis"
	"github.com/headrace/headrace/media/av/walk"
	"github.com/headrace/headrace/media/av/whole"
)

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

func (s *source) remember(p *packets.Packet) {
	if s.ends == nil {
		s.ends = map[int]*end{}
	}
	e := s.ends[p.Stream]
	if e == nil {
		e = new(end)
		s.ends[p.Stream] = e
	}
	if e.lastIsKey {
		e.key = e.last
	}
	e.last, e.lastIsKey = p.Data, p.Key
	if p.Key {
		e.key = nil
	}
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

func (s *source) only(streams []int) {
	s.wanted = streams
	tracks := tracksOf(streams)
	C.hr_av_reader_only(s.lib, s.c, unsafe.SliceData(tracks), C.int32_t(len(tracks)))
	runtime.KeepAlive(s)
}

func tracksOf(streams []int) []C.int32_t {
	var all []C.int32_t
	for _, n := range streams {
		all = append(all, C.int32_t(n))
	}
	return all
}
