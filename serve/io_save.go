package serve

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/media/recode"
	"github.com/headrace/headrace/tensor"
	"github.com/headrace/headrace/wire"
)

// avArray says what frames or samples are like that the client has in memory.
type avArray struct {
	Label    string `json:"label"`
	Format   string `json:"format"` // FFmpeg's name: rgb24, flt
	Width    int    `json:"width"`
	Height   int    `json:"height"`
	Rate     int    `json:"rate"` // of sound
	Channels int    `json:"channels"`
	Each     int    `json:"each"` // bytes of a frame, or of a sample of all channels
	FPS      [2]int `json:"fps"`
	Aspect   [2]int `json:"aspect"`
	File     bool   `json:"file"` // it is none of these, but a file with video or sound
}

// avSaved is a stream that is made of them.
type avSaved struct {
	avArray
	Codec       string      `json:"codec"`
	BitRate     int64       `json:"bit_rate"`
	GOP         int         `json:"gop"`
	BFrames     int         `json:"b_frames"`
	Quality     float32     `json:"quality"`
	Options     [][2]string `json:"options"`
	Filter      string      `json:"filter"`
	PixelFormat string      `json:"pixel_format"`
}

func (a *avArray) port() (p ffmpeg.Port, err error) {
	p = ffmpeg.Port{Label: a.Label, Format: a.Format, Width: a.Width, Height: a.Height, Rate: a.Rate, Channels: a.Channels, Audio: a.Rate != 0}
	if len(a.Label) > 60 || len(a.Format) > 30 {
		return p, fmt.Errorf("serve: the label %.70q, the format %.40q: must be short names", a.Label, a.Format)
	}
	if a.File { // which says the rest itself
		return ffmpeg.Port{Label: a.Label}, nil
	}
	if p.Audio {
		validRate := p.Rate >= 1 && p.Rate <= 1<<24
		validChannels := p.Channels >= 1 && p.Channels <= 64
		if !validRate || !validChannels || a.Each < 1 {
			return p, fmt.Errorf("serve: sound of %d channels at %d samples a second: must be from 1 to 64 channels", p.Channels, p.Rate)
		}
		p.TimeBase = av.Rational{Num: 1, Den: int32(p.Rate)}
		return p, nil
	}
	if p.Width < 1 || p.Height < 1 || p.Width > media.MaxPixels/p.Height || a.Each < 1 {
		return p, fmt.Errorf("serve: frames of %d×%d pixels", p.Width, p.Height)
	}
	rate, ok := av.Reduce(int64(a.FPS[0]), int64(a.FPS[1]))
	if !ok {
		return p, fmt.Errorf("serve: %d/%d frames a second: must be a number above 0", a.FPS[0], a.FPS[1])
	}
	p.FrameRate, p.TimeBase = rate, rate.Inverse()
	p.Aspect = av.Rational{Num: int32(a.Aspect[0]), Den: int32(a.Aspect[1])}
	return p, nil
}

func (t *task) prepareSave() error {
	if n := len(t.av().Save); n < 1 || n > 64 {
		return fmt.Errorf("serve: %d streams to save: must be from 1 to 64", n)
	}
	for i := range t.av().Save {
		if t.av().Save[i].File {
			return errors.New("serve: a stream to save is made of arrays, not of a file")
		}
		if _, err := t.av().Save[i].port(); err != nil {
			return err
		}
	}
	return nil
}

// saving is a file that is being written.
type saving struct {
	out   *recode.Output
	saver *recode.Saver
	each  []int
}

func (f *saving) close() {
	f.saver.Close()
	f.out.Discard()
}

func (s *ioSession) openSaver(ctx context.Context) (*result, error) {
	s.endStream()
	to, err := s.task.container()
	if err != nil {
		return nil, err
	}
	if err := s.opensNoFiles(ffmpeg.OfContainer, to.Format, to.Options); err != nil {
		return nil, err
	}
	f := new(saving)
	var streams []recode.Saved
	for i := range s.task.av().Save {
		a := &s.task.av().Save[i]
		port, err := a.port()
		if err != nil {
			return nil, err
		}
		if err := s.opensNoFiles(ffmpeg.OfGraph, "", a.Filter); err != nil {
			return nil, err
		}
		if err := s.opensNoFiles(ffmpeg.OfEncoder, a.Codec, options(a.Options)); err != nil {
			return nil, err
		}
		f.each = append(f.each, a.Each)
		streams = append(streams, recode.Saved{
			Encoding: ffmpeg.Encoding{
				From: port, Codec: a.Codec, BitRate: a.BitRate, GOP: a.GOP, BFrames: a.BFrames, Quality: a.Quality, Options: options(a.Options),
			},
			Filter: a.Filter, Format: a.PixelFormat, Tags: tags(a.Options),
		})
	}
	if f.out, err = recode.Create(s.task.av().To); err != nil {
		return nil, err
	}
	if f.saver, err = computed(ctx, s, func() (*recode.Saver, error) { return recode.NewSaver(f.out.File, to, streams) }); err != nil {
		f.out.Discard()
		return nil, err
	}
	s.setStream(f)
	return s.jsonResult(ctx, struct{}{})
}

// tags returns the colours that an encoder's options name.
func tags(options [][2]string) (t recode.Tags) {
	for _, o := range options {
		switch o[0] {
		case "colorspace":
			t.Matrix = o[1]
		case "color_range":
			t.Range = o[1]
		}
	}
	return t
}

// savingStream returns the file that is being written.
func (s *ioSession) savingStream() (*saving, error) {
	f, ok := s.stream.(*saving)
	if !ok {
		return nil, errNone
	}
	return f, nil
}

// writePiece encodes frames or samples in the inbox. After an error the file is removed.
func (s *ioSession) writePiece(ctx context.Context) (*result, error) {
	f, err := s.savingStream()
	if err != nil {
		return nil, err
	}
	if err := s.write(ctx, f); err != nil {
		s.endStream()
		return nil, err
	}
	return s.jsonResult(ctx, struct{}{})
}

func (s *ioSession) write(ctx context.Context, f *saving) error {
	stream := s.task.av().Stream
	if stream < 0 || stream >= len(f.each) {
		return fmt.Errorf("serve: there is no stream %d", stream)
	}
	in := s.input(0)
	if in.path != "" {
		return fmt.Errorf("%w: frames in a file", wire.ErrProtocol)
	}
	grant, err := s.engine.memory.ask(ctx, int64(in.place.Length))
	if err != nil {
		return err
	}
	defer grant.Release()
	defer in.forget()
	if err := in.readArray(); err != nil {
		return err
	}
	return s.compute(ctx, func() error { return f.saver.Write(ctx, stream, *in.data, f.each[stream]) })
}

func (s *ioSession) finishSaver(ctx context.Context) (*result, error) {
	f, err := s.savingStream()
	if err != nil {
		return nil, err
	}
	defer s.endStream()
	if err := s.compute(ctx, f.saver.Finish); err != nil {
		return nil, err
	}
	return s.written(ctx, f.out)
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
