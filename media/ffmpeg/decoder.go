//go:build cgo

package ffmpeg

// #cgo noescape hr_av_open
// #cgo nocallback hr_av_open
// #cgo noescape hr_av_feed
// #cgo nocallback hr_av_feed
// #cgo noescape hr_av_next
// #cgo nocallback hr_av_next
// #include <stdlib.h>
// #include "load.h"
import "C"

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/yuv"
)

// Decoder decodes the packets of one stream, in the order in which the container has
// them. One goroutine at a time may use it. It holds memory that is not Go's, so it has
// to be closed; one that is forgotten is closed by the garbage collector.
type Decoder struct {
	handle[*C.hr_av_decoder]

	packets []C.hr_av_packet
	frame   C.hr_av_frame
	format  string // of the last frame
	text    [C.HR_AV_TEXT]C.char
}

// NewDecoder opens FFmpeg, the first time, and a decoder for a stream.
func NewDecoder(s Stream) (*Decoder, error) {
	lib, err := opened()
	if err != nil {
		return nil, err
	}
	d := &Decoder{handle: newHandle(lib, func(lib *C.hr_av, d *C.hr_av_decoder) { C.hr_av_close(lib, d) })}
	var names [3]*C.char
	for i, text := range []string{s.Codec, s.Decoder, s.Options} {
		names[i] = C.CString(text)
		defer C.free(unsafe.Pointer(names[i]))
	}
	about := s.c()
	result := C.hr_av_open(lib.c, &d.c, &names[0], &about, (*C.uint8_t)(unsafe.SliceData(s.Config)), C.size_t(len(s.Config)), &d.text[0])
	if result < 0 {
		return nil, d.error(result)
	}
	ownedBy(d, &d.handle)
	return d, nil
}

func (s *Stream) c() C.hr_av_stream {
	c := C.hr_av_stream{
		tag: C.uint32_t(s.Tag), width: C.int32_t(s.Width), height: C.int32_t(s.Height), reorder: C.int32_t(s.Reorder),
		matrix: C.int32_t(s.Matrix), primaries: C.int32_t(s.Primaries), transfer: C.int32_t(s.Transfer),
		rate: C.int32_t(s.Rate), channels: C.int32_t(s.Channels), block: C.int32_t(s.Block),
		bits: C.int32_t(s.Bits), bit_rate: C.int64_t(s.BitRate),
		siting: C.int32_t(s.Siting), max_pixels: media.MaxPixels,
	}
	if s.Audio {
		c.audio = 1
	}
	if s.FullRange {
		c._range = C.HR_AV_FULL
	}
	return c
}

// Feed takes the next packets of a stream, which are copied. Last says that no more will
// come, so that the frames which are still held back come out. All packets from before
// must be used up: Next has returned ErrNeeds.
func (d *Decoder) Feed(data []byte, packets []Packet, last bool) error {
	d.packets = d.packets[:0]
	for _, p := range packets {
		c := C.hr_av_packet{offset: C.uint64_t(p.Offset), size: C.uint64_t(p.Size)}
		if p.Unwanted {
			c.flags |= C.HR_AV_UNWANTED
		}
		if p.Key {
			c.flags |= C.HR_AV_KEY
		}
		d.packets = append(d.packets, c)
	}
	end := C.int32_t(0)
	if last {
		end = 1
	}
	result := C.hr_av_feed(d.lib, d.c, (*C.uint8_t)(unsafe.SliceData(data)), C.size_t(len(data)),
		unsafe.SliceData(d.packets), C.int32_t(len(packets)), end, &d.text[0])
	runtime.KeepAlive(d)
	if result < 0 {
		return d.error(result)
	}
	return nil
}

// Next decodes until a frame comes that is wanted. It returns ErrNeeds when all packets
// are used up, and io.EOF after the last frame. A packet that FFmpeg refuses is a
// *PacketError; the next call goes on after it.
func (d *Decoder) Next(f *Frame) error {
	var packet C.int64_t
	result := C.hr_av_next(d.lib, d.c, &d.frame, &packet, &d.text[0])
	runtime.KeepAlive(d)
	switch {
	case result == C.HR_AV_NEEDS:
		return ErrNeeds
	case result == C.HR_AV_END:
		return io.EOF
	case result < 0:
		return &PacketError{Packet: int(packet), Err: d.error(result)}
	}
	d.tell(f)
	return nil
}

// Reset forgets all packets and frames, so that the decoder may begin with another key
// frame. Packets are counted from 0 again.
func (d *Decoder) Reset() {
	C.hr_av_flush(d.lib, d.c)
	runtime.KeepAlive(d)
}

func (d *Decoder) error(result C.int) error { return failure(result, &d.text) }

// failure is the error of a call, with FFmpeg's words.
func failure(result C.int, text *[C.HR_AV_TEXT]C.char) error {
	kind := media.ErrCorrupt
	if result <= C.HR_AV_SYSTEM {
		return fmt.Errorf("media/ffmpeg: %w", syscall.Errno(C.HR_AV_SYSTEM-result))
	}
	switch result {
	case C.HR_AV_UNSUPPORTED:
		kind = media.ErrUnsupported
	case C.HR_AV_CUT:
		kind = media.ErrTruncated
	case C.HR_AV_MEMORY:
		return media.ErrMemory
	case C.HR_AV_MISUSE:
		return fmt.Errorf("media/ffmpeg: %s", C.GoString(&text[0]))
	}
	said := C.GoString(&text[0])
	if strings.Contains(said, "Format not on whitelist") { // images, and lists of files
		return fmt.Errorf("%w: the file is neither a video nor a recording; load_image and decode_image read images, "+
			"nothing reads playlists", media.ErrUnsupported)
	}
	return fmt.Errorf("%w: FFmpeg: %s", kind, said)
}

func (d *Decoder) tell(f *Frame) {
	c := &d.frame
	has := func(flag C.int32_t) bool { return c.flags&flag != 0 }
	*f = Frame{
		Packet: int(c.packet), Format: d.formatName(), Key: has(C.HR_AV_IS_KEY), Corrupt: has(C.HR_AV_IS_CORRUPT),
		Sound: Sound{Planes: f.Sound.Planes[:0]},
	}
	if c.channels > 0 {
		d.tellSound(&f.Sound)
		return
	}
	f.Image = imageOf(c)
}

func imageOf(c *C.hr_av_frame) Image {
	i := Image{
		Primaries: int(c.primaries), Transfer: int(c.transfer), Aspect: [2]int{int(c.aspect[0]), int(c.aspect[1])},
		Interlaced: c.flags&C.HR_AV_IS_INTERLACED != 0, Top: c.flags&C.HR_AV_IS_TOP_FIRST != 0,
	}
	tellPicture(c, &i)
	return i
}

// formatName makes a string only when the format has changed.
func (d *Decoder) formatName() string {
	name := unsafe.Slice((*byte)(unsafe.Pointer(&d.frame.format[0])), len(d.frame.format))
	name = name[:bytes.IndexByte(name, 0)]
	if string(name) != d.format {
		d.format = string(name)
	}
	return d.format
}

func (d *Decoder) tellSound(s *Sound) {
	c := &d.frame
	*s = Sound{Rate: int(c.rate), Channels: int(c.channels), Samples: int(c.samples), Layout: uint64(c.layout),
		Type: Sample(c.sample), Planes: s.Planes}
	if c.kind != C.HR_AV_SOUND {
		return
	}
	planes, each := 1, s.Channels
	if c.flags&C.HR_AV_IS_PLANAR != 0 {
		planes, each = s.Channels, 1
	}
	for _, p := range unsafe.Slice(c.channel, planes) {
		s.Planes = append(s.Planes, unsafe.Slice((*byte)(p), s.Samples*each*s.Type.Bytes()))
	}
}

func tellPicture(c *C.hr_av_frame, to *Image) {
	p := &to.Picture
	p.Width, p.Height, p.Bits = int(c.width), int(c.height), int(c.component[0].depth)
	p.ChromaX, p.ChromaY = int(c.chroma_x), int(c.chroma_y)
	p.Siting = sitings[c.siting&7]
	p.Matrix = yuv.Matrix(c.matrix)
	to.Ranged = c._range != 0
	p.Full = c._range == C.HR_AV_FULL || c._range == 0 && c.kind != C.HR_AV_YUV
	if to.Untagged = c.matrix == 2; to.Untagged {
		p.Matrix = yuv.BT601
	}

	count := 3
	switch c.kind {
	case C.HR_AV_GRAY:
		p.Kind, count = yuv.Gray, 1
	case C.HR_AV_YUV:
		p.Kind = yuv.YUV
	case C.HR_AV_RGB:
		p.Kind, p.ChromaX, p.ChromaY = yuv.RGB, 0, 0
	default:
		return
	}
	for i := range count {
		width, height := p.PartSize(i)
		p.Parts[i] = partOf(c, i, width, height)
	}
	// Alpha comes after the colours: fourth, or second of gray.
	if alpha := count | 1; c.component[alpha].depth == c.component[0].depth {
		p.Alpha = partOf(c, alpha, p.Width, p.Height)
	}
}

// partOf returns a component with a slice of its memory: from its first byte in the row
// that comes first in memory to its last byte in the one that comes last.
func partOf(f *C.hr_av_frame, i, width, height int) yuv.Part {
	c := f.component[i]
	part := yuv.Part{Step: int(c.step), Shift: int(c.shift), Stride: int(f.stride[c.plane])}
	first := unsafe.Add(unsafe.Pointer(f.plane[c.plane]), c.offset)
	length := (width-1)*part.Step + 1
	if c.shift+c.depth > 8 {
		length++
	}
	if part.Stride < 0 { // the rows are upside down
		part.First = (height - 1) * -part.Stride
		first = unsafe.Add(first, -part.First)
		length += part.First
	} else {
		length += (height - 1) * part.Stride
	}
	part.Data = unsafe.Slice((*byte)(first), length)
	return part
}

// sitings are those of chroma by FFmpeg's numbers, which are H.273's and 1; without one
// it is MPEG's. For the rare ones the nearest is taken.
var sitings = [8]yuv.Siting{0: yuv.Left, 1: yuv.Left, 2: yuv.Centre, 3: yuv.TopLeft, 4: yuv.Centre, 5: yuv.Left, 6: yuv.Centre}

func corrupt(err error) error { return fmt.Errorf("%w: %w", media.ErrCorrupt, err) }

// describe says what an error is about.
func describe(what string, err error) error { return fmt.Errorf("%s: %w", what, err) }
