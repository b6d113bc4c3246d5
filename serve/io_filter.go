package serve

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/media/recode"
	"github.com/headrace/headrace/tensor"
	"github.com/headrace/headrace/wire"
)

func init() {
	handleAV(map[string]handler{
		"filter":    {(*task).prepareFilter, -1, (*ioSession).filter},
		"filtering": {(*task).prepareFilter, -1, (*ioSession).openFilter},
	})
}

func (t *task) prepareFilter() error {
	for i := range t.av().Inputs {
		if _, err := t.av().Inputs[i].port(); err != nil {
			return err
		}
	}
	if err := t.prepareWindow(); err != nil {
		return err
	}
	if outFormats[t.av().Pictures].shape == nil {
		return fmt.Errorf("serve: images of the format %q", t.av().Pictures)
	}
	return nil
}

// outFormats are formats that pictures come out in, as arrays.
var outFormats = map[string]outFormat{
	"rgb24": {tensor.Uint8, channels(3)}, "rgba": {tensor.Uint8, channels(4)}, "gray": {tensor.Uint8, channels(1)},
	"rgb48le": {tensor.Uint16, channels(3)}, "rgba64le": {tensor.Uint16, channels(4)}, "gray16le": {tensor.Uint16, channels(1)},

	"nv12": {tensor.Uint8, planes420}, "yuv420p": {tensor.Uint8, planes420}, "yuv422p": {tensor.Uint8, planes422},
	"p016le": {tensor.Uint16, planes420}, "yuv420p16le": {tensor.Uint16, planes420}, "yuv422p16le": {tensor.Uint16, planes422},
	"yuv444p": {tensor.Uint8, planes444}, "yuv444p16le": {tensor.Uint16, planes444},
}

func channels(n int) func(height, width int) tensor.Shape {
	return func(height, width int) tensor.Shape { return tensor.Shape{height, width, n} }
}

type outFormat struct {
	dtype tensor.DType
	shape func(height, width int) tensor.Shape
}

// check refuses frames that are no array. Chroma of an odd width has no place in planes,
// whose rows are as wide as those of luma.
func (f *outFormat) check(p *ffmpeg.Port) error {
	if len(f.shape(p.Height, p.Width)) == 2 && p.Width%2 != 0 {
		return fmt.Errorf("%w: frames of %d×%d pixels as %s, whose chroma has half their columns: the width must be even; "+
			"end the graph with crop=iw-1", media.ErrUnsupported, p.Width, p.Height, p.Format)
	}
	return nil
}

// planes420 are rows of luma, then those of chroma, as decode_video has them.
func planes420(height, width int) tensor.Shape { return tensor.Shape{height + (height+1)/2, width} }

func planes422(height, width int) tensor.Shape { return tensor.Shape{2 * height, width} }

func planes444(height, width int) tensor.Shape { return tensor.Shape{3, height, width} }

// filter has arrays go through a graph.
func (s *ioSession) filter(ctx context.Context) (*result, error) {
	in, err := s.filterInputs(ctx)
	if err != nil {
		return nil, err
	}
	defer in.close()
	results, err := computed(ctx, s, func() ([]recode.Result, error) {
		a := s.task.av()
		return recode.Filter(ctx, a.Graph, in.all, &a.window, a.Pictures, "flt", s.task.most())
	})
	if err != nil {
		return nil, err
	}
	return s.filtered(ctx, results)
}

// filterInputs are the open inputs of a graph.
type filterInputs struct {
	all  []recode.Input
	from []*input
	held budget.Grant
}

func (in *filterInputs) close() {
	for i := range in.all {
		if f := in.all[i].File; f != nil {
			f.Close()
		}
		in.from[i].forget()
	}
	in.held.Release()
}

func (s *ioSession) filterInputs(ctx context.Context) (_ *filterInputs, err error) {
	a := s.task.av()
	if len(a.Inputs) != len(s.message.Inputs) {
		return nil, errors.New("serve: as many inputs are needed as are described")
	}
	if err := s.opensNoFiles(ffmpeg.OfGraph, "", a.Graph); err != nil {
		return nil, err
	}
	size := int64(0)
	for _, in := range s.message.Inputs {
		size += int64(in.Length)
	}
	all := new(filterInputs)
	if all.held, err = s.engine.memory.ask(ctx, 3*size); err != nil {
		return nil, err
	}
	for i := range a.Inputs {
		if err := s.addInput(ctx, all, i); err != nil {
			all.close()
			return nil, err
		}
	}
	return all, nil
}

func (s *ioSession) addInput(ctx context.Context, all *filterInputs, i int) (err error) {
	is, in := &s.task.av().Inputs[i], s.input(i)
	var to recode.Input
	if to.Port, err = is.port(); err != nil {
		return err
	}
	switch {
	case is.File:
		if to.File, err = s.fileOf(ctx, &in); err != nil {
			return err
		}
	case in.path != "":
		return fmt.Errorf("%w: frames in a file", wire.ErrProtocol)
	default:
		if err := in.readArray(); err != nil {
			in.forget()
			return err
		}
		to.Data, to.Each = *in.data, is.Each
	}
	all.all, all.from = append(all.all, to), append(all.from, &in)
	return nil
}

func (s *ioSession) filtered(ctx context.Context, results []recode.Result) (*result, error) {
	size := int64(0)
	for i := range results {
		size += int64(len(results[i].Data) + 8*len(results[i].Times) + 64)
	}
	p, err := s.pack(ctx, size, 2*len(results))
	if err != nil {
		return nil, err
	}
	rates := map[string]any{}
	for i := range results {
		r := &results[i]
		name := r.Label
		if name == "" {
			name = fmt.Sprint(i)
		}
		f := outFormats[s.task.av().Pictures]
		shape := tensor.Shape{r.Count, r.Channels}
		if !r.Audio {
			shape = append(tensor.Shape{r.Count}, f.shape(r.Height, r.Width)...)
			if err := f.check(&r.Port); err != nil {
				p.slot.Drop()
				return nil, err
			}
		}
		copy(p.room(len(r.Data)), r.Data)
		if r.Audio {
			p.add(name, tensor.Float32, shape)
			rates[name] = r.Rate
			continue
		}
		p.add(name, f.dtype, shape)
		s.putTimes(p, r.Times)
	}
	p.About = map[string]any{"rates": rates}
	return p.done()
}
