package serve

import (
	"context"
	"fmt"
	"math"

	"github.com/headrace/headrace/media/recode"
	"github.com/headrace/headrace/tensor"
)

// piecewiseFilter is a graph that is asked for its result piece by piece.
type piecewiseFilter struct {
	of   *recode.Filtered
	in   *filterInputs
	form outFormat
}

func (p *piecewiseFilter) close() {
	p.of.Close()
	p.in.close()
}

// openFilter opens a graph and its inputs as the session's stream.
func (s *ioSession) openFilter(ctx context.Context) (*result, error) {
	s.endStream()
	in, err := s.filterInputs(ctx)
	if err != nil {
		return nil, err
	}
	a := s.task.av()
	of, err := computed(ctx, s, func() (*recode.Filtered, error) {
		return recode.OpenFiltered(ctx, a.Graph, in.all, &a.window, a.Pictures)
	})
	if err != nil {
		in.close()
		return nil, err
	}
	on := &piecewiseFilter{of: of, in: in, form: outFormats[a.Pictures]}
	p := of.Port()
	if !p.Audio {
		if err := on.form.check(p); err != nil {
			on.close()
			return nil, err
		}
	}
	s.setStream(on)
	return s.jsonResult(ctx, map[string]any{
		"audio": p.Audio, "height": p.Height, "width": p.Width, "sample_rate": p.Rate, "channels": p.Channels,
	})
}

// next makes the next piece. At the end its arrays are empty.
func (p *piecewiseFilter) next(ctx context.Context, s *ioSession) (*result, error) {
	port := p.of.Port()
	if port.Audio {
		return s.nextFilteredSamples(ctx, p.of)
	}
	return s.nextFrames(ctx, pieces{p.form.dtype, p.form.shape(port.Height, port.Width), port.Width, port.Height, p.of.Frames})
}

func (s *ioSession) nextFilteredSamples(ctx context.Context, on *recode.Filtered) (*result, error) {
	count, channels := s.task.av().Count, on.Port().Channels
	if count > math.MaxInt32/channels/4 {
		return nil, fmt.Errorf("serve: %d samples of %d channels are too many at once: use fewer", count, channels)
	}
	at := on.Second()
	data, err := computed(ctx, s, func() ([]byte, error) { return on.Samples(ctx, count) })
	if err != nil {
		return nil, err
	}
	p, err := s.pack(ctx, int64(len(data)), 1)
	if err != nil {
		return nil, err
	}
	copy(p.room(len(data)), data)
	p.add("audio", tensor.Float32, tensor.Shape{len(data) / (4 * channels), channels})
	p.About = map[string]any{"second": at}
	return p.done()
}
