//go:build cgo

package ffmpeg

// #include <stdlib.h>
// #include "load.h"
import "C"

import (
	"runtime"
	"unsafe"

	"github.com/headrace/headrace/media/av/packets"
)

// Bitstream changes coded packets without decoding them: h264_mp4toannexb and its kind.
// It has to be closed.
type Bitstream struct {
	Out packets.Stream // what comes out

	handle[*C.hr_av_bitstream]
	coded C.hr_av_coded
	text  [C.HR_AV_TEXT]C.char
}

// NewBitstream opens filters, which are described as for FFmpeg: "name", "name=a=1:b=2",
// and several with commas between them.
func NewBitstream(filters string, in *packets.Stream) (*Bitstream, error) {
	lib, err := opened()
	if err != nil {
		return nil, err
	}
	b := &Bitstream{handle: newHandle(lib, func(lib *C.hr_av, b *C.hr_av_bitstream) { C.hr_av_bitstream_close(lib, b) })}
	text := C.CString(filters)
	defer C.free(unsafe.Pointer(text))
	track := trackOf(in)
	var out *C.hr_av_track
	result := C.hr_av_bitstream_open(lib.c, &b.c, &out, text, &track,
		bytesOf(in.Config), C.size_t(len(in.Config)), &b.text[0])
	if result < 0 {
		return nil, describe("bitstream filter "+filters, failure(result, &b.text))
	}
	ownedBy(b, &b.handle)
	b.Out = toldStream(in.Index, out)
	// What filters do not know of a stream stays.
	o := &b.Out
	o.ID, o.Language, o.Default, o.Orientation, o.FrameRate, o.Start, o.Padding = in.ID, in.Language,
		in.Default, in.Orientation, in.FrameRate, in.Start, in.Padding
	if !o.TimeBase.Positive() {
		o.TimeBase = in.TimeBase
	}
	return b, nil
}

// Push gives the filters a packet; nil ends the stream. Pull must have returned ErrNeeds
// before.
func (b *Bitstream) Push(p *packets.Packet) error {
	defer runtime.KeepAlive(b)
	var result C.int
	if p == nil {
		result = C.hr_av_bitstream_push(b.lib, b.c, nil, nil, nil, &b.text[0])
	} else {
		coded := codedOf(p)
		result = C.hr_av_bitstream_push(b.lib, b.c, &coded, bytesOf(p.Data), bytesOf(p.Side), &b.text[0])
	}
	if result < 0 {
		return failure(result, &b.text)
	}
	return nil
}

// Pull takes the next packet. It returns ErrNeeds if there is none yet, and io.EOF after
// the last.
func (b *Bitstream) Pull(p *packets.Packet) error {
	result := C.hr_av_bitstream_pull(b.lib, b.c, &b.coded, &b.text[0])
	runtime.KeepAlive(b)
	return pulled(result, &b.coded, &b.text, p)
}
