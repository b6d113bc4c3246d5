//go:build cgo

package ffmpeg

// #cgo noescape hr_av_reader_read
// #cgo nocallback hr_av_reader_read
// #include "load.h"
import "C"

import (
	"io"
	"os"
	"runtime"
	"unsafe"

	"headrace/media/av/packets"
)

// Reader reads the packets of a container one after the other. It holds a packet and the
// container's index, however long the file is. One goroutine at a time may use it, and
// somebody has to close it.
type Reader struct {
	Format  string
	Streams []packets.Stream

	handle[*C.hr_av_reader]
	file  *os.File // kept open
	coded C.hr_av_coded
	text  [C.HR_AV_TEXT]C.char
}

// NewReader opens a container in a file, which has to stay open, and is the caller's.
func NewReader(file *os.File) (*Reader, error) {
	lib, err := opened()
	if err != nil {
		return nil, err
	}
	r := &Reader{handle: newHandle(lib, func(lib *C.hr_av, r *C.hr_av_reader) { C.hr_av_reader_close(lib, r) }), file: file}
	var about *C.hr_av_file
	if result := C.hr_av_reader_open(lib.c, &r.c, &about, C.int(file.Fd()), &r.text[0]); result < 0 {
		return nil, failure(result, &r.text)
	}
	ownedBy(r, &r.handle)
	r.Format = C.GoString(&about.format[0])
	for i, c := range unsafe.Slice(about.track, about.tracks) {
		r.Streams = append(r.Streams, toldStream(i, &c))
	}
	return r, nil
}

// Read reads the next packet of any stream. After the last it returns io.EOF.
func (r *Reader) Read(p *packets.Packet) error {
	result := C.hr_av_reader_read(r.lib, r.c, &r.coded, &r.text[0])
	runtime.KeepAlive(r)
	switch {
	case result == C.HR_AV_END:
		return io.EOF
	case result < 0:
		return failure(result, &r.text)
	}
	tellPacket(&r.coded, p)
	return nil
}

// Only says which streams are wanted. Packets of others need not come, and cost no
// reading where the container can leave them out.
func (r *Reader) Only(streams []int) {
	tracks := tracksOf(streams)
	C.hr_av_reader_only(r.lib, r.c, unsafe.SliceData(tracks), C.int32_t(len(tracks)))
	runtime.KeepAlive(r)
}

func tracksOf(streams []int) []C.int32_t {
	var all []C.int32_t
	for _, n := range streams {
		all = append(all, C.int32_t(n))
	}
	return all
}

// Seek goes to a packet of a stream with which decoding may begin, at a time of the
// stream or before it, as far as the container's index knows.
func (r *Reader) Seek(stream int, time int64) error {
	result := C.hr_av_reader_seek(r.lib, r.c, C.int32_t(stream), C.int64_t(time), &r.text[0])
	runtime.KeepAlive(r)
	if result < 0 {
		return failure(result, &r.text)
	}
	return nil
}
