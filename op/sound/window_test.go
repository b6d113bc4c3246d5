package sound_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/headrace/headrace/internal/scratch"
	"github.com/headrace/headrace/media/sound"
	opsound "github.com/headrace/headrace/op/sound"
	"github.com/headrace/headrace/recipe"
	"pgregory.net/rapid"
)

// memory is a recording of 1,000 samples a second, whose channels lie side by side.
type memory struct {
	channels int
	all      []float32
	closed   int
}

func (m *memory) Info() sound.Info {
	return sound.Info{Rate: 1000, Channels: m.channels, Samples: int64(len(m.all) / m.channels)}
}
func (m *memory) Close() { m.closed++ }
func (m *memory) Read(to []float32, from int64) error {
	copy(to, m.all[int(from)*m.channels:])
	return nil
}

func (m *memory) open(sound.Options) (sound.Stream, error) { return m, nil }

// model is a window by a plain loop: the samples by moment and channel, or nil where the
// recording has too few.
func model(m *memory, args *opsound.DecodeAudio, drawn int) (all [][]float32) {
	have := len(m.all) / m.channels
	from, n := 0, have
	if args.Offset != nil {
		from = min(int(math.Round(*args.Offset*1000)), have)
		n = have - from
	}
	if args.Duration != nil {
		n = int(math.Round(*args.Duration * 1000))
		switch {
		case have > n && args.Start == "center":
			from = (have - n) / 2
		case have > n && args.Start == "random":
			from = drawn
		}
	}
	for i := range n {
		at := from + i
		if at >= have {
			switch args.Short {
			case "keep":
				return all
			case "error":
				return nil
			case "repeat":
				if from == have {
					return nil
				}
				at = from + i%(have-from)
			}
		}
		moment := make([]float32, m.channels)
		if at < have {
			copy(moment, m.all[at*m.channels:])
		}
		all = append(all, moment)
	}
	return all
}

// written is the model in the order and of the type that is asked for.
func written(all [][]float32, channels int, args *opsound.DecodeAudio) []byte {
	var b bytes.Buffer
	put := func(v float32) {
		if args.DType == "int16" {
			v := math.RoundToEven(float64(v) * 32768)
			binary.Write(&b, binary.NativeEndian, int16(max(-32768, min(v, 32767))))
			return
		}
		binary.Write(&b, binary.NativeEndian, v)
	}
	if args.Layout == "CT" {
		for c := range channels {
			for _, moment := range all {
				put(moment[c])
			}
		}
		return b.Bytes()
	}
	for _, moment := range all {
		for _, v := range moment {
			put(v)
		}
	}
	return b.Bytes()
}

// A window is that part of the recording, in each order and type, and what is missing is
// as the argument short says.
func TestWindows(t *testing.T) {
	var rooms scratch.Pool
	rapid.Check(t, func(t *rapid.T) {
		m := &memory{channels: rapid.IntRange(1, 3).Draw(t, "channels")}
		n := rapid.IntRange(1, 40).Draw(t, "samples") * m.channels
		m.all = rapid.SliceOfN(rapid.Float32Range(-1.5, 1.5), n, n).Draw(t, "all")
		args := &opsound.DecodeAudio{
			Short:  rapid.SampledFrom([]string{"silence", "repeat", "error", "keep"}).Draw(t, "short"),
			DType:  rapid.SampledFrom([]string{"float32", "int16"}).Draw(t, "dtype"),
			Layout: rapid.SampledFrom([]string{"TC", "CT"}).Draw(t, "layout"),
		}
		if rapid.Bool().Draw(t, "part") {
			args.Duration = new(float64(rapid.IntRange(1, 50).Draw(t, "duration")) / 1000)
			args.Start = rapid.SampledFrom([]string{"begin", "center", "random"}).Draw(t, "start")
		}
		if args.Start == "" && rapid.Bool().Draw(t, "later") {
			args.Start, args.Offset = "", new(float64(rapid.IntRange(0, 50).Draw(t, "offset"))/1000)
		}
		args = recipe.Completed(args).(*opsound.DecodeAudio)
		drawn := -1
		w, err := opsound.OpenAudio(m.open, args, func(most int) int {
			drawn = rapid.IntRange(0, most-1).Draw(t, "drawn")
			return drawn
		})
		want := model(m, args, drawn)
		if want == nil && args.Duration != nil {
			if err == nil || m.closed != 1 {
				t.Fatalf("%+v of %d samples was taken, or left open %d times", args, n/m.channels, 1-m.closed)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, w.Bytes())
		if err := w.Fill(got, &rooms); err != nil {
			t.Fatal(err)
		}
		shape := fmt.Sprint(w.Shape())
		expected := fmt.Sprintf("[%d, %d]", len(want), m.channels)
		if args.Layout == "CT" {
			expected = fmt.Sprintf("[%d, %d]", m.channels, len(want))
		}
		if !bytes.Equal(got, written(want, m.channels, args)) || shape != expected {
			t.Fatalf("%+v of %d samples: %s, expected %s, or other samples", args, n/m.channels, shape, expected)
		}
		if w.Close(); m.closed != 1 {
			t.Fatal("the recording is left open")
		}
	})
}

// Seconds are decimal numbers, which float64 has not: a window of 0.1 s is 4,410 samples
// and never one less.
func TestSecondsAreDecimal(t *testing.T) {
	for _, rate := range []int{8000, 11025, 16000, 22050, 44100, 48000, 96000} {
		for milliseconds := range 3000 {
			want := int64(milliseconds) * int64(rate) / 1000
			if got := opsound.SamplesOf(float64(milliseconds)/1000, rate); got != want {
				t.Fatalf("%d ms at %d Hz are %d samples, want %d", milliseconds, rate, got, want)
			}
		}
	}
}
