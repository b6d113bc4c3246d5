//go:build cgo

package recode

import (
	"context"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/headrace/headrace/media/internal/avtest"
)

// Whatever bytes of a container are changed, each call ends with a result or an error.
func TestDamagedContainers(t *testing.T) {
	avtest.Library(t)
	random := rand.New(rand.NewPCG(7, 8))
	for _, file := range files {
		data := content(t, made(t, file.name, file.how))
		for range 4 {
			bad := append([]byte(nil), data...)
			for range 1 + random.IntN(20) {
				bad[random.IntN(min(len(bad), 1+random.IntN(len(bad))))] = byte(random.Uint32())
			}
			if random.IntN(4) == 0 {
				bad = bad[:1+random.IntN(len(bad))]
			}
			f, err := Memory(bad)
			if err != nil {
				t.Fatal(err)
			}
			tryAll(f)
			f.Close()
		}
	}
}

func tryAll(f *os.File) {
	ctx := context.Background()
	window := &Window{Start: Second(nil)}
	if p, err := Demux(ctx, f, window, nil, 1<<26); err == nil {
		if b, err := p.Append(nil); err == nil {
			if again, err := Memory(b); err == nil { // packets are a container, too
				if frames, err := OpenFrames(again, FramesOptions{}); err == nil {
					readAll(ctx, frames)
				}
				again.Close()
			}
		}
	}
	if out, err := Create(""); err == nil {
		_ = Remux(ctx, f, window, nil, out.File, Container{Format: "matroska"})
		out.Discard()
	}
	if frames, err := OpenFrames(f, FramesOptions{}); err == nil {
		readAll(ctx, frames)
	}
	if samples, err := OpenSamples(f, SamplesOptions{Rate: 16000, Channels: 1}); err == nil {
		to := make([]float32, 8000)
		for {
			if n, err := samples.Next(ctx, to); n == 0 || err != nil {
				break
			}
		}
		samples.Close()
	}
}

func readAll(ctx context.Context, frames *Frames) {
	defer frames.Close()
	if frames.Form().Bytes() > 1<<24 {
		return
	}
	to, times := make([]byte, 4*frames.Form().Bytes()), make([]float64, 4)
	for {
		if n, err := frames.Next(ctx, to, times); n == 0 || err != nil {
			return
		}
	}
}
