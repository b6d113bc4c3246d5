package serve

import (
	"context"
	"errors"
	"fmt"
	"math"

	"headrace/internal/machine"
	"headrace/internal/ops"
	"headrace/media/sound"
	"headrace/recipe"
	"headrace/wire"
)

// prepareAudio checks what is asked of a recording: arguments of decode_audio.
func (e *errand) prepareAudio() (err error) {
	if e.Audio == nil {
		e.Audio = new(recipe.DecodeAudio)
	}
	if e.MaxBytes < 0 {
		return fmt.Errorf("serve: max_bytes %d: must be a number of bytes", e.MaxBytes)
	}
	if e.Audio, err = e.Audio.Completed(); err != nil {
		return err
	}
	if e.Audio.Start == "random" {
		return errors.New(`serve: start "random": there is no seed to draw with: use "begin", "center" or a second`)
	}
	return nil
}

// alone carries out what has one input, and one result.
func (s *errands) alone(ctx context.Context, do func(context.Context) (*result, error)) (*result, []wire.Failure, error) {
	if n := len(s.task.Inputs); n != 1 {
		return nil, nil, fmt.Errorf("%w: a task for one input has %d", wire.ErrProtocol, n)
	}
	r, err := do(ctx)
	if err != nil {
		return nil, []wire.Failure{failure(nil, err)}, nil
	}
	return r, nil, nil
}

// recording decodes a window of a recording, or tells what the recording is.
func (s *errands) recording(ctx context.Context) (*result, error) {
	in := s.input(0)
	defer in.forget()
	parts := false // what is a path, and of a format that is read in parts, need not be in memory
	err := machine.Patiently(ctx, func() error {
		in.forget()
		if err := in.start(s.what.MaxBytes); err != nil {
			return err
		}
		if in.open {
			var err error
			if parts, err = sound.InParts(in.file); parts || err != nil {
				return err
			}
		}
		if _, err := in.readOn(sound.MostHead); err != nil {
			return err
		}
		return sound.Check(*in.data) // before the rest is read
	})
	if err != nil {
		return nil, err
	}
	open := func(o sound.Options) (sound.Stream, error) { return sound.OpenAt(in.file, o) }
	if !parts {
		grant, err := s.images.larder.ask(ctx, in.size)
		if err != nil {
			return nil, err
		}
		defer grant.Release()
		if err := machine.Patiently(ctx, func() error { _, err := in.readOn(math.MaxInt64); return err }); err != nil {
			return nil, err
		}
		open = func(o sound.Options) (sound.Stream, error) { return sound.OpenWith(*in.data, o) }
	}

	args := s.what.Audio
	if s.what.Do == "audio_info" {
		args = &recipe.DecodeAudio{Stream: args.Stream, Damaged: args.Damaged, Layout: "TC", Short: "keep", DType: "float32"}
	}
	w, err := computed(ctx, s, &in, func() (*ops.AudioWindow, error) { return ops.OpenAudio(open, args, nil) })
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if s.what.Do == "audio_info" {
		return s.told(ctx, map[string]any{"sample_rate": w.Rate(), "channels": w.Channels(), "samples": w.Samples()})
	}

	slot, err := s.shelf.reserve(ctx, int64(w.Bytes()))
	if err != nil {
		return nil, err
	}
	if err := s.computing(ctx, &in, func() error { return w.Fill(slot.Bytes()[:w.Bytes()], &files) }); err != nil {
		slot.Drop()
		return nil, err
	}
	return &result{slot, 8 * w.Width(), w.Shape()}, nil
}
