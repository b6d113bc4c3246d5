package serve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"unsafe"

	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/recode"
	"github.com/headrace/headrace/media/sound"
	opsound "github.com/headrace/headrace/op/sound"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/tensor"
)

// errNone is the error of a task that continues a stream when none is open.
var errNone = errors.New("serve: no stream was begun")

func init() {
	handleAV(map[string]handler{
		"media":   {(*task).prepareMedia, 1, (*ioSession).mediaClip},
		"frames":  {(*task).prepareFrames, 1, (*ioSession).openFrames},
		"samples": {(*task).prepareSamples, 1, (*ioSession).openSamples},
		"both":    {(*task).prepareMedia, 1, (*ioSession).openMedia},
		"heard":   {nil, 0, (*ioSession).pieceAudio},
		"next":    {(*task).prepareNext, 0, (*ioSession).nextPiece},
	})
}

func (t *task) prepareFrames() error {
	if err := t.prepareVideo(); err != nil {
		return err
	}
	return t.prepareWindow()
}

func (t *task) prepareSamples() error {
	if err := t.prepareAudio(); err != nil {
		return err
	}
	return t.prepareWindow()
}

func (t *task) prepareNext() error {
	if t.av().Count < 1 {
		return fmt.Errorf("serve: count is %d: must be at least 1", t.av().Count)
	}
	return nil
}

// piecewise is media that is decoded piece by piece from an open file.
type piecewise[T interface{ Close() }] struct {
	of   T
	file *os.File
	by   opsound.Standalone // of sound
	held budget.Grant       // for a file that is in memory
	most int64              // bytes of the samples of a piece of a video
}

func (p *piecewise[T]) close() {
	p.of.Close()
	p.file.Close()
	p.held.Release()
}

// begin opens media as the session's stream.
func begin[T interface{ Close() }](ctx context.Context, s *ioSession, open func(*os.File) (T, error)) (on T, err error) {
	s.endStream()
	f, err := s.file(ctx)
	if err != nil {
		return on, err
	}
	var held budget.Grant
	if s.task.sound.Keeps() && s.task.sound.Raw().Format == "" {
		n, err := recode.KeptBytes(f, s.task.sound.Choice())
		if err == nil && n > 0 {
			held, err = s.engine.memory.ask(ctx, n)
		}
		if err != nil {
			f.Close()
			return on, err
		}
	}
	if on, err = computed(ctx, s, func() (T, error) { return open(f) }); err != nil {
		f.Close()
		held.Release()
		return on, err
	}
	s.setStream(&piecewise[T]{on, f, s.task.sound, held, s.task.most()})
	return on, nil
}

func (t *task) framesOptions() recode.FramesOptions {
	return recode.FramesOptions{
		Window: t.av().window, Stride: t.av().Stride, Pixels: t.clip.Options(), Steps: t.steps, Planes: t.clip.PlanesAsked(),
		Choice: t.clip.Choice(), Filter: t.clip.Filter(), Raw: t.clip.Raw(),
	}
}

func (t *task) samplesOptions() recode.SamplesOptions {
	return recode.SamplesOptions{Rate: t.sound.Rate(), Channels: t.sound.Channels(), Keep: t.sound.Keeps(), Raw: t.sound.Raw(),
		Choice: t.sound.Choice(), Filter: t.sound.Filter()}
}

func (s *ioSession) openFrames(ctx context.Context) (*result, error) {
	if s.task.clip.Filter() != "" {
		on, err := begin(ctx, s, func(f *os.File) (*recode.FilteredFrames, error) {
			return recode.OpenFilteredFrames(ctx, f, s.task.framesOptions())
		})
		if err != nil {
			return nil, err
		}
		width, height := on.Size()
		return s.jsonResult(ctx, map[string]any{"height": height, "width": width, "pixel_format": ""})
	}
	on, err := begin(ctx, s, func(f *os.File) (*recode.Frames, error) {
		if s.task.Native {
			return recode.OpenNative(ctx, f, s.task.framesOptions())
		}
		return recode.OpenFrames(f, s.task.framesOptions())
	})
	if err != nil {
		return nil, err
	}
	width, height := on.Size()
	return s.jsonResult(ctx, map[string]any{"height": height, "width": width, "pixel_format": on.Format()})
}

func (s *ioSession) openSamples(ctx context.Context) (*result, error) {
	o := s.task.samplesOptions()
	o.Window = s.task.av().window
	on, err := begin(ctx, s, func(f *os.File) (sound.Played, error) { return recode.OpenSound(f, o) })
	if err != nil {
		return nil, err
	}
	return s.jsonResult(ctx, map[string]any{"sample_rate": on.Rate(), "channels": on.Channels()})
}

// openMedia opens a video and its audio.
func (s *ioSession) openMedia(ctx context.Context) (*result, error) {
	heard := s.task.samplesOptions()
	if n := s.task.sound.Stream(); n >= 0 {
		heard.Streams = []string{fmt.Sprintf("a:%d", n)}
	}
	on, err := begin(ctx, s, func(f *os.File) (*recode.Media, error) {
		return recode.OpenMedia(ctx, f, s.task.framesOptions(), heard)
	})
	if err != nil {
		return nil, err
	}
	width, height := on.Size()
	return s.jsonResult(ctx, map[string]any{"height": height, "width": width, "sample_rate": on.Rate(),
		"channels": on.Channels()})
}

// pieceAudio decodes the audio of the last piece of video.
func (s *ioSession) pieceAudio(ctx context.Context) (*result, error) {
	on, ok := s.stream.(*piecewise[*recode.Media])
	if !ok {
		return nil, errNone
	}
	r, err := s.nextAudio(ctx, on)
	if err != nil {
		s.endStream()
	}
	return r, err
}

func (s *ioSession) nextAudio(ctx context.Context, on *piecewise[*recode.Media]) (*result, error) {
	n, channels := on.of.Samples(), int64(on.of.Channels())
	if n > math.MaxInt32/channels || 4*n*channels > on.most {
		return nil, fmt.Errorf("%w: %d samples of %d channels are heard during these frames; "+
			"use fewer, or raise max_bytes", store.ErrTooLarge, n, channels)
	}
	p, err := s.pack(ctx, 4*n*channels, 1)
	if err != nil {
		return nil, err
	}
	floats := make([]float32, n*channels)
	if err := s.compute(ctx, func() error { return on.of.Sound(ctx, floats) }); err != nil {
		p.slot.Drop()
		return nil, err
	}
	p.sound(floats, int(channels), on.by)
	return p.done()
}

// nextPiece decodes the next piece. At the end its arrays are empty.
func (s *ioSession) nextPiece(ctx context.Context) (r *result, err error) {
	switch on := s.stream.(type) {
	case *piecewise[*recode.Frames]:
		r, err = s.nextFrames(ctx, piecesOf(on.of))
	case *piecewise[*recode.FilteredFrames]:
		r, err = s.nextFrames(ctx, piecesOf(on.of))
	case *piecewise[*recode.Media]:
		r, err = s.nextFrames(ctx, piecesOf(on.of))
	case *piecewise[sound.Played]:
		r, err = s.nextSamples(ctx, on)
	case *piecewiseFilter:
		r, err = on.next(ctx, s)
	default:
		return nil, errNone
	}
	if err != nil {
		s.endStream()
	}
	return r, err
}

// pieces are frames that come one after the other, all alike.
type pieces struct {
	dtype         tensor.DType
	shape         tensor.Shape // of the array of one
	width, height int
	next          func(ctx context.Context, to []byte, times []float64) (int, error)
}

func piecesOf(on interface {
	Form() media.Form
	Next(ctx context.Context, to []byte, times []float64) (int, error)
}) pieces {
	form := on.Form()
	return pieces{form.DType, form.Shape(), form.Width, form.Height, on.Next}
}

// nextFrames makes the next piece of frames. At the end its arrays are empty.
func (s *ioSession) nextFrames(ctx context.Context, of pieces) (*result, error) {
	count := s.task.av().Count
	size, err := of.shape.Bytes(of.dtype)
	if err != nil || size > math.MaxInt32*int64(16)/int64(count) {
		return nil, fmt.Errorf("serve: %d frames of %d×%d pixels are too many at once: use fewer", count, of.width, of.height)
	}
	p, err := s.pack(ctx, int64(count)*(size+8), 2)
	if err != nil {
		return nil, err
	}
	times := make([]float64, count)
	n, err := computed(ctx, s, func() (int, error) { return of.next(ctx, p.room(count*int(size)), times) })
	if err != nil {
		p.slot.Drop()
		return nil, err
	}
	p.add("video", of.dtype, append(tensor.Shape{n}, of.shape...))
	s.putTimes(p, times[:n])
	return p.done()
}

func (s *ioSession) putTimes(p *packed, times []float64) {
	if n := len(times); n > 0 {
		copy(p.room(8*n), unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(times))), 8*n))
	}
	p.add("seconds", tensor.Float64, tensor.Shape{len(times)})
}

func (s *ioSession) nextSamples(ctx context.Context, on *piecewise[sound.Played]) (*result, error) {
	count, channels := s.task.av().Count, on.of.Channels()
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
	n, err := computed(ctx, s, func() (int, error) { return on.of.Next(ctx, floats) })
	if err != nil {
		p.slot.Drop()
		return nil, err
	}
	p.sound(floats[:n*channels], channels, on.by)
	p.About = map[string]any{"second": at}
	return p.done()
}

// sound adds samples as the task asks for them.
func (p *packed) sound(all []float32, channels int, by opsound.Standalone) {
	a := by.Arrangement(len(all)/channels, channels)
	a.Write(p.room(a.Bytes()), all)
	p.add("audio", a.DType, a.Shape())
}

// prepareMedia is for video and sound of one window.
func (t *task) prepareMedia() error {
	if err := t.prepareAudio(); err != nil {
		return err
	}
	return t.prepareFrames()
}

// mediaClip decodes a clip of a video, and the sound that is heard meanwhile: sample n
// belongs to the time of the clip's beginning and n samples, to half a sample.
func (s *ioSession) mediaClip(ctx context.Context) (*result, error) {
	in := s.input(0)
	defer in.forget()
	f, err := s.file(ctx)
	if err != nil {
		return nil, err
	}
	defer f.Close()

	c, err := computedOn(ctx, s, &in, func() (*clipOf, error) { return openClipOf(f, in.path, &s.task) })
	if err != nil {
		return nil, err
	}
	defer c.video.Close()
	decoders := c.video.Decoders(s.cores)
	grant, err := s.engine.memory.ask(ctx, c.video.WorkingBytes(decoders))
	if err != nil {
		return nil, err
	}
	defer grant.Release()
	if err := machine.Patiently(ctx, c.video.Load); err != nil {
		return nil, err
	}

	// Sound comes first: its length is known only when it is decoded, and both go into
	// one slot.
	var floats []float32
	var rate, channels int
	if err := s.computeOn(ctx, &in, func() (err error) {
		floats, rate, channels, err = c.sound(ctx, s.task.sound, s.task.most())
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
	p.sound(floats, channels, s.task.sound)
	s.putTimes(p, c.times)
	p.About = map[string]any{"sample_rate": rate, "start": c.start}
	return p.done()
}
