package recode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/store"
)

// Input is what enters a graph: an array of frames, or of samples of all channels; or a
// file, of which the video enters or, where it has none, its sound.
type Input struct {
	ffmpeg.Port // of a file the label
	Data        []byte
	Each        int      // bytes of a frame, or of a sample of all channels
	File        *os.File // nil: it is an array
}

// Result is an array that comes out of a graph.
type Result struct {
	ffmpeg.Port
	Data  []byte
	Count int       // frames, or samples
	Times []float64 // of each frame, in seconds
}

// Filter has arrays and files go through a graph of filters. Pictures come out in one of
// the formats that are named, divided by |, and sound likewise. Results take no more than
// most bytes. The window is that of files, whose times begin with it.
func Filter(ctx context.Context, graph string, inputs []Input, w *Window, pictures, samples string, most int64) ([]Result, error) {
	var feeds []feed
	defer func() {
		for _, f := range feeds {
			f.close()
		}
	}()
	var ports []ffmpeg.Port
	for i := range inputs {
		f, err := feedOf(ctx, &inputs[i], w)
		if err != nil {
			return nil, err
		}
		feeds, ports = append(feeds, f), append(ports, f.Port())
	}
	g, err := ffmpeg.NewGraph(graph, ports, pictures, samples)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	f := &filtering{graph: g, results: make([]Result, len(g.Outputs)), ended: make([]bool, len(g.Outputs)), most: most}
	for i := range g.Outputs {
		f.results[i].Port = g.Outputs[i]
	}

	for ended := make([]bool, len(feeds)); ; {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		i, err := earliest(ctx, g, feeds, ports, ended)
		if err != nil {
			return nil, err
		}
		if i < 0 {
			return f.results, f.pull(ctx)
		}
		if err := feeds[i].push(g, i); err != nil {
			return nil, err
		}
		if err := f.pull(ctx); err != nil {
			return nil, err
		}
	}
}

// earliest is the input whose next frame comes first in time; -1: all are at their end,
// which the graph has been told.
func earliest(ctx context.Context, g *ffmpeg.Graph, feeds []feed, ports []ffmpeg.Port, ended []bool) (int, error) {
	best, first := -1, int64(0)
	for i := range feeds {
		if ended[i] {
			continue
		}
		at, ok, err := feeds[i].await(ctx)
		if err != nil {
			return 0, err
		}
		if !ok {
			ended[i] = true
			if err := g.End(i, feeds[i].until()); err != nil {
				return 0, err
			}
			continue
		}
		if best < 0 || av.Compare(at, ports[i].TimeBase, first, ports[best].TimeBase) < 0 {
			best, first = i, at
		}
	}
	return best, nil
}

type filtering struct {
	graph   *ffmpeg.Graph
	results []Result
	ended   []bool
	size    int64
	most    int64
}

// pull takes what is ready at all outputs.
func (f *filtering) pull(ctx context.Context) error {
	for i := range f.results {
		for !f.ended[i] {
			if ctx.Err() != nil { // one frame may become any number
				return context.Cause(ctx)
			}
			pts, err := f.graph.Pull(i)
			if errors.Is(err, ffmpeg.ErrNeeds) {
				break
			}
			if err == io.EOF {
				f.ended[i] = true
				break
			}
			if err != nil {
				return err
			}
			if err := f.keep(&f.results[i], pts); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *filtering) keep(r *Result, pts int64) (err error) {
	width, height, samples := f.graph.Frame()
	if !r.Audio && (width != r.Width || height != r.Height) {
		return changed(&r.Port, width, height)
	}
	before := len(r.Data)
	if r.Data, err = f.graph.Raw(r.Data); err != nil {
		return err
	}
	if f.size += int64(len(r.Data) - before); f.size > f.most {
		return fmt.Errorf("%w: the graph gives more than %d bytes; raise max_bytes", store.ErrTooLarge, f.most)
	}
	if r.Audio {
		r.Count += samples
		return nil
	}
	r.Count++
	r.Times = append(r.Times, float64(pts)*r.TimeBase.Float())
	return nil
}
