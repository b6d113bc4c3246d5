package recode

import (
	"context"
	"errors"
	"fmt"
	"io"

	"headrace/media/av"
	"headrace/media/ffmpeg"
	"headrace/store"
)

// Input is an array that enters a graph: frames, or samples of all channels.
type Input struct {
	ffmpeg.Port
	Data []byte
	Each int // bytes of a frame, or of a sample of all channels
}

// Result is an array that comes out of a graph.
type Result struct {
	ffmpeg.Port
	Data  []byte
	Count int       // frames, or samples
	Times []float64 // of each frame, in seconds
}

// Filter has arrays go through a graph of filters. Pictures come out in one of the
// formats that are named, divided by |, and sound likewise. Results take no more than
// most bytes.
func Filter(ctx context.Context, graph string, inputs []Input, pictures, samples string, most int64) ([]Result, error) {
	ports := make([]ffmpeg.Port, len(inputs))
	for i := range inputs {
		ports[i] = inputs[i].Port
		if inputs[i].Each <= 0 || len(inputs[i].Data)%inputs[i].Each != 0 {
			return nil, fmt.Errorf("recode: input %s: %d bytes are no whole frames of %d", ports[i].Label, len(inputs[i].Data), inputs[i].Each)
		}
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

	at := make([]int, len(inputs)) // frames or samples that were pushed
	for {
		i := earliest(inputs, at)
		if i < 0 {
			break
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := f.push(i, &inputs[i], at); err != nil {
			return nil, err
		}
		if err := f.pull(); err != nil {
			return nil, err
		}
	}
	return f.results, f.pull()
}

// earliest is the input whose next frame comes first in time; -1: all are at their end.
func earliest(inputs []Input, at []int) int {
	best := -1
	for i := range inputs {
		in := &inputs[i]
		if at[i] < 0 {
			continue
		}
		if best < 0 || av.Compare(int64(at[i]), in.TimeBase, int64(at[best]), inputs[best].TimeBase) < 0 {
			best = i
		}
	}
	return best
}

type filtering struct {
	graph   *ffmpeg.Graph
	results []Result
	ended   []bool
	size    int64
	most    int64
}

func (f *filtering) push(i int, in *Input, at []int) error {
	left := len(in.Data)/in.Each - at[i]
	if left == 0 {
		at[i] = -1
		return f.graph.End(i)
	}
	n := 1
	if in.Audio {
		n = min(left, pieces)
	}
	err := f.graph.Push(i, &in.Port, in.Data[at[i]*in.Each:][:n*in.Each], n, int64(at[i]))
	at[i] += n
	return err
}

// pull takes what is ready at all outputs.
func (f *filtering) pull() error {
	for i := range f.results {
		for !f.ended[i] {
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
		return fmt.Errorf("recode: output %s changes its size from %d×%d to %d×%d", r.Label, r.Width, r.Height, width, height)
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
