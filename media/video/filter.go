package video

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
)

// Filter is a graph of filters, of one input and one output. One goroutine at a time may
// use it.
type Filter interface {
	// Push gives it the frame that a decoder handed out last, at a time of the stream.
	// All that came out before must be taken.
	Push(d Decoder, pts int64) error
	// End says that no more frames come, and when the last disappears.
	End(pts int64) error
	// Next returns a frame, whose memory is the graph's until the next call. It returns
	// ErrNeeds if there is none yet, and io.EOF after the last.
	Next(f *Frame) (pts int64, err error)
	Close()
}

// filters is a library that has graphs.
type filters interface {
	// Filter makes one for the frames of a stream, which come at this rate on average. It
	// is opened with the first frame. A graph that could open a file is refused.
	Filter(graph string, s *Stream, rate av.Rational) (Filter, error)
	// FilteredSize returns the size of frames after the graph, if those before it are as
	// the container says.
	FilteredSize(graph string, s *Stream, rate av.Rational) (width, height int, err error)
}

func filtersInUse() (filters, error) {
	l, err := inUse()
	if err != nil {
		return nil, err
	}
	if f, ok := l.(filters); ok {
		return f, nil
	}
	return nil, fmt.Errorf("%w: the library that decodes video has no filters", media.ErrUnsupported)
}

// FilteredSize returns the size of frames after a graph of filters, before any is
// decoded.
func (v *Video) FilteredSize(graph string) (width, height int, err error) {
	f, err := filtersInUse()
	if err != nil {
		return 0, 0, err
	}
	return f.FilteredSize(graph, &v.Stream, v.rate())
}

// rate returns the frames per second, on average; 0/0: it is not known.
func (v *Video) rate() av.Rational {
	line := &v.Table.Line
	r, _ := av.Reduce(int64(line.Len())*int64(line.Base.Den), line.End*int64(line.Base.Num))
	return r
}

// Filtered decodes a clip, whose frames go through a graph in the order of display, each
// once, and calls show for each that comes out. The graph's times begin at a second of
// the video.
func (c *Clip) Filtered(ctx context.Context, graph string, begin float64, show func(pts int64, f *Frame) error) error {
	return about(c.filtered(ctx, graph, begin, show))
}

func (c *Clip) filtered(ctx context.Context, graph string, begin float64, show func(pts int64, f *Frame) error) error {
	if err := c.Load(); err != nil {
		return err
	}
	lib, err := filtersInUse()
	if err != nil {
		return err
	}
	f, err := lib.Filter(graph, &c.video.Stream, c.video.rate())
	if err != nil {
		return err
	}
	defer f.Close()

	line, until := &c.video.Table.Line, int64(0)
	zero := line.Tick(begin)
	for i := range c.runs {
		err := c.decodeInOrder(ctx, &c.runs[i], func(n int, decoded *Frame) error {
			if until = line.End - zero; n+1 < line.Len() {
				until = line.Start[n+1] - zero
			}
			if err := f.Push(decoded.from, line.Start[n]-zero); err != nil {
				return err
			}
			return pull(ctx, f, show)
		})
		if err != nil {
			return err
		}
	}
	if err := f.End(until); err != nil {
		return err
	}
	return pull(ctx, f, show)
}

// pull takes the frames that are ready.
func pull(ctx context.Context, f Filter, show func(pts int64, f *Frame) error) error {
	var frame Frame
	for {
		if err := ctx.Err(); err != nil { // one frame may become any number
			return err
		}
		pts, err := f.Next(&frame)
		if err == ErrNeeds || err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := show(pts, &frame); err != nil {
			return err
		}
	}
}

// errOrder says that a frame came before another that is displayed earlier.
var errOrder = errors.New("media/video: the decoder withholds a frame")

// decodeInOrder decodes a run, and shows its frames as they are displayed. If one does
// not come, it begins earlier, as again does, for that and those after it.
func (c *Clip) decodeInOrder(ctx context.Context, r *run, show func(int, *Frame) error) error {
	wanted, next := slices.Sorted(slices.Values(r.Frames)), 0
	ordered := func(n int, f *Frame) error {
		if next > 0 && n <= wanted[next-1] { // this is a further try
			return nil
		}
		if n != wanted[next] {
			return errOrder
		}
		next++
		return show(n, f)
	}
	_, err := c.decode(ctx, r, false, ordered)
	lacks := func() bool { return errors.Is(err, errOrder) || err == nil && next < len(wanted) }
	wider := r.Run
	for step := 1; lacks(); step *= 2 {
		w, can, err2 := c.video.widened(wider, step)
		if err2 != nil {
			return err2
		}
		if !can {
			break
		}
		wider = w
		_, err = c.video.decodeAlone(ctx, wider, ordered)
	}
	if lacks() {
		return c.video.damaged(wanted[next], "the decoder withholds it")
	}
	return err
}
