//go:build cgo

package ffmpeg

// #include <stdlib.h>
// #include "load.h"
import "C"

import (
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"github.com/headrace/headrace/media/av/packets"
)

// Encoder makes packets of frames. It has one thread, and has to be closed.
type Encoder struct {
	Out     packets.Stream
	Samples int // that a frame of sound must have, but for the last; 0: any number

	handle[*C.hr_av_encoder]
	coded C.hr_av_coded
	text  [C.HR_AV_TEXT]C.char
}

// EncoderTakes tells what an encoder takes.
func EncoderTakes(codec string) (t Takes, err error) {
	lib, err := opened()
	if err != nil {
		return t, err
	}
	name := C.CString(codec)
	defer C.free(unsafe.Pointer(name))
	var audio C.int32_t
	var formats, rates [1024]C.char
	var text [C.HR_AV_TEXT]C.char
	if result := C.hr_av_encoder_takes(lib.c, name, &audio, &formats[0], &rates[0], C.size_t(len(formats)), &text[0]); result < 0 {
		return t, failure(result, &text)
	}
	t = Takes{Audio: audio != 0, Formats: C.GoString(&formats[0])}
	for _, s := range strings.Split(C.GoString(&rates[0]), "|") {
		if n, err := strconv.Atoi(s); err == nil {
			t.Rates = append(t.Rates, n)
		}
	}
	return t, nil
}

// NewEncoder opens an encoder.
func NewEncoder(how Encoding) (*Encoder, error) {
	lib, err := opened()
	if err != nil {
		return nil, err
	}
	c := C.hr_av_encoding{
		from: how.From.c(), bit_rate: C.int64_t(how.BitRate), gop: C.int32_t(how.GOP), b_frames: C.int32_t(how.BFrames),
		quality: C.float(how.Quality),
	}
	if how.HeadersApart {
		c.headers_apart = 1
	}
	e := &Encoder{handle: newHandle(lib, func(lib *C.hr_av, e *C.hr_av_encoder) { C.hr_av_encoder_close(lib, e) })}
	name, options := C.CString(how.Codec), C.CString(how.Options)
	defer C.free(unsafe.Pointer(name))
	defer C.free(unsafe.Pointer(options))
	var out *C.hr_av_track
	var samples C.int32_t
	if result := C.hr_av_encoder_open(lib.c, &e.c, &out, &samples, name, &c, options, &e.text[0]); result < 0 {
		return nil, describe("encoder "+how.Codec, failure(result, &e.text))
	}
	ownedBy(e, &e.handle)
	e.Out, e.Samples = toldStream(0, out), int(samples)
	e.Out.Default = true
	return e, nil
}

// Push gives the encoder the frame that was pulled last from a graph; nil ends the
// stream. All packets from before must have been pulled.
func (e *Encoder) Push(g *Graph, pts int64) error {
	defer runtime.KeepAlive(e)
	var result C.int
	if g == nil {
		result = C.hr_av_encoder_push(e.lib, e.c, nil, 0, &e.text[0])
	} else {
		result = C.hr_av_encoder_push(e.lib, e.c, &g.frame, C.int64_t(pts), &e.text[0])
		runtime.KeepAlive(g)
	}
	if result < 0 {
		return failure(result, &e.text)
	}
	return nil
}

// Pull takes the next packet. It returns ErrNeeds if there is none yet, and io.EOF after
// the last.
func (e *Encoder) Pull(p *packets.Packet) error {
	result := C.hr_av_encoder_pull(e.lib, e.c, &e.coded, &e.text[0])
	runtime.KeepAlive(e)
	return pulled(result, &e.coded, &e.text, p)
}
