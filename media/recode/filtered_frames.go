package recode

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/media/video"
)

// FilteredFrames is [Frames] that go through a graph of filters. It has to be closed.
type FilteredFrames struct {
	Filtered
	frames *Frames
	begin  float64 // seconds: where the window begins, which is 0 of the graph
}

// OpenFilteredFrames begins with a file, which has to stay open. A graph that could open
// a file is refused.
func OpenFilteredFrames(ctx context.Context, file *os.File, o FramesOptions) (*FilteredFrames, error) {
	if err := ffmpeg.OpensNoFiles(ffmpeg.OfGraph, "", o.Filter); err != nil {
		return nil, fmt.Errorf("%w; headrace.io.stream_filter with files=True allows that", err)
	}
	steps := o.Steps
	o.Steps = nil // they follow the graph
	frames, err := OpenFrames(file, o)
	if err != nil {
		return nil, err
	}
	f := &FilteredFrames{frames: frames}
	in := &frameFeed{Frames: frames, port: ffmpeg.Port{Label: "in"}}
	f.feeds = append(f.feeds, in)
	if err := in.open(ctx, &o.Window); err != nil {
		f.Close()
		return nil, err
	}
	if o.Start != nil {
		f.begin, _ = o.Start.Float64()
	}
	if _, err := f.Filtered.open(o.Filter, ""); err != nil {
		return nil, fmt.Errorf("%w: the filter %q must have one output, of video", err, o.Filter)
	}
	frames.options.Steps = steps
	if err := f.planned(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (f *FilteredFrames) planned() error {
	out := f.Port()
	if out.Audio {
		return fmt.Errorf("%w: the filter makes audio of video: stream_filter gives that", media.ErrUnsupported)
	}
	return f.frames.shape(out.Width, out.Height)
}

// Form returns the form of a frame.
func (f *FilteredFrames) Form() media.Form { return f.frames.Form() }

// Size returns what [Frames.Size] does.
func (f *FilteredFrames) Size() (width, height int) { return f.frames.Size() }

// Next returns what [Frames.Next] does.
func (f *FilteredFrames) Next(ctx context.Context, to []byte, times []float64) (n int, err error) {
	port, form := f.Port(), f.Form()
	size := int(form.Bytes())
	for ; n < len(times); n++ {
		pts, err := f.pull(ctx)
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		i, format := f.graph.Image()
		if i.Width != port.Width || i.Height != port.Height {
			return n, changed(port, i.Width, i.Height)
		}
		if i.Kind == 0 {
			return n, fmt.Errorf("%w: the filter %q makes frames of the format %s: end it with format=yuv420p or format=rgb24",
				media.ErrUnsupported, f.frames.options.Filter, format)
		}
		if err := f.draw(to[n*size:][:size], &i, format); err != nil {
			return n, err
		}
		times[n] = f.begin + float64(pts)*port.TimeBase.Float()
	}
	return n, nil
}

func (f *FilteredFrames) draw(to []byte, i *ffmpeg.Image, format string) error {
	if f.frames.planes != nil {
		return f.frames.planes.Draw(to, &video.Frame{Picture: i.Picture, Format: format})
	}
	plan := &f.frames.plan
	return video.Draw(to, plan.Form().RowBytes(), &i.Picture, plan, f.frames.options.Pixels, f.frames.pixels)
}
