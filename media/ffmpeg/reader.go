//go:build cgo

package ffmpeg

// #include "load.h"
import "C"

import (
	"os"
	"runtime"

	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/joined"
	"github.com/headrace/headrace/media/av/packets"
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

// begin has clocks begin.
func (r *Reader) begin() {
	r.clocks = clocksOf(r.Format, len(r.Streams), func(i int) *av.Stream { return &r.Streams[i].Stream })
	r.ahead, r.guessed, r.keyed = queue{}, map[int]*decoding{}, map[int]bool{}
}

// Only says which streams are wanted. Packets of others need not come, and cost no
// reading where the container can leave them out.
func (r *Reader) Only(streams []int) {
	r.only = streams
	r.now.only(streams)
}

// Light leaves out checksums that FFmpeg does not look at.
func (r *Reader) Light() {
	r.light = true
	r.now.walk.Light()
}

// Keep leaves out damage, as FFmpeg does.
func (r *Reader) Keep() { r.keeps, r.now.walk = true, nil }

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
