package serve

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/media/sound"
	opsound "github.com/headrace/headrace/op/sound"
)

func init() {
	for _, name := range []string{"audio", "audio_info"} {
		handlers[name] = handler{(*task).prepareAudio, 1, (*ioSession).decodeAudio}
	}
}

// prepareAudio checks the arguments of a task on a recording, which are those of
// decode_audio.
func (t *task) prepareAudio() (err error) {
	if t.MaxBytes < 0 {
		return fmt.Errorf("serve: max_bytes %d: must be a number of bytes", t.MaxBytes)
	}
	if t.sound, err = opsound.NewStandalone(t.Audio); err != nil {
		return err
	}
	if t.sound.Random() {
		return errors.New(`serve: start "random": there is no seed to draw with: use "begin", "center" or a second`)
	}
	return nil
}

// decodeAudio decodes a window of a recording, or describes the recording.
func (s *ioSession) decodeAudio(ctx context.Context) (*result, error) {
	in := s.input(0)
	defer in.forget()
	raw := s.task.sound.Raw().Format != ""
	parts := false // what is a path, and of a format that is read in parts, need not be in memory
	err := machine.Patiently(ctx, func() error {
		// After a shortage this is tried again, from the beginning.
		in.forget()
		if err := in.start(ctx, s.task.MaxBytes); err != nil {
			return err
		}
		if in.open {
			var err error
			if parts = raw; raw {
				return nil
			}
			if parts, err = sound.InParts(in.file, s.task.sound.Choice()); parts || err != nil {
				return err
			}
		}
		if _, err := in.readOn(sound.MostHead); err != nil {
			return err
		}
		if raw {
			return nil
		}
		return sound.Check(*in.data) // before the rest is read
	})
	if err != nil {
		return nil, err
	}
	open := func(o sound.Options) (sound.Stream, error) { return sound.OpenAt(in.file, o) }
	if !parts {
		grant, err := s.engine.memory.ask(ctx, in.size)
		if err != nil {
			return nil, err
		}
		defer grant.Release()
		if err := machine.Patiently(ctx, func() error { _, err := in.readOn(math.MaxInt64); return err }); err != nil {
			return nil, err
		}
		open = func(o sound.Options) (sound.Stream, error) { return sound.OpenWith(*in.data, o) }
	}

	if s.task.Do == "audio_info" {
		info, err := computedOn(ctx, s, &in, func() (opsound.AudioInfo, error) { return s.task.sound.Describe(open) })
		if err != nil {
			return nil, err
		}
		return s.jsonResult(ctx, info)
	}
	w, err := computedOn(ctx, s, &in, func() (*opsound.AudioWindow, error) { return s.task.sound.Open(open) })
	if err != nil {
		return nil, err
	}
	defer w.Close()

	slot, err := s.results.reserve(ctx, int64(w.Bytes()))
	if err != nil {
		return nil, err
	}
	if err := s.computeOn(ctx, &in, func() error { return w.Fill(slot.Bytes()[:w.Bytes()], &files) }); err != nil {
		slot.Drop()
		return nil, err
	}
	return &result{slot, 8 * w.Width(), w.Shape()}, nil
}
