//go:build cgo

package ffmpeg

// #include <stdlib.h>
// #include "load.h"
import "C"

import (
	"io"
	"runtime"
	"unsafe"

	"github.com/headrace/headrace/media/av"
)

// Graph is filters for frames, described as for FFmpeg's -filter_complex. It has to be
// closed.
type Graph struct {
	Outputs []Port

	handle[*C.hr_av_graph]
	frame C.hr_av_frame
	text  [C.HR_AV_TEXT]C.char
}

// NewGraph opens a graph. Inputs go to open ends of their label, or, where these have
// none, in their order. Frames and samples come out in one of the formats, divided by |;
// "" is any.
func NewGraph(graph string, inputs []Port, pictures, samples string) (*Graph, error) {
	lib, err := opened()
	if err != nil {
		return nil, err
	}
	g := &Graph{handle: newHandle(lib, func(lib *C.hr_av, g *C.hr_av_graph) { C.hr_av_graph_close(lib, g) })}
	ports := make([]C.hr_av_port, len(inputs))
	for i := range inputs {
		ports[i] = inputs[i].c()
	}
	var texts [3]*C.char
	for i, s := range []string{graph, pictures, samples} {
		texts[i] = C.CString(s)
		defer C.free(unsafe.Pointer(texts[i]))
	}
	result := C.hr_av_graph_open(lib.c, &g.c, texts[0], unsafe.SliceData(ports), C.int32_t(len(ports)),
		texts[1], texts[2], &g.text[0])
	if result < 0 {
		return nil, describe("graph "+graph, failure(result, &g.text))
	}
	ownedBy(g, &g.handle)
	for i := range int(C.hr_av_graph_outputs(lib.c, g.c, -1, nil)) {
		var c C.hr_av_port
		C.hr_av_graph_outputs(lib.c, g.c, C.int32_t(i), &c)
		g.Outputs = append(g.Outputs, portOf(&c))
	}
	return g, nil
}

func (p *Port) c() C.hr_av_port {
	c := C.hr_av_port{
		width: C.int32_t(p.Width), height: C.int32_t(p.Height), rate: C.int32_t(p.Rate), channels: C.int32_t(p.Channels),
		layout: C.uint64_t(p.Layout),
		matrix: C.int32_t(p.Matrix), _range: C.int32_t(p.Range), aspect: rational(p.Aspect),
		unit: rational(p.TimeBase), frame_rate: rational(p.FrameRate),
	}
	if p.Audio {
		c.audio = 1
	}
	setText(c.label[:], p.Label)
	setText(c.format[:], p.Format)
	return c
}

func portOf(c *C.hr_av_port) Port {
	r := func(of [2]C.int32_t) av.Rational { return av.Rational{Num: int32(of[0]), Den: int32(of[1])} }
	return Port{
		Label: C.GoString(&c.label[0]), Format: C.GoString(&c.format[0]), Audio: c.audio != 0, Width: int(c.width), Height: int(c.height),
		Aspect: r(c.aspect), TimeBase: r(c.unit), FrameRate: r(c.frame_rate), Rate: int(c.rate),
		Channels: int(c.channels), Layout: uint64(c.layout),
	}
}

// Pieces has sound come out in pieces of so many samples, but for the last.
func (g *Graph) Pieces(output, samples int) {
	C.hr_av_graph_pieces(g.lib, g.c, C.int32_t(output), C.int32_t(samples))
	runtime.KeepAlive(g)
}

// Push gives an input a frame: raw bytes of the port's format, planes one after the other
// and rows without gaps. Samples is how many there are of each channel, of sound.
func (g *Graph) Push(input int, p *Port, raw []byte, samples int, pts int64) error {
	c := C.hr_av_frame{
		width: C.int32_t(p.Width), height: C.int32_t(p.Height), matrix: C.int32_t(p.Matrix),
		_range: C.int32_t(p.Range), aspect: rational(p.Aspect),
		samples: C.int32_t(samples), rate: C.int32_t(p.Rate), channels: C.int32_t(p.Channels), layout: C.uint64_t(p.Layout),
	}
	setText(c.format[:], p.Format)
	return g.done(C.hr_av_graph_push(g.lib, g.c, C.int32_t(input), &c, bytesOf(raw), C.size_t(len(raw)), C.int64_t(pts), &g.text[0]))
}

// Port is what the frame is that was handed out last, but for times.
func (d *Decoder) Port() Port {
	f := &d.frame
	return Port{
		Format: C.GoString(&f.format[0]), Audio: f.channels > 0, Width: int(f.width), Height: int(f.height),
		Aspect: av.Rational{Num: int32(f.aspect[0]), Den: int32(f.aspect[1])}, Rate: int(f.rate),
		Channels: int(f.channels), Layout: uint64(f.layout),
		Matrix: int(f.matrix), Range: int(f._range),
	}
}

// PushFrame gives an input the frame that a decoder handed out last.
func (g *Graph) PushFrame(input int, d *Decoder, pts int64) error {
	defer runtime.KeepAlive(d)
	return g.done(C.hr_av_graph_push(g.lib, g.c, C.int32_t(input), &d.frame, nil, 0, C.int64_t(pts), &g.text[0]))
}

// End says that no more comes for an input, whose last frame disappears at a time;
// [Untimed]: that is not known.
func (g *Graph) End(input int, pts int64) error {
	return g.done(C.hr_av_graph_push(g.lib, g.c, C.int32_t(input), nil, nil, 0, C.int64_t(pts), &g.text[0]))
}

func (g *Graph) done(result C.int) error {
	runtime.KeepAlive(g)
	if result < 0 {
		return failure(result, &g.text)
	}
	return nil
}

// Pull takes the next frame of an output, and returns its time. It returns ErrNeeds if
// there is none yet, and io.EOF after the last.
func (g *Graph) Pull(output int) (pts int64, err error) {
	var at C.int64_t
	result := C.hr_av_graph_pull(g.lib, g.c, C.int32_t(output), &g.frame, &at, &g.text[0])
	switch {
	case result == C.HR_AV_NEEDS:
		return 0, ErrNeeds
	case result == C.HR_AV_END:
		return 0, io.EOF
	}
	return int64(at), g.done(result)
}

// Frame is the size of the frame that was pulled last.
func (g *Graph) Frame() (width, height, samples int) {
	return int(g.frame.width), int(g.frame.height), int(g.frame.samples)
}

// Image returns the frame that was pulled last, whose memory is the graph's until the
// next call, and FFmpeg's name of its format.
func (g *Graph) Image() (i Image, format string) {
	return imageOf(&g.frame), C.GoString(&g.frame.format[0])
}

// Raw copies the frame that was pulled last after b, without gaps.
func (g *Graph) Raw(b []byte) ([]byte, error) {
	n := int(C.hr_av_graph_raw(g.lib, g.c, nil, 0))
	if n < 0 {
		return b, corrupt(io.ErrShortBuffer)
	}
	at := len(b)
	b = append(b, make([]byte, n)...)
	got := int(C.hr_av_graph_raw(g.lib, g.c, bytesOf(b[at:]), C.size_t(n)))
	runtime.KeepAlive(g)
	if got != n {
		return b[:at], corrupt(io.ErrShortWrite)
	}
	return b, nil
}
