package serve

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/media/recode"
	"github.com/headrace/headrace/tensor"
	"github.com/headrace/headrace/wire"
)

func init() {
	handleAV(map[string]handler{"filter": {(*task).prepareFilter, -1, (*ioSession).filter}})
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
	if outFormats[t.av().Pictures].channels == 0 {
		return fmt.Errorf("serve: images of the format %q", t.av().Pictures)
	}
	return nil
}

// outFormats are formats that pictures come out in, as arrays.
var outFormats = map[string]struct {
	dtype    tensor.DType
	channels int
}{
	"rgb24": {tensor.Uint8, 3}, "rgba": {tensor.Uint8, 4}, "gray": {tensor.Uint8, 1},
	"rgb48le": {tensor.Uint16, 3}, "rgba64le": {tensor.Uint16, 4}, "gray16le": {tensor.Uint16, 1},
}

// filter has arrays go through a graph.
func (s *ioSession) filter(ctx context.Context) (*result, error) {
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
	grant, err := s.engine.memory.ask(ctx, 3*size)
	if err != nil {
		return nil, err
	}
	defer grant.Release()

	inputs := make([]recode.Input, len(a.Inputs))
	for i := range inputs {
		in := s.input(i)
		if inputs[i].Port, err = a.Inputs[i].port(); err != nil {
			return nil, err
		}
		if a.Inputs[i].File {
			f, err := s.fileOf(ctx, &in)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			inputs[i].File = f
			continue
		}
		if in.path != "" {
			return nil, fmt.Errorf("%w: frames in a file", wire.ErrProtocol)
		}
		defer in.forget()
		if err := in.readArray(); err != nil {
			return nil, err
		}
		inputs[i].Data, inputs[i].Each = *in.data, a.Inputs[i].Each
	}
	results, err := computed(ctx, s, func() ([]recode.Result, error) {
		return recode.Filter(ctx, a.Graph, inputs, &a.window, a.Pictures, "flt", s.task.most())
	})
	if err != nil {
		return nil, err
	}
	return s.filtered(ctx, results)
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
		copy(p.room(len(r.Data)), r.Data)
		if r.Audio {
			p.add(name, tensor.Float32, tensor.Shape{r.Count, r.Channels})
			rates[name] = r.Rate
			continue
		}
		f := outFormats[s.task.av().Pictures]
		p.add(name, f.dtype, tensor.Shape{r.Count, r.Height, r.Width, f.channels})
		s.putTimes(p, r.Times)
	}
	p.About = map[string]any{"rates": rates}
	return p.done()
}
