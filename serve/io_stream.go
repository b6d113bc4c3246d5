package serve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"unsafe"

	"headrace/internal/machine"
	"headrace/internal/ops"
	"headrace/media"
	"headrace/media/recode"
	"headrace/recipe"
	"headrace/store"
	"headrace/tensor"
)

// errNone is for a task that goes on with what was not begun.
var errNone = errors.New("serve: nothing was begun that could go on")

// A frameStream is a video that is decoded piece by piece.
type frameStream struct {
	file *os.File
	*recode.Frames
}

func (f *frameStream) close() {
	f.Frames.Close()
	f.file.Close()
}

func (s *errands) openFrames(ctx context.Context) (*result, error) {
	s.end()
	f, err := s.file(ctx)
	if err != nil {
		return nil, err
	}
	o := recode.FramesOptions{Window: s.what.av().window, Stride: s.what.av().Stride, Pixels: s.what.Video.Options(), Steps: s.what.steps}
	var frames *recode.Frames
	if err := s.calling(ctx, func() (err error) {
		frames, err = recode.OpenFrames(f, o)
		return err
	}); err != nil {
		f.Close()
		return nil, err
	}
	s.goOn(&frameStream{f, frames})
	form := frames.Form()
	return s.told(ctx, map[string]any{"height": form.Height, "width": form.Width})
}

// A sampleStream is a recording that is decoded piece by piece.
type sampleStream struct {
	file *os.File
	*recode.Samples
	args *recipe.DecodeAudio
}

func (f *sampleStream) close() {
	f.Samples.Close()
	f.file.Close()
}

func (s *errands) openSamples(ctx context.Context) (*result, error) {
	s.end()
	f, err := s.file(ctx)
	if err != nil {
		return nil, err
	}
	a := s.what.Audio
	o := recode.SamplesOptions{Window: s.what.av().window}
	if a.Rate != nil {
		o.Rate = *a.Rate
	}
	if a.Channels != nil {
		o.Channels = *a.Channels
	}
	var samples *recode.Samples
	if err := s.calling(ctx, func() (err error) {
		samples, err = recode.OpenSamples(f, o)
		return err
	}); err != nil {
		f.Close()
		return nil, err
	}
	s.goOn(&sampleStream{f, samples, a})
	return s.told(ctx, map[string]any{"sample_rate": samples.Rate(), "channels": samples.Channels()})
}

// A mediaStream is a video, and what is heard meanwhile.
type mediaStream struct {
	file *os.File
	*recode.Media
	args *recipe.DecodeAudio
	most int64 // bytes of the samples of a piece
}

func (m *mediaStream) close() {
	m.Media.Close()
	m.file.Close()
}

func (s *errands) openMedia(ctx context.Context) (*result, error) {
	s.end()
	f, err := s.file(ctx)
	if err != nil {
		return nil, err
	}
	a := s.what.Audio
	frames := recode.FramesOptions{Window: s.what.av().window, Stride: s.what.av().Stride, Pixels: s.what.Video.Options(), Steps: s.what.steps}
	var sound recode.SamplesOptions
	if a.Rate != nil {
		sound.Rate = *a.Rate
	}
	if a.Channels != nil {
		sound.Channels = *a.Channels
	}
	if a.Stream != nil {
		sound.Streams = []string{fmt.Sprintf("a:%d", *a.Stream)}
	}
	var m *recode.Media
	if err := s.calling(ctx, func() (err error) {
		m, err = recode.OpenMedia(ctx, f, frames, sound)
		return err
	}); err != nil {
		f.Close()
		return nil, err
	}
	s.goOn(&mediaStream{f, m, a, s.what.most()})
	form := m.Form()
	return s.told(ctx, map[string]any{"height": form.Height, "width": form.Width, "sample_rate": m.Rate(), "channels": m.Channels()})
}

// heard decodes what is heard during the piece that came last.
func (s *errands) heard(ctx context.Context) (*result, error) {
	on, ok := s.standing.(*mediaStream)
	if !ok {
		return nil, errNone
	}
	r, err := s.nextSound(ctx, on)
	if err != nil {
		s.end()
	}
	return r, err
}

func (s *errands) nextSound(ctx context.Context, on *mediaStream) (*result, error) {
	n, channels := on.Samples(), int64(on.Channels())
	if n > math.MaxInt32/channels || 4*n*channels > on.most {
		return nil, fmt.Errorf("%w: %d samples of %d channels are heard during these frames; take fewer of them, or raise max_bytes", store.ErrTooLarge, n, channels)
	}
	p, err := s.pack(ctx, 4*n*channels, 1)
	if err != nil {
		return nil, err
	}
	floats := make([]float32, n*channels)
	if err := s.calling(ctx, func() error { return on.Sound(ctx, floats) }); err != nil {
		p.slot.Drop()
		return nil, err
	}
	p.sound(floats, int(channels), on.args)
	return p.done()
}

// nextPiece decodes on. At the end the arrays are empty.
func (s *errands) nextPiece(ctx context.Context) (r *result, err error) {
	switch on := s.standing.(type) {
	case *frameStream:
		r, err = s.nextFrames(ctx, on.Frames)
	case *mediaStream:
		r, err = s.nextFrames(ctx, on)
	case *sampleStream:
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
		return nil, fmt.Errorf("serve: %d frames of %d×%d pixels are too much at once: take fewer", count, form.Width, form.Height)
	}
	p, err := s.pack(ctx, int64(count)*(form.Bytes()+8), 2)
	if err != nil {
		return nil, err
	}
	size := int(form.Bytes())
	times := make([]float64, count)
	n := 0
	if err := s.calling(ctx, func() (err error) {
		n, err = on.Next(ctx, p.room(count*size), times)
		return err
	}); err != nil {
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

func (s *errands) nextSamples(ctx context.Context, on *sampleStream) (*result, error) {
	count, channels := s.what.av().Count, on.Channels()
	if count > math.MaxInt32/channels {
		return nil, fmt.Errorf("serve: %d samples of %d channels are too much at once: take fewer", count, channels)
	}
	p, err := s.pack(ctx, 4*int64(count)*int64(channels), 1)
	if err != nil {
		return nil, err
	}
	buffer := files.Take(4 * count * channels)
	defer files.Give(buffer)
	floats := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(*buffer))), count*channels)
	n, at := 0, on.Second()
	if err := s.calling(ctx, func() (err error) {
		n, err = on.Next(ctx, floats)
		return err
	}); err != nil {
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

	var c *clipOf
	if err := s.computing(ctx, &in, func() (err error) {
		c, err = openClipOf(f, in.path, &s.what)
		return err
	}); err != nil {
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
	compute := func(ctx context.Context, do func() error) error { return s.computing(ctx, &in, do) }
	if err := c.video.Fill(ctx, p.room(int(form.Bytes())), decoders, compute); err != nil {
		p.slot.Drop()
		return nil, err
	}
	p.add("video", form.DType, c.video.Shape())
	p.sound(floats, channels, s.what.Audio)
	s.putTimes(p, c.times)
	p.About = map[string]any{"sample_rate": rate, "start": c.start}
	return p.done()
}
