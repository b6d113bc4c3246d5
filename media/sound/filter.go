package sound

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Graph is a graph of filters, of one input and one output. Samples are those of all
// channels, side by side. One goroutine at a time may use it.
type Graph interface {
	Rate() int // and channels, of the output
	Channels() int
	// Push gives it samples. All that came out before must be taken.
	Push(samples []float32) error
	// End says that no more come.
	End() error
	// Pull appends samples that are ready. It returns [ErrGraphNeeds] if there are none
	// yet, and io.EOF after the last.
	Pull(b []float32) ([]float32, error)
	Close()
}

// ErrGraphNeeds says that a graph has used up its samples.
var ErrGraphNeeds = errors.New("sound: the graph needs samples")

var openGraph func(graph string, in Info) (Graph, error)

// RegisterGraphs registers the function that opens graphs for samples of a rate and
// channels. It must be called before anything is opened.
func RegisterGraphs(open func(graph string, in Info) (Graph, error)) { openGraph = open }

// NewGraph opens a graph. One that could open a file is refused.
func NewGraph(graph string, in Info) (Graph, error) {
	if openGraph == nil {
		return nil, errors.New("sound: this program has no filters: import github.com/headrace/headrace/media/sound/coded")
	}
	return openGraph(graph, in)
}

// graphPiece is the number of samples of each channel that enter a graph at once: always
// the same, as the output of some filters depends on it.
const graphPiece = 1 << 12

// Filtered is sound that goes through a graph, and then gets a rate and channels. It is
// read forwards, and must be closed; that leaves its input open.
type Filtered struct {
	flow   graphFlow
	window *Window
	at     int64
}

// NewFiltered begins with samples as next has them, which returns the number of each
// channel: none after the last. A rate or channels of 0 are those of the graph.
func NewFiltered(graph string, in Info, next func(ctx context.Context, to []float32) (int, error), rate, channels int) (*Filtered, error) {
	g, err := NewGraph(graph, in)
	if err != nil {
		return nil, err
	}
	f := &Filtered{flow: graphFlow{
		graph: g, next: next, room: make([]float32, graphPiece*in.Channels), channels: in.Channels,
		Forward: Forward{Total: Endless},
	}}
	if f.window, err = NewWindow(&f.flow, rate, channels); err != nil {
		g.Close()
		return nil, err
	}
	return f, nil
}

// Rate returns the samples of each channel in a second.
func (f *Filtered) Rate() int { return f.window.Rate() }

// Channels returns the number of channels.
func (f *Filtered) Channels() int { return f.window.Channels() }

// Next returns samples as [Played.Next] does.
func (f *Filtered) Next(ctx context.Context, to []float32) (int, error) {
	f.flow.ctx = ctx
	want := min(int64(len(to)/f.Channels()), f.window.Left(f.flow.Total, f.at))
	if want == 0 {
		return 0, nil
	}
	if err := f.window.Read(to[:want*int64(f.Channels())], f.at); err != nil {
		return 0, err
	}
	want = min(want, f.window.Left(f.flow.Total, f.at)) // the end may have come meanwhile
	f.at += want
	return int(want), nil
}

// mostFiltered bounds what [Filtered.All] takes, in samples of all channels: a graph may
// give more than it gets, without end.
const mostFiltered = 1 << 28

// All returns all samples, but no more than so many of each channel; negative: any
// number.
func (f *Filtered) All(ctx context.Context, most int64) ([]float32, error) {
	channels := int64(f.Channels())
	bounded := most >= 0
	if limit := mostFiltered / channels; !bounded || most > limit {
		most, bounded = limit, false
	}
	var all []float32
	for piece := make([]float32, graphPiece*channels); ; {
		n, err := f.Next(ctx, piece[:min(most-f.at+1, graphPiece)*channels])
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return all, nil
		}
		all = append(all, piece[:int64(n)*channels]...)
		switch {
		case f.at <= most:
		case bounded:
			return all[:most*channels], nil
		default:
			return nil, fmt.Errorf("sound: the filter gives more than %d samples of %d channels: "+
				"set duration, or leave out what repeats", most, channels)
		}
	}
}

// Close closes the graph.
func (f *Filtered) Close() { f.flow.graph.Close() }

// graphFlow is the output of a graph, read forwards. It implements [Stream].
type graphFlow struct {
	Forward
	ctx      context.Context
	graph    Graph
	next     func(ctx context.Context, to []float32) (int, error)
	room     []float32
	channels int // of the input
	ended    bool
}

// Info implements [Stream].
func (g *graphFlow) Info() Info {
	return Info{Rate: g.graph.Rate(), Channels: g.graph.Channels(), Samples: g.Total}
}

// Read implements [Stream].
func (g *graphFlow) Read(to []float32, from int64) error {
	return g.Forward.Read(to, from, g.graph.Channels(), g.more)
}

// Close implements [Stream].
func (g *graphFlow) Close() {}

// more has the graph make more samples, or end.
func (g *graphFlow) more() error {
	if err := g.ctx.Err(); err != nil { // one sample may become any number
		return context.Cause(g.ctx)
	}
	var err error
	if g.Held, err = g.graph.Pull(g.Held); err == io.EOF {
		g.Total = g.Begin + int64(len(g.Held)/g.graph.Channels())
		return nil
	}
	if err == nil || !errors.Is(err, ErrGraphNeeds) {
		return err
	}
	if g.ended {
		return fmt.Errorf("sound: the graph needs more than all samples")
	}

	// Pieces are full but for the last.
	n := 0
	for n < graphPiece {
		k, err := g.next(g.ctx, g.room[n*g.channels:])
		if err != nil {
			return err
		}
		if k == 0 {
			break
		}
		n += k
	}
	if n > 0 {
		if err := g.graph.Push(g.room[:n*g.channels]); err != nil {
			return err
		}
	}
	if g.ended = n < graphPiece; g.ended {
		return g.graph.End()
	}
	return nil
}

// InSamples returns samples that are in memory as a recording.
func InSamples(all []float32, rate, channels int, damaged bool) Stream {
	return &inSamples{all, Info{Rate: rate, Channels: channels, Samples: int64(len(all) / channels)}, damaged}
}

type inSamples struct {
	all     []float32
	info    Info
	damaged bool
}

// Info implements [Stream].
func (s *inSamples) Info() Info { return s.info }

// Read implements [Stream].
func (s *inSamples) Read(to []float32, from int64) error {
	channels := int64(s.info.Channels)
	if from < 0 || from > s.info.Samples-int64(len(to))/channels {
		return fmt.Errorf("sound: %d samples from %d on, of %d", int64(len(to))/channels, from, s.info.Samples)
	}
	copy(to, s.all[from*channels:])
	return nil
}

// Damaged implements [Patched].
func (s *inSamples) Damaged() bool { return s.damaged }

// Close implements [Stream].
func (s *inSamples) Close() {}
