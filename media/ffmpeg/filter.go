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

// filter is a graph for the frames of a decoder. It is opened with the first.
type filter struct {
	text  string
	port  Port // of the first frame
	graph *Graph
}

// Filter implements the filters of package video.
func (videoLibrary) Filter(graph string, s *video.Stream, rate av.Rational) (video.Filter, error) {
	if err := OpensNoFiles(OfGraph, "", graph); err != nil {
		return nil, fmt.Errorf("%w; headrace.io.filter with files=True allows that", err)
	}
	return &filter{text: graph, port: Port{Label: "in", TimeBase: s.TimeBase, FrameRate: rate}}, nil
}

// FilteredSize opens a graph for frames of 4:2:0, which most are.
func (l videoLibrary) FilteredSize(graph string, s *video.Stream, rate av.Rational) (width, height int, err error) {
	made, err := l.Filter(graph, s, rate)
	if err != nil {
		return 0, 0, err
	}
	f := made.(*filter)
	f.port.Format, f.port.Width, f.port.Height, f.port.Aspect = "yuv420p", s.Width, s.Height, s.Aspect
	if s.Depth > 8 {
		f.port.Format = "yuv420p10le"
	}
	if err := f.open(); err != nil {
		return 0, 0, err
	}
	defer f.Close()
	out := &f.graph.Outputs[0]
	return out.Width, out.Height, nil
}

func (f *filter) open() (err error) {
	if f.graph, err = NewGraph(f.text, []Port{f.port}, "", ""); err != nil {
		if !errors.Is(err, media.ErrCorrupt) {
			return err
		}
		_, why, _ := strings.Cut(err.Error(), "FFmpeg: ") // which is not about the file
		return fmt.Errorf("%w: the filter %q: %s", media.ErrUnsupported, f.text, why)
	}
	if out := f.graph.Outputs; len(out) != 1 || out[0].Audio {
		f.Close()
		return fmt.Errorf("%w: the filter %q must have one output, of video, and has %d: "+
			"headrace.io.filter gives any", media.ErrUnsupported, f.text, len(out))
	}
	return nil
}

// Push implements [video.Filter]. Frames of another size or format are refused: filters
// write where they believe the frame to be.
func (f *filter) Push(from video.Decoder, pts int64) error {
	d := from.(*videoDecoder).Decoder
	is := d.Port()
	if f.graph == nil {
		is.Label, is.TimeBase, is.FrameRate = f.port.Label, f.port.TimeBase, f.port.FrameRate
		f.port = is
		if err := f.open(); err != nil {
			return err
		}
	}
	if was := &f.port; is.Format != was.Format || is.Width != was.Width || is.Height != was.Height {
		return fmt.Errorf("%w: a frame is %s of %d×%d pixels, and those before it are %s of %d×%d: filters need frames of one kind",
			media.ErrUnsupported, is.Format, is.Width, is.Height, was.Format, was.Width, was.Height)
	}
	return f.graph.PushFrame(0, d, pts)
}

// End implements [video.Filter].
func (f *filter) End(pts int64) error {
	if f.graph == nil {
		return nil
	}
	return f.graph.End(0, pts)
}

// Next implements [video.Filter].
func (f *filter) Next(to *video.Frame) (pts int64, err error) {
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
func (f *filter) Close() {
	if f.graph != nil {
		f.graph.Close()
	}
}
