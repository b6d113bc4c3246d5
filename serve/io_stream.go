package serve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"unsafe"

	"headrace/budget"
	"headrace/internal/machine"
	"headrace/internal/ops"
	"headrace/media"
	"headrace/media/recode"
	"headrace/recipe"
	"headrace/store"
	"headrace/tensor"
)

// errNone is for a task that goes on with what was not begun.
var errNone = errors.New("serve: no stream was begun")

// piecewise is media that is decoded piece by piece, from a file that is open meanwhile.
type piecewise[T interface{ Close() }] struct {
	of   T
	file *os.File
	args *recipe.DecodeAudio // of sound
	held budget.Grant        // for a file that is in memory
	most int64               // bytes of the samples of a piece of a video
}

func (p *piecewise[T]) close() {
	p.of.Close()
	p.file.Close()
	p.held.Release()
}

// begin opens media with which later tasks go on.
func begin[T interface{ Close() }](ctx context.Context, s *errands, open func(*os.File) (T, error)) (on T, err error) {
	s.end()
	f, err := s.file(ctx)
	if err != nil {
		return on, err
	}
	var held budget.Grant
	if a := s.what.Audio; a != nil && a.Damaged == "keep" {
		n, err := recode.KeptBytes(f)
		if err == nil && n > 0 {
			held, err = s.images.larder.ask(ctx, n)
		}
		if err != nil {
			f.Close()
			return on, err
		}
	}
	if on, err = called(ctx, s, func() (T, error) { return open(f) }); err != nil {
		f.Close()
		held.Release()
		return on, err
	}
	s.goOn(&piecewise[T]{on, f, s.what.Audio, held, s.what.most()})
	return on, nil
}

func (e *errand) framesOptions() recode.FramesOptions {
	return recode.FramesOptions{Window: e.av().window, Stride: e.av().Stride, Pixels: e.Video.Options(), Steps: e.steps}
}

func (e *errand) samplesOptions() (o recode.SamplesOptions) {
	if e.Audio.Rate != nil {
		o.Rate = *e.Audio.Rate
	}
	if e.Audio.Channels != nil {
		o.Channels = *e.Audio.Channels
	}
	o.Keep = e.Audio.Damaged == "keep"
	return o
}

func (s *errands) openFrames(ctx context.Context) (*result, error) {
	on, err := begin(ctx, s, func(f *os.File) (*recode.Frames, error) { return recode.OpenFrames(f, s.what.framesOptions()) })
	if err != nil {
		return nil, err
	}
	form := on.Form()
	return s.told(ctx, map[string]any{"height": form.Height, "width": form.Width})
}

func (s *errands) openSamples(ctx context.Context) (*result, error) {
	o := s.what.samplesOptions()
	o.Window = s.what.av().window
	on, err := begin(ctx, s, func(f *os.File) (*recode.Samples, error) { return recode.OpenSamples(f, o) })
	if err != nil {
		return nil, err
	}
	return s.told(ctx, map[string]any{"sample_rate": on.Rate(), "channels": on.Channels()})
}

// openMedia opens a video, and what is heard meanwhile.
func (s *errands) openMedia(ctx context.Context) (*result, error) {
	sound := s.what.samplesOptions()
	if stream := s.what.Audio.Stream; stream != nil {
		sound.Streams = []string{fmt.Sprintf("a:%d", *stream)}
	}
	on, err := begin(ctx, s, func(f *os.File) (*recode.Media, error) {
		return recode.OpenMedia(ctx, f, s.what.framesOptions(), sound)
	})
	if err != nil {
		return nil, err
	}
	form := on.Form()
	return s.told(ctx, map[string]any{"height": form.Height, "width": form.Width, "sample_rate": on.Rate(), "channels": on.Channels()})
}

// heard decodes what is heard during the piece that came last.
func (s *errands) heard(ctx context.Context) (*result, error) {
	on, ok := s.standing.(*piecewise[*recode.Media])
	if !ok {
		return nil, errNone
	}
	r, err := s.nextSound(ctx, on)
	if err != nil {
		s.end()
	}
	return r, err
}

func (s *errands) nextSound(ctx context.Context, on *piecewise[*recode.Media]) (*result, error) {
	n, channels := on.of.Samples(), int64(on.of.Channels())
	if n > math.MaxInt32/channels || 4*n*channels > on.most {
		return nil, fmt.Errorf("%w: %d samples of %d channels are heard during these frames; use fewer, or raise max_bytes", store.ErrTooLarge, n, channels)
	}
	p, err := s.pack(ctx, 4*n*channels, 1)
	if err != nil {
		return nil, err
	}
	floats := make([]float32, n*channels)
	if err := s.calling(ctx, func() error { return on.of.Sound(ctx, floats) }); err != nil {
		p.slot.Drop()
		return nil, err
	}
	p.sound(floats, int(channels), on.args)
	return p.done()
}

// nextPiece decodes on. At the end the arrays are empty.
func (s *errands) nextPiece(ctx context.Context) (r *result, err error) {
	switch on := s.standing.(type) {
	case *piecewise[*recode.Frames]:
		r, err = s.nextFrames(ctx, on.of)
	case *piecewise[*recode.Media]:
		r, err = s.nextFrames(ctx, on.of)
	case *piecewise[*recode.Samples]:
		r, err = s.nextSamples(ctx, on)
	default:
		return nil, errNone
	}
	if err != nil {
		s.end()
	}
	return r, err
}

// decoding is frames that come one after the other.
type decoding interface {
	Form() media.Form
	Next(ctx context.Context, to []byte, times []float64) (int, error)
}

func (s *errands) nextFrames(ctx context.Context, on decoding) (*result, error) {
	form, count := on.Form(), s.what.av().Count
	if form.Bytes() > math.MaxInt32*int64(16)/int64(count) {
		return nil, fmt.Errorf("serve: %d frames of %d×%d pixels are too many at once: use fewer", count, form.Width, form.Height)
	}
	p, err := s.pack(ctx, int64(count)*(form.Bytes()+8), 2)
	if err != nil {
		return nil, err
	}
	size := int(form.Bytes())
	times := make([]float64, count)
	n, err := called(ctx, s, func() (int, error) { return on.Next(ctx, p.room(count*size), times) })
	if err != nil {
		p.slot.Drop()
		return nil, err
	}
	p.add("video", form.DType, append(tensor.Shape{n}, form.Shape()...))
	s.putTimes(p, times[:n])
	return p.done()
}

func (s *errands) putTimes(p *packed, times []float64) {
	if n := len(times); n > 0 {
		copy(p.room(8*n), unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(times))), 8*n))
	}
	p.add("seconds", tensor.Float64, tensor.Shape{len(times)})
}

func (s *errands) nextSamples(ctx context.Context, on *piecewise[*recode.Samples]) (*result, error) {
	count, channels := s.what.av().Count, on.of.Channels()
	if count > math.MaxInt32/channels {
		return nil, fmt.Errorf("serve: %d samples of %d channels are too many at once: use fewer", count, channels)
	}
	p, err := s.pack(ctx, 4*int64(count)*int64(channels), 1)
	if err != nil {
		return nil, err
	}
	buffer := files.Take(4 * count * channels)
	defer files.Give(buffer)
	floats := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(*buffer))), count*channels)
	at := on.of.Second()
	n, err := called(ctx, s, func() (int, error) { return on.of.Next(ctx, floats) })
	if err != nil {
		p.slot.Drop()
		return nil, err
	}
	p.sound(floats[:n*channels], channels, on.args)
	p.About = map[string]any{"second": at}
	return p.done()
}

// sound adds samples as arguments ask for them.
func (p *packed) sound(all []float32, channels int, args *recipe.DecodeAudio) {
	a := ops.Arrangement{N: len(all) / channels, Channels: channels, Layout: args.Layout, DType: args.Type().DType}
	a.Write(p.room(a.Bytes()), all)
	p.add("audio", a.DType, a.Shape())
}

// prepareMedia is for video and sound of one window.
func (e *errand) prepareMedia() error {
	if err := e.prepareAudio(); err != nil {
		return err
	}
	return e.prepareFrames()
}

// mediaClip decodes a clip of a video, and the sound that is heard meanwhile: sample n
// belongs to the time of the clip's beginning and n samples, to half a sample.
func (s *errands) mediaClip(ctx context.Context) (*result, error) {
	in := s.input(0)
	defer in.forget()
	f, err := s.file(ctx)
	if err != nil {
		return nil, err
	}
	defer f.Close()

	c, err := computed(ctx, s, &in, func() (*clipOf, error) { return openClipOf(f, in.path, &s.what) })
	if err != nil {
		return nil, err
	}
	defer c.video.Close()
	decoders := c.video.Decoders(s.cores)
	grant, err := s.images.larder.ask(ctx, c.video.WorkingBytes(decoders))
	if err != nil {
		return nil, err
	}
	defer grant.Release()
	if err := machine.Patiently(ctx, c.video.Load); err != nil {
		return nil, err
	}

	var floats []float32
	var rate, channels int
	if err := s.computing(ctx, &in, func() (err error) {
		floats, rate, channels, err = c.sound(ctx, s.what.Audio, s.what.most())
		return err
	}); err != nil {
		return nil, err
	}
	form := c.video.Form()
	p, err := s.pack(ctx, form.Bytes()+int64(4*len(floats)+8*len(c.times)), 3)
	if err != nil {
		return nil, err
	}
	if err := s.fill(ctx, &in, c.video, p.room(int(form.Bytes())), decoders); err != nil {
		p.slot.Drop()
		return nil, err
	}
	p.add("video", form.DType, c.video.Shape())
	p.sound(floats, channels, s.what.Audio)
	s.putTimes(p, c.times)
	p.About = map[string]any{"sample_rate": rate, "start": c.start}
	return p.done()
}
