package recode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/media/sound"
)

func init() { sound.RegisterPlayer(play) }

// played is samples of a file of its own.
type played struct {
	*Samples
	file *os.File
}

// Close implements [sound.Played].
func (p played) Close() {
	p.Samples.Close()
	p.file.Close()
}

func play(from sound.File, o sound.PlayOptions) (sound.Played, error) {
	file, err := fileOf(from)
	if err != nil {
		return nil, err
	}
	what := SamplesOptions{Rate: o.Rate, Channels: o.Channels, Choice: o.Choice}
	if o.Track >= 0 {
		what.Streams = []string{fmt.Sprintf("a:%d", o.Track)}
	}
	if o.Begin > 0 { // sound may begin before the first frame
		what.Start = new(big.Rat).SetFloat64(o.Begin)
	}
	what.End = new(big.Rat).SetFloat64(max(o.End, 0))

	s, err := OpenSamples(file, what)
	kept := err != nil && o.Keep
	if kept {
		what.Keep = true
		if k, wrong := OpenSamples(file, what); wrong == nil {
			s, err = k, nil
		}
	}
	if err != nil {
		file.Close()
		if what.silent(err) {
			err = &sound.SilentError{Err: err}
		}
		return nil, err
	}
	if o.Keep {
		return &keptPlayed{played{s, file}, what, kept}, nil
	}
	return played{s, file}, nil
}

// keptPlayed is samples of a file that may be damaged. What is whole is played as ever:
// only where something is not, all of the file is looked at.
type keptPlayed struct {
	played
	what SamplesOptions
	kept bool // it is opened so
}

// Damaged implements [sound.Patched].
func (k *keptPlayed) Damaged() bool { return k.kept }

// Next implements [sound.Played].
func (k *keptPlayed) Next(ctx context.Context, to []float32) (int, error) {
	n, err := k.played.Next(ctx, to)
	if err == nil || k.kept || ctx.Err() != nil {
		return n, err
	}
	k.what.Keep, k.kept = true, true
	again, wrong := OpenSamples(k.file, k.what)
	if wrong != nil {
		return n, err
	}
	again.skip(int64(math.Round((k.Second() - again.Second()) * float64(k.Rate()))))
	k.Samples.Close()
	k.Samples = again
	return again.Next(ctx, to)
}

// silent reports whether an error of OpenSamples says that nothing is heard in the
// window. A stream that was asked for has to be there.
func (o *SamplesOptions) silent(err error) bool {
	return errors.Is(err, errNoSamples) || errors.Is(err, errNoStream) && len(o.Streams) == 0
}

// fileOf is a file with a descriptor of its own, or one in memory with the content.
func fileOf(from sound.File) (*os.File, error) {
	if on, ok := from.(interface{ OnDisk() (*os.File, error) }); ok {
		return on.OnDisk()
	}
	if on, ok := from.(interface{ Descriptor() int }); ok {
		fd, err := unix.FcntlInt(uintptr(on.Descriptor()), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("recode: another descriptor of a file: %w", err)
		}
		return os.NewFile(uintptr(fd), "sound"), nil
	}
	data := make([]byte, from.Size())
	if _, err := io.ReadFull(io.NewSectionReader(from, 0, from.Size()), data); err != nil {
		return nil, err
	}
	return Memory(data)
}
