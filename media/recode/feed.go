package recode

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"unsafe"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/ffmpeg"
)

// feed is what enters a graph, frame by frame.
type feed interface {
	Port() ffmpeg.Port
	// await tells the time of the next frame, in the port's time base; false: there is
	// none.
	await(ctx context.Context) (at int64, ok bool, err error)
	// until is when the last frame disappears, in the port's time base, or
	// [ffmpeg.Untimed].
	until() int64
	// push gives it to the graph.
	push(g *ffmpeg.Graph, input int) error
	close()
}

// feedOf is that of an input.
func feedOf(ctx context.Context, in *Input, w *Window) (feed, error) {
	if in.File == nil {
		if in.Each <= 0 || len(in.Data)%in.Each != 0 {
			return nil, fmt.Errorf("recode: input %s: %d bytes are not whole frames of %d", in.Label, len(in.Data), in.Each)
		}
		return &arrayFeed{in: in}, nil
	}
	frames, err := OpenFrames(in.File, FramesOptions{Window: *w})
	if errors.Is(err, errNoStream) { // of video
		return soundOf(in, w)
	}
	if err != nil {
		return nil, err
	}
	f := &frameFeed{Frames: frames, port: ffmpeg.Port{Label: in.Label}}
	if err := f.open(ctx, w); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// arrayFeed is frames, or samples, side by side.
type arrayFeed struct {
	in *Input
	at int
}

// Port implements feed.
func (a *arrayFeed) Port() ffmpeg.Port { return a.in.Port }

func (a *arrayFeed) await(context.Context) (int64, bool, error) {
	return int64(a.at), a.at < len(a.in.Data)/a.in.Each, nil
}

func (a *arrayFeed) push(g *ffmpeg.Graph, input int) error {
	n := 1
	if a.in.Audio {
		n = min(len(a.in.Data)/a.in.Each-a.at, pieces)
	}
	err := g.Push(input, &a.in.Port, a.in.Data[a.at*a.in.Each:][:n*a.in.Each], n, int64(a.at))
	a.at += n
	return err
}

func (a *arrayFeed) until() int64 {
	if a.in.Audio {
		return ffmpeg.Untimed
	}
	return int64(a.at)
}

func (a *arrayFeed) close() {}

// frameFeed is the frames of a file, as they are decoded.
type frameFeed struct {
	*Frames
	port ffmpeg.Port
	zero int64 // the time at which the window begins
}

func (f *frameFeed) open(ctx context.Context, w *Window) error {
	zero := f.packets.clock.Zero
	if w.Start != nil {
		zero = new(big.Rat).Add(zero, w.Start)
	}
	f.zero = nearest(zero, f.stream.TimeBase)
	ok, err := f.Frames.await(ctx)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("recode: input %s: the window has no frames", f.port.Label)
	}
	label := f.port.Label
	f.port = f.decoder.Port()
	f.port.Label, f.port.TimeBase, f.port.FrameRate = label, f.stream.TimeBase, f.stream.FrameRate
	return nil
}

// Port implements feed.
func (f *frameFeed) Port() ffmpeg.Port { return f.port }

func (f *frameFeed) await(ctx context.Context) (int64, bool, error) {
	ok, err := f.Frames.await(ctx)
	return f.waiting - f.zero, ok, err
}

// push refuses frames of another size or format: the graph was built for those that the
// first has, and filters write where they believe the frame to be.
func (f *frameFeed) push(g *ffmpeg.Graph, input int) error {
	is, was := f.decoder.Port(), &f.port
	if is.Format != was.Format || is.Width != was.Width || is.Height != was.Height {
		return fmt.Errorf("%w: input %s: the frame at %.3f s is %s of %d×%d pixels, and those before it are %s of %d×%d",
			media.ErrUnsupported,
			was.Label, f.second(f.waiting), is.Format, is.Width, is.Height, was.Format, was.Width, was.Height)
	}
	f.waits = false
	return g.PushFrame(input, f.decoder, f.waiting-f.zero)
}

func (f *frameFeed) until() int64 { return f.end - f.zero }

func (f *frameFeed) close() { f.Close() }

// soundFeed is the samples of a file, as floats.
type soundFeed struct {
	*Samples
	port ffmpeg.Port
	zero int64 // the sample at which the window begins
	room []float32
	n    int // samples in room that were not pushed
}

func soundOf(in *Input, w *Window) (feed, error) {
	s, err := OpenSamples(in.File, SamplesOptions{Window: Window{Start: w.Start, End: w.End}})
	if err != nil {
		return nil, err
	}
	start := 0.0
	if w.Start != nil {
		start, _ = w.Start.Float64()
	}
	rate, channels := s.Rate(), s.Channels()
	return &soundFeed{
		Samples: s, room: make([]float32, pieces*channels), zero: int64(math.Round((start - s.Second()) * float64(rate))),
		port: ffmpeg.Port{Label: in.Label, Format: "flt", Audio: true, Rate: rate, Channels: channels,
			TimeBase: av.Rational{Num: 1, Den: int32(rate)}},
	}, nil
}

// Port implements feed.
func (s *soundFeed) Port() ffmpeg.Port { return s.port }

func (s *soundFeed) await(ctx context.Context) (_ int64, ok bool, err error) {
	at := s.at - int64(s.n) - s.zero
	if s.n == 0 {
		s.n, err = s.Next(ctx, s.room)
	}
	return at, s.n > 0, err
}

func (s *soundFeed) push(g *ffmpeg.Graph, input int) error {
	at, n := s.at-int64(s.n)-s.zero, s.n
	s.n = 0
	samples := s.room[:n*s.port.Channels]
	return g.Push(input, &s.port, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(samples))), 4*len(samples)), n, at)
}

func (s *soundFeed) until() int64 { return ffmpeg.Untimed }

func (s *soundFeed) close() { s.Close() }
