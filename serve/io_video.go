package serve

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/video"
	opvideo "github.com/headrace/headrace/op/video"
)

func init() {
	for _, name := range []string{"video", "video_info"} {
		handlers[name] = handler{(*task).prepareVideo, 1, (*ioSession).decodeClip}
	}
}

// prepareVideo checks the arguments of a task on a video: those of decode_video, or a
// list of frames.
func (t *task) prepareVideo() error {
	t.clip = opvideo.NewStandalone(t.Video)
	switch {
	case t.MaxBytes < 0:
		return fmt.Errorf("serve: max_bytes %d: must be a number of bytes", t.MaxBytes)
	case t.Native && t.clip.Filter() != "":
		return errors.New("serve: frames after a filter have no native format")
	case t.clip.HasFields():
		return errors.New("serve: a video of its own has no fields")
	case len(t.Indices) > 0 && len(t.Times) > 0:
		return errors.New("serve: has both indices and times: give one of them")
	case t.clip.Random():
		return errors.New(`serve: start "random": there is no seed to draw with: use "begin", "center" or a second`)
	}
	if err := t.clip.Complete(); err != nil {
		return err
	}
	if t.Native {
		if t.Width != 0 || t.Height != 0 {
			return errors.New("headrace: color \"native\" keeps frames as they are: leave out width and height, or name a color")
		}
		return t.clip.CheckNative()
	}
	if t.Width == 0 && t.Height == 0 {
		return nil
	}
	if t.clip.Planes() {
		return t.clip.ResizePlanes(t.Height, t.Width)
	}
	op := media.ResizeExact{Height: t.Height, Width: t.Width, Filter: t.Filter}
	t.steps = []media.Step{{Op: op}}
	return op.Check()
}

// decodeClip decodes frames of a video, or describes the video. Of a file it reads no
// more than the frames need.
func (s *ioSession) decodeClip(ctx context.Context) (*result, error) {
	in := s.input(0)
	defer in.forget()
	most := s.task.MaxBytes
	if in.path != "" && most == 0 {
		most = math.MaxInt64
	}
	err := machine.Patiently(ctx, func() error {
		in.forget()
		return in.start(ctx, most)
	})
	if err != nil {
		return nil, err
	}
	file, content, err := s.videoFile(ctx, &in)
	if err != nil {
		return nil, err
	}

	if s.task.Do == "video_info" {
		info, err := computedOn(ctx, s, &in, func() (opvideo.VideoInfo, error) { return s.task.clip.Describe(file) })
		if err != nil {
			return nil, err
		}
		if first, err := s.firstFrame(ctx, &in, file, content); err == nil { // otherwise there is what the container says
			info.Color, info.PixelFormat = first.Color, first.Format
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return s.jsonResult(ctx, info)
	}

	if s.task.Native {
		first, err := s.firstFrame(ctx, &in, file, content)
		if err == nil {
			err = first.NativeErr
		}
		if err != nil {
			return nil, err
		}
		s.task.clip.SetNative(first.Native)
	}
	list := opvideo.FrameList{Indices: s.task.Indices, Times: s.task.Times}
	c, err := computedOn(ctx, s, &in, func() (*opvideo.VideoClip, error) { return s.task.clip.Open(file, list, s.task.steps) })
	if err != nil {
		return nil, err
	}
	defer c.Close()
	// What is held is asked for again with the rest: none waits while it holds any.
	decoders := c.Decoders(s.cores)
	grant, err := s.engine.memory.ask(ctx, content+c.WorkingBytes(decoders))
	if err != nil {
		return nil, err
	}
	defer grant.Release()
	if err := machine.Patiently(ctx, c.Load); err != nil {
		return nil, err
	}
	if c.Free(list) {
		return s.decodeFiltered(ctx, &in, c)
	}
	form := c.Form()
	slot, err := s.results.reserve(ctx, form.Bytes())
	if err != nil {
		return nil, err
	}
	if err := s.fill(ctx, &in, c, slot.Bytes()[:form.Bytes()], decoders); err != nil {
		slot.Drop()
		return nil, err
	}
	return &result{slot, 8 * form.DType.Size(), c.Shape()}, nil
}

// decodeFiltered decodes a clip that has as many frames as a filter makes.
func (s *ioSession) decodeFiltered(ctx context.Context, in *input, c *opvideo.VideoClip) (*result, error) {
	var all []byte
	err := s.computeOn(ctx, in, func() (err error) {
		all, err = c.FillFree(ctx, s.task.most())
		return err
	})
	if err != nil {
		return nil, err
	}
	slot, err := s.results.reserve(ctx, int64(len(all)))
	if err != nil {
		return nil, err
	}
	copy(slot.Bytes(), all)
	return &result{slot, 8 * c.Form().DType.Size(), c.Shape()}, nil
}

// firstFrame decodes the first frame of a video, and returns its format and colours:
// often only the codec's own headers say them.
func (s *ioSession) firstFrame(ctx context.Context, in *input, file video.File, content int64) (told opvideo.FirstFrame, err error) {
	c, err := computedOn(ctx, s, in, func() (*opvideo.VideoClip, error) {
		return s.task.clip.Open(file, opvideo.FrameList{Indices: []int{0}}, nil)
	})
	if err != nil {
		return told, err
	}
	defer c.Close()
	grant, err := s.engine.memory.ask(ctx, content+c.WorkingBytes(1))
	if err != nil {
		return told, err
	}
	defer grant.Release()
	if err := machine.Patiently(ctx, c.Load); err != nil {
		return told, err
	}
	err = s.computeOn(ctx, in, func() error { told, err = c.First(ctx); return err })
	return told, err
}

// fill decodes the clip of an input. Each decoder goes through the gate.
func (s *ioSession) fill(ctx context.Context, in *input, c *opvideo.VideoClip, to []byte, decoders int) error {
	return c.Fill(ctx, to, decoders, func(ctx context.Context, do func() error) error { return s.computeOn(ctx, in, do) })
}

// videoFile returns the source of the packets: a file on disk, or the whole content in
// memory and its size.
func (s *ioSession) videoFile(ctx context.Context, in *input) (file video.File, content int64, err error) {
	if in.path != "" {
		return opvideo.IndexedVideo(in.file, in.file.Name(), nil), 0, nil
	}
	grant, err := s.engine.memory.ask(ctx, in.size)
	if err != nil {
		return nil, 0, err
	}
	defer grant.Release()
	if err := machine.Patiently(ctx, func() error { _, err := in.readOn(math.MaxInt64); return err }); err != nil {
		return nil, 0, err
	}
	return video.Bytes(*in.data), in.size, nil
}
