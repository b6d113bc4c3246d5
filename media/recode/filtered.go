package recode

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/ffmpeg"
)

// Filtered gives the output of a graph of filters piece by piece. It has to be closed.
type Filtered struct {
	graph *ffmpeg.Graph
	feeds []feed
	ports []ffmpeg.Port
	ended []bool // by input
	over  bool
	rest  []byte // sound, of which so many bytes were handed out
	taken int
	at    int64 // its first sample, counted from the first that came
}

// OpenFiltered begins like [Filter]. The graph must have one output.
func OpenFiltered(ctx context.Context, graph string, inputs []Input, w *Window, pictures string) (*Filtered, error) {
	f := new(Filtered)
	for i := range inputs {
		in, err := feedOf(ctx, &inputs[i], w)
		if err != nil {
			f.Close()
			return nil, err
		}
		f.feeds = append(f.feeds, in)
	}
	for _, in := range f.feeds {
		f.ports = append(f.ports, in.Port())
	}
	f.ended = make([]bool, len(f.feeds))
	var err error
	if f.graph, err = ffmpeg.NewGraph(graph, f.ports, pictures, "flt"); err != nil {
		f.Close()
		return nil, err
	}
	if n := len(f.graph.Outputs); n != 1 {
		f.Close()
		return nil, fmt.Errorf("%w: the graph has %d outputs, and pieces come of one: filter gives them all at once",
			media.ErrUnsupported, n)
	}
	return f, nil
}

// Port returns the form of the output.
func (f *Filtered) Port() *ffmpeg.Port { return &f.graph.Outputs[0] }

// Second returns the time of the next sample, counted from the first.
func (f *Filtered) Second() float64 { return float64(f.at) / float64(f.Port().Rate) }

// pull has the graph make the next frame, and returns its time; io.EOF after the last.
func (f *Filtered) pull(ctx context.Context) (pts int64, err error) {
	for !f.over {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		pts, err := f.graph.Pull(0)
		if err == io.EOF {
			break
		}
		if !errors.Is(err, ffmpeg.ErrNeeds) {
			return pts, err
		}
		i, err := earliest(ctx, f.graph, f.feeds, f.ports, f.ended)
		if err == nil && i >= 0 {
			err = f.feeds[i].push(f.graph, i)
		}
		if err != nil {
			return 0, err
		}
	}
	f.over = true
	return 0, io.EOF
}

// Frames appends frames to memory, as many as times has room for, and returns how many:
// fewer at the end, and none after it.
func (f *Filtered) Frames(ctx context.Context, to []byte, times []float64) (n int, err error) {
	p, each := f.Port(), len(to)/len(times)
	for ; n < len(times); n++ {
		pts, err := f.pull(ctx)
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		if width, height, _ := f.graph.Frame(); width != p.Width || height != p.Height {
			return n, changed(p, width, height)
		}
		if got, err := f.graph.Raw(to[n*each : n*each : (n+1)*each]); err != nil {
			return n, err
		} else if len(got) != each {
			return n, fmt.Errorf("recode: output %s: a frame of %d bytes: must have %d", p.Label, len(got), each)
		}
		times[n] = float64(pts) * p.TimeBase.Float()
	}
	return n, nil
}

func changed(p *ffmpeg.Port, width, height int) error {
	return fmt.Errorf("recode: output %s changes its size from %d×%d to %d×%d", p.Label, p.Width, p.Height, width, height)
}

// Samples returns so many samples of all channels, as bytes of floats: fewer at the end,
// and none after it. They last until the next call.
func (f *Filtered) Samples(ctx context.Context, count int) ([]byte, error) {
	each := 4 * f.Port().Channels
	f.rest = append(f.rest[:0], f.rest[f.taken:]...)
	f.taken = 0
	for len(f.rest) < count*each {
		if _, err := f.pull(ctx); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		var err error
		if f.rest, err = f.graph.Raw(f.rest); err != nil {
			return nil, err
		}
	}
	f.taken = min(count*each, len(f.rest))
	f.at += int64(f.taken / each)
	return f.rest[:f.taken], nil
}

// Close closes the graph and its inputs.
func (f *Filtered) Close() {
	if f.graph != nil {
		f.graph.Close()
	}
	for _, in := range f.feeds {
		in.close()
	}
}
