package recode

import (
	"context"
	"errors"
	"io"
	"math/big"
	"os"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/media/video"
)

// FilteredFrames is [Frames] that go through a graph of filters. It has to be closed.
type FilteredFrames struct {
	*Frames
	filter *ffmpeg.Filter
	zero   int64   // 0 of the graph, where the window begins
	begin  float64 // seconds: that of the file
	over   bool    // no more frames enter
	came   video.Frame
	at     float64 // when it is displayed
	has    bool    // it waits to be taken
}

// OpenFilteredFrames begins with a file, which has to stay open.
func OpenFilteredFrames(ctx context.Context, file *os.File, o FramesOptions) (*FilteredFrames, error) {
	steps := o.Steps
	o.Steps = nil // they follow the graph
	frames, err := OpenFrames(file, o)
	if err != nil {
		return nil, err
	}
	f := &FilteredFrames{Frames: frames}
	if err := f.open(ctx, steps); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (f *FilteredFrames) open(ctx context.Context, steps []media.Step) (err error) {
	o, s := &f.options, f.stream
	if f.filter, err = ffmpeg.NewFilter(o.Filter, s.TimeBase, s.FrameRate); err != nil {
		return err
	}
	zero := f.packets.clock.Zero
	if o.Start != nil {
		zero = new(big.Rat).Add(zero, o.Start)
		f.begin, _ = o.Start.Float64()
	}
	f.zero = nearest(zero, s.TimeBase)

	there, err := f.await(ctx)
	if err == nil && !there {
		err = errors.New("recode: input in: the window has no frames")
	}
	if err == nil {
		err = f.filter.Open(f.decoder.Port())
	}
	if err != nil {
		return err
	}
	o.Steps = steps
	return f.shape(f.filter.Out().Width, f.filter.Out().Height)
}

// Next returns what [Frames.Next] does.
func (f *FilteredFrames) Next(ctx context.Context, to []byte, times []float64) (n int, err error) {
	size := int(f.Form().Bytes())
	for ; n < len(times); n++ {
		at, ok, err := f.upcoming(ctx)
		if err != nil || !ok {
			return n, err
		}
		f.has = false
		if err := f.drawFiltered(to[n*size:][:size]); err != nil {
			return n, err
		}
		times[n] = at
	}
	return n, nil
}

// upcoming implements pictures: it has the graph make the next frame.
func (f *FilteredFrames) upcoming(ctx context.Context) (second float64, ok bool, err error) {
	for !f.has {
		if ctx.Err() != nil { // one frame may become any number
			return 0, false, context.Cause(ctx)
		}
		pts, err := f.filter.Next(&f.came)
		switch err {
		case nil:
			base := f.filter.Out().TimeBase
			f.has, f.at = true, f.begin+float64(pts)*float64(base.Num)/float64(base.Den)
		case video.ErrNeeds:
			err = f.push(ctx)
		case io.EOF:
			return 0, false, nil
		}
		if err != nil {
			return 0, false, err
		}
	}
	return f.at, true, nil
}

// push gives the graph the next frame, or says that none follows.
func (f *FilteredFrames) push(ctx context.Context) error {
	there, err := f.await(ctx)
	switch {
	case err != nil:
		return err
	case there:
		f.waits = false
		return f.filter.Push(f.decoder, f.waiting-f.zero)
	case f.over:
		return errors.New("recode: the graph needs more than all frames")
	}
	f.over = true
	return f.filter.End(f.end - f.zero)
}

func (f *FilteredFrames) drawFiltered(to []byte) error {
	if out := f.filter.Out(); f.came.Width != out.Width || f.came.Height != out.Height {
		return changed(out, f.came.Width, f.came.Height)
	}
	if f.planes != nil {
		return f.planes.Draw(to, &f.came)
	}
	return video.Draw(to, f.form.RowBytes(), &f.came.Picture, &f.plan, f.options.Pixels, f.pixels)
}

// Close closes the graph and the decoder.
func (f *FilteredFrames) Close() {
	if f.filter != nil {
		f.filter.Close()
	}
	f.Frames.Close()
}
