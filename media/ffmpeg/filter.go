//go:build cgo

package ffmpeg

import (
	"errors"
	"fmt"
	"strings"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/video"
)

// Filter is a graph for the frames of one decoder, which makes frames that become images.
// It is opened with the first. It has to be closed.
type Filter struct {
	text  string
	port  Port // of the first frame
	graph *Graph
}

// NewFilter makes a filter for frames whose times are in a time base, and that come at a
// rate on average. A graph that could open a file is refused.
func NewFilter(graph string, base, rate av.Rational) (*Filter, error) {
	if err := OpensNoFiles(OfGraph, "", graph); err != nil {
		return nil, fmt.Errorf("%w; headrace.io.filter and stream_filter with files=True allow that", err)
	}
	return &Filter{text: graph, port: Port{Label: "in", TimeBase: base, FrameRate: rate}}, nil
}

// Open opens the graph for frames like one of a decoder.
func (f *Filter) Open(like Port) (err error) {
	like.Label, like.TimeBase, like.FrameRate = f.port.Label, f.port.TimeBase, f.port.FrameRate
	f.port = like
	if f.graph, err = NewGraph(f.text, []Port{f.port}, "", ""); err != nil {
		if !errors.Is(err, media.ErrCorrupt) {
			return err
		}
		_, why, _ := strings.Cut(err.Error(), "FFmpeg: ") // which is not about the file
		return fmt.Errorf("%w: the filter %q: %s", media.ErrUnsupported, f.text, why)
	}
	if out := f.graph.Outputs; len(out) != 1 || out[0].Audio {
		f.Close()
		return fmt.Errorf("%w: the filter %q must have one output, of video, and has %s: "+
			"headrace.io.filter and stream_filter give any", media.ErrUnsupported, f.text, called(out))
	}
	return nil
}

func called(outputs []Port) string {
	if len(outputs) == 1 {
		return "one of audio"
	}
	return fmt.Sprint(len(outputs))
}

// Out returns the output, of a graph that is open.
func (f *Filter) Out() *Port { return &f.graph.Outputs[0] }

// Push gives the graph the frame that a decoder handed out last, as [video.Filter] does.
// Frames of another size or format are refused: filters write where they believe the
// frame to be.
func (f *Filter) Push(from *Decoder, pts int64) error {
	is := from.Port()
	if f.graph == nil {
		if err := f.Open(is); err != nil {
			return err
		}
	}
	if was := &f.port; is.Format != was.Format || is.Width != was.Width || is.Height != was.Height {
		return fmt.Errorf("%w: a frame is %s of %d×%d pixels, and those before it are %s of %d×%d: filters need frames of one kind",
			media.ErrUnsupported, is.Format, is.Width, is.Height, was.Format, was.Width, was.Height)
	}
	return f.graph.PushFrame(0, from, pts)
}

// End implements [video.Filter].
func (f *Filter) End(pts int64) error {
	if f.graph == nil {
		return nil
	}
	return f.graph.End(0, pts)
}

// Next implements [video.Filter].
func (f *Filter) Next(to *video.Frame) (pts int64, err error) {
	if f.graph == nil {
		return 0, video.ErrNeeds
	}
	pts, err = f.graph.Pull(0)
	if errors.Is(err, ErrNeeds) {
		return 0, video.ErrNeeds
	}
	if err != nil {
		return 0, err
	}
	i, format := f.graph.Image()
	if i.Kind == 0 {
		return 0, fmt.Errorf("%w: the filter %q makes frames of the format %s: end it with format=yuv420p or format=rgb24",
			media.ErrUnsupported, f.text, format)
	}
	*to = video.Frame{
		Picture: i.Picture, Packet: -1, Format: format, Untagged: i.Untagged, Interlaced: i.Interlaced,
		Ranged: i.Ranged, Primaries: uint8(i.Primaries), Transfer: uint8(i.Transfer),
	}
	return pts, nil
}

// Close implements [video.Filter].
func (f *Filter) Close() {
	if f.graph != nil {
		f.graph.Close()
	}
}

// videoFilter is a Filter for the decoders of package video.
type videoFilter struct{ *Filter }

// Push implements [video.Filter].
func (f videoFilter) Push(from video.Decoder, pts int64) error {
	return f.Filter.Push(from.(*videoDecoder).Decoder, pts)
}

// Filter implements the filters of package video.
func (videoLibrary) Filter(graph string, s *video.Stream, rate av.Rational) (video.Filter, error) {
	f, err := NewFilter(graph, s.TimeBase, rate)
	return videoFilter{f}, err
}

// FilteredSize opens a graph for frames of 4:2:0, which most are.
func (videoLibrary) FilteredSize(graph string, s *video.Stream, rate av.Rational) (width, height int, err error) {
	f, err := NewFilter(graph, s.TimeBase, rate)
	if err != nil {
		return 0, 0, err
	}
	like := Port{Format: "yuv420p", Width: s.Width, Height: s.Height, Aspect: s.Aspect}
	if s.Depth > 8 {
		like.Format = "yuv420p10le"
	}
	if err := f.Open(like); err != nil {
		return 0, 0, err
	}
	defer f.Close()
	return f.Out().Width, f.Out().Height, nil
}
