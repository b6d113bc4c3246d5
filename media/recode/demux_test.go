//go:build cgo

package recode

import (
	"context"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/packets"
	"github.com/headrace/headrace/media/internal/avtest"
	"github.com/headrace/headrace/media/sound"
	_ "github.com/headrace/headrace/media/sound/coded"
	"github.com/headrace/headrace/media/video"
)

var both = "-f lavfi -i testsrc2=s=64x48:r=25:d=4 -f lavfi -i aevalsrc=0.3*sin(440*2*PI*t)+0.2*sin(300*t*t)|0.2*random(0):s=48000:d=4 -pix_fmt yuv420p "

// files are one of each kind that differs in how it is cut, with how close windows of
// sound come: opus converges, others are equal.
var files = []struct {
	name, how string
	off       float64
}{
	{"bf.mp4", "-c:v libx264 -bf 3 -g 25 -c:a aac -aac_pns 0", 0},
	{"open.mkv", "-c:v libx264 -x264-params open-gop=1:keyint=12:min-keyint=12:bframes=3 -c:a flac", 0},
	{"hevc.mp4", "-c:v libx265 -x265-params keyint=12:open-gop=1:log-level=none -tag:v hvc1 -c:a alac", 0},
	{"vp9.webm", "-c:v libvpx-vp9 -g 25 -deadline realtime -c:a libopus", 1e-5},
	{"a.ts", "-c:v libx264 -bf 2 -g 25 -c:a mp2", 1.0 / (1 << 15)},
	{"asp.avi", "-c:v mpeg4 -g 12 -c:a pcm_s16le", 0},
	{"intra.mov", "-c:v mjpeg -c:a pcm_s16le", 0},
}

func made(t testing.TB, name, how string) *os.File {
	t.Helper()
	f, err := Open(t.Context(), avtest.Cached(t, name, strings.Fields(both+how+" -map_metadata -1")...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func content(t testing.TB, f *os.File) []byte {
	t.Helper()
	b, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// frames decodes all frames of a video, as gray levels, with their times.
func frames(t testing.TB, data []byte) (all [][]byte, at []float64) {
	t.Helper()
	v, err := video.Open(video.Bytes(data), -1)
	if err != nil {
		t.Fatal(err)
	}
	var wanted []int
	for i := range v.Table.Line.Len() {
		wanted = append(wanted, i)
		at = append(at, v.Table.Line.Seconds(v.Table.Packets[v.Table.Frames[i]].PTS))
	}
	c, err := v.Clip(wanted)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	all = make([][]byte, len(wanted))
	if err := c.Decode(context.Background(), func(n int, f *video.Frame) error {
		p := f.Parts[0]
		for y := range f.Height {
			all[n] = append(all[n], p.Data[p.First+y*p.Stride:][:f.Width*p.Step]...)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all, at
}

func samples(t testing.TB, data []byte) (all []float32, rate, channels int) {
	t.Helper()
	r, err := sound.Open(data, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	i := r.Info()
	all = make([]float32, int(i.Samples)*i.Channels)
	if err := r.Read(all, 0); err != nil {
		t.Fatal(err)
	}
	return all, i.Rate, i.Channels
}

func demuxed(t testing.TB, f *os.File, w *Window) []byte {
	t.Helper()
	p, err := Demux(context.Background(), f, w, nil, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// clockOf is the clock of a file, and its streams.
func clockOf(t *testing.T, f *os.File) (*Clock, []packets.Stream) {
	t.Helper()
	r, _, streams, err := open(f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c, err := clock(r, streams)
	if err != nil {
		t.Fatal(err)
	}
	return c, streams
}

// What packets of a window decode to is a slice of what the file decodes to, bit by bit,
// in every container.
func TestWindowsDecodeToSlices(t *testing.T) {
	avtest.Library(t)
	for _, file := range files {
		t.Run(file.name, func(t *testing.T) {
			f := made(t, file.name, file.how)
			data := content(t, f)
			all, at := frames(t, data)
			sound, rate, channels := samples(t, data)
			clock, _ := clockOf(t, f)
			samplesOf := func(t *big.Rat) int { return int(ticks(t, av.Rational{Num: 1, Den: int32(rate)})) }
			half := big.NewRat(-1, 2*int64(rate)) // so that it is rounded, not up
			begin := samplesOf(half.Add(half, clock.Begins[1]))

			for _, w := range [][2]string{{"", ""}, {"0", "1"}, {"1.02", "1.3"}, {"0.5", "2.5"}, {"3.4", "3.9"}, {"3.5", ""}, {"1/3", "2/3"}} {
				window := Window{}
				from, until := 0.0, 1e9
				if w[0] != "" {
					window.Start, _ = new(big.Rat).SetString(w[0])
					from, _ = window.Start.Float64()
				}
				if w[1] != "" {
					window.End, _ = new(big.Rat).SetString(w[1])
					until, _ = window.End.Float64()
				}
				data := demuxed(t, f, &window)

				window.Streams = []string{"video"}
				got, _ := frames(t, data)
				var want [][]byte
				for i := range all {
					if s := at[i] - at[0]; s >= from-1e-9 && s < until-1e-9 {
						want = append(want, all[i])
					}
				}
				if !slices.EqualFunc(got, want, slices.Equal) {
					t.Errorf("%v: %d frames, not the %d of the window", w, len(got), len(want))
				}

				heard, _, _ := samples(t, data)
				first, last := 0, len(sound)/channels
				if window.Start != nil {
					first = max(0, samplesOf(new(big.Rat).Add(clock.Zero, window.Start))-begin)
				}
				if window.End != nil {
					last = min(last, samplesOf(new(big.Rat).Add(clock.Zero, window.End))-begin)
				}
				part := sound[first*channels : last*channels]
				if len(heard) != len(part) {
					t.Errorf("%v: %d samples, not the %d from %d on", w, len(heard)/channels, len(part)/channels, first)
					continue
				}
				for i := range part {
					if d := heard[i] - part[i]; d > float32(file.off) || -d > float32(file.off) {
						t.Errorf("%v: sample %d of %d is off by %g", w, i/channels, len(part)/channels, d)
						break
					}
				}
			}
		})
	}
}
