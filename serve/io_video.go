package serve

import (
	"context"
	"errors"
	"fmt"
	"math"

	"headrace/internal/machine"
	"headrace/internal/ops"
	"headrace/media"
	"headrace/media/video"
	"headrace/recipe"
)

// prepareVideo checks what is asked of a video: arguments of decode_video, or a list of
// frames.
func (e *errand) prepareVideo() (err error) {
	if e.Video == nil {
		e.Video = new(recipe.DecodeVideo)
	}
	v := e.Video
	switch {
	case e.MaxBytes < 0:
		return fmt.Errorf("serve: max_bytes %d: must be a number of bytes", e.MaxBytes)
	case v.Field != "" || v.To != "" || v.At != "" || v.Times != "" || v.Matrix != "" || v.Mask != "":
		return errors.New("serve: a video of its own has no fields")
	case len(e.Indices) > 0 && len(e.Times) > 0:
		return errors.New("serve: has both indices and times: give one of them")
	case v.Start == "" && v.Offset == nil:
		v.Start = "begin"
	case v.Start == "random":
		return errors.New(`serve: start "random": there is no seed to draw with: use "begin", "center" or a second`)
	}
	if e.Video, err = v.Completed(); err != nil {
		return err
	}
	if _, err := e.Video.Clip(); err != nil {
		return err
	}
	if e.Width == 0 && e.Height == 0 {
		return nil
	}
	if e.Video.Planes() {
		e.Video.Size = recipe.Size{Height: e.Height, Width: e.Width}
		e.Video, err = e.Video.Completed()
		return err
	}
	op := media.ResizeExact{Height: e.Height, Width: e.Width, Filter: e.Filter}
	e.steps = []media.Step{{Op: op}}
	return op.Check()
}

// clip decodes frames of a video, or tells what the video is. Of a path no more is read
// than the frames need.
func (s *errands) clip(ctx context.Context) (*result, error) {
	in := s.input(0)
	defer in.forget()
	most := s.what.MaxBytes
	if in.path != "" && most == 0 {
		most = math.MaxInt64
	}
	err := machine.Patiently(ctx, func() error {
		in.forget()
		return in.start(most)
	})
	if err != nil {
		return nil, err
	}
	file, content, err := s.videoFile(ctx, &in)
	if err != nil {
		return nil, err
	}

	if s.what.Do == "video_info" {
		v, err := computed(ctx, s, &in, func() (*video.Video, error) { return ops.OpenVideo(file, s.what.Video.Stream, false) })
		if err != nil {
			return nil, err
		}
		return s.told(ctx, ops.DescribeVideo(v))
	}

	c, err := computed(ctx, s, &in, func() (*ops.VideoClip, error) {
		return ops.OpenClip(file, s.what.Video, ops.FrameList{Indices: s.what.Indices, Times: s.what.Times}, s.what.steps)
	})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	// What is held is asked for again with the rest: none waits while it holds any.
	decoders := c.Decoders(s.cores)
	grant, err := s.images.larder.ask(ctx, content+c.WorkingBytes(decoders))
	if err != nil {
		return nil, err
	}
	defer grant.Release()
	if err := machine.Patiently(ctx, c.Load); err != nil {
		return nil, err
	}
	form := c.Form()
	slot, err := s.shelf.reserve(ctx, form.Bytes())
	if err != nil {
		return nil, err
	}
	if err := s.fill(ctx, &in, c, slot.Bytes()[:form.Bytes()], decoders); err != nil {
		slot.Drop()
		return nil, err
	}
	return &result{slot, 8 * form.DType.Size(), c.Shape()}, nil
}

// fill decodes the clip of an input. Each decoder goes through the gate.
func (s *errands) fill(ctx context.Context, in *input, c *ops.VideoClip, to []byte, decoders int) error {
	return c.Fill(ctx, to, decoders, func(ctx context.Context, do func() error) error { return s.computing(ctx, in, do) })
}

// videoFile is what the packets are read from: a file on a disk, or the whole content in
// memory, of which there are so many bytes.
func (s *errands) videoFile(ctx context.Context, in *input) (file video.File, content int64, err error) {
	if in.path != "" {
		return ops.IndexedVideo(&in.file, in.path, nil), 0, nil
	}
	grant, err := s.images.larder.ask(ctx, in.size)
	if err != nil {
		return nil, 0, err
	}
	defer grant.Release()
	if err := machine.Patiently(ctx, func() error { _, err := in.readOn(math.MaxInt64); return err }); err != nil {
		return nil, 0, err
	}
	return video.Bytes(*in.data), in.size, nil
}
