//go:build cgo

package ffmpeg

// #include <stdlib.h>
// #include "load.h"
import "C"

import (
	"os"
	"runtime"
	"unsafe"

	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/packets"
)

// Writer writes packets into a container. It has to be closed.
type Writer struct {
	HeadersApart bool // encoders must not put their headers into packets

	handle[*C.hr_av_writer]
	file *os.File // kept open
	text [C.HR_AV_TEXT]C.char
}

// FormatOf returns the name of the container that files of a name have; "" if it says
// nothing.
func FormatOf(name string) (string, error) {
	lib, err := opened()
	if err != nil {
		return "", err
	}
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	if format := C.hr_av_writer_format(lib.c, c); format != nil {
		return C.GoString(format), nil
	}
	return "", nil
}

// NewWriter begins a container of a format in an empty file, which can be sought in, and
// stays the caller's.
func NewWriter(file *os.File, format string) (*Writer, error) {
	lib, err := opened()
	if err != nil {
		return nil, err
	}
	w := &Writer{handle: newHandle(lib, func(lib *C.hr_av, w *C.hr_av_writer) { C.hr_av_writer_close(lib, w) }), file: file}
	name := C.CString(format)
	defer C.free(unsafe.Pointer(name))
	var apart C.int32_t
	if result := C.hr_av_writer_open(lib.c, &w.c, C.int(file.Fd()), name, &apart, &w.text[0]); result < 0 {
		return nil, failure(result, &w.text)
	}
	w.HeadersApart = apart != 0
	ownedBy(w, &w.handle)
	return w, nil
}

// Add adds a stream. Packets name it by the order in which streams were added.
func (w *Writer) Add(s *packets.Stream) error {
	track := trackOf(s)
	return w.done(C.hr_av_writer_add(w.lib, w.c, &track, bytesOf(s.Config), C.size_t(len(s.Config)), &w.text[0]))
}

// Like copies a container's tags, chapters and dispositions. It is called after all
// streams were added, which are those of the reader with the given numbers. A window, in
// microseconds of the file, has the chapters in it, whose times begin with it;
// [packets.NoTime]: from the file's beginning, whose times stay; to its end.
func (w *Writer) Like(r *Reader, streams []int, begin, end int64) error {
	defer runtime.KeepAlive(r)
	return w.done(C.hr_av_writer_like(w.lib, w.c, r.first.c, unsafe.SliceData(tracksOf(streams)),
		C.int64_t(begin), C.int64_t(end), &w.text[0]))
}

// Begin writes what is before packets. Options are as in "name=value:name=value".
func (w *Writer) Begin(options string) error {
	text := C.CString(options)
	defer C.free(unsafe.Pointer(text))
	return w.done(C.hr_av_writer_begin(w.lib, w.c, text, &w.text[0]))
}

// Write writes a packet, whose times are in a unit. Those of a stream come in the order
// of decoding.
func (w *Writer) Write(p *packets.Packet, unit av.Rational) error {
	coded, of := codedOf(p), rational(unit)
	return w.done(C.hr_av_writer_write(w.lib, w.c, &coded, &of[0], bytesOf(p.Data), bytesOf(p.Side), &w.text[0]))
}

// Finish writes what comes after packets.
func (w *Writer) Finish() error { return w.done(C.hr_av_writer_finish(w.lib, w.c, &w.text[0])) }

func (w *Writer) done(result C.int) error {
	runtime.KeepAlive(w)
	if result < 0 {
		return failure(result, &w.text)
	}
	return nil
}
