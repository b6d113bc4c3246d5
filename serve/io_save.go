package serve

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/media/recode"
	"github.com/headrace/headrace/wire"
)

func (a *avArray) port() (p ffmpeg.Port, err error) {
	p = ffmpeg.Port{Label: a.Label, Format: a.Format, Width: a.Width, Height: a.Height, Rate: a.Rate,
		Channels: a.Channels, Audio: a.Rate != 0}
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

func init() {
	handleAV(map[string]handler{
		"save":   {(*task).prepareSave, -1, (*ioSession).openSaver},
		"write":  {nil, 1, (*ioSession).writePiece},
		"finish": {nil, 0, (*ioSession).finishSaver},
	})
}

func (t *task) prepareSave() error {
	if err := t.prepareWindow(); err != nil {
		return err
	}
	if n := len(t.av().Save); n < 1 || n > 64 {
		return fmt.Errorf("serve: %d streams to save: must be from 1 to 64", n)
	}
	for i := range t.av().Save {
		if t.av().Save[i].File && (i == 0 || i < len(t.av().Save)-1) {
			return errors.New("serve: streams of a file are saved after one that is made of arrays, and last")
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

	beside *os.File // of which streams are copied; nil: there is none
}

func (f *saving) close() {
	if f.saver != nil {
		f.saver.Close()
	}
	if f.out != nil {
		f.out.Discard()
	}
	if f.beside != nil {
		f.beside.Close()
	}
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
	copies := s.task.av().Save[len(s.task.av().Save)-1].File
	if n := len(s.message.Inputs); copies && n != 1 || !copies && n != 0 {
		return nil, fmt.Errorf("%w: %d files to copy streams of", wire.ErrProtocol, n)
	}
	for i := range s.task.av().Save {
		a := &s.task.av().Save[i]
		if a.File {
			continue
		}
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
				From: port, Codec: a.Codec, BitRate: a.BitRate, GOP: a.GOP, BFrames: a.BFrames,
				Quality: a.Quality, Options: options(a.Options),
			},
			Filter: a.Filter, Format: a.PixelFormat, Tags: tags(a.Options), Planes: a.Planes,
		})
	}
	var beside *recode.Beside
	if copies {
		in := s.input(0)
		if f.beside, err = s.fileOf(ctx, &in); err != nil {
			return nil, err
		}
		beside = &recode.Beside{File: f.beside, Window: &s.task.av().window}
	}
	if f.out, err = recode.Create(s.task.av().To); err != nil {
		f.close()
		return nil, err
	}
	f.saver, err = computed(ctx, s, func() (*recode.Saver, error) { return recode.NewSaver(f.out.File, to, streams, beside) })
	if err != nil {
		f.close()
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
		case "color_primaries":
			t.Primaries = o[1]
		case "color_trc":
			t.Transfer = o[1]
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
