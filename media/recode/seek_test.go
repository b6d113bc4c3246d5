//go:build cgo

package recode

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/internal/avtest"
)

// bytesRead is how many bytes this process has read of files.
func bytesRead(t testing.TB) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(line, "rchar: "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("no rchar")
	return 0
}

// windowOf decodes a window of the sound of a file.
func windowOf(t testing.TB, f *os.File, w Window) []float32 {
	t.Helper()
	s, err := OpenSamples(f, SamplesOptions{Window: w})
	if errors.Is(err, errNoSamples) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var all []float32
	for room := make([]float32, s.Channels()<<12); ; {
		n, err := s.Next(context.Background(), room)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return all
		}
		all = append(all, room[:n*s.Channels()]...)
	}
}

// Of Matroska a window reads its packets, and a few seconds before them, though its times
// are of milliseconds. It is the slice of the whole decode, at any start.
func TestWindowsOfMatroskaCostTheirBytes(t *testing.T) {
	avtest.Library(t)
	const length = 60
	noise := func(rate int) string {
		return fmt.Sprintf("-f lavfi -i aevalsrc=0.3*sin(440*2*PI*t)+0.2*sin(30*t*t)+0.2*random(0):s=%d:d=%d ", rate, length)
	}
	film := fmt.Sprintf("-f lavfi -i testsrc2=s=96x64:r=25:d=%d,noise=alls=20:allf=t ", length)
	const coded = "-pix_fmt yuv420p -c:v mpeg4 -q:v 3 -g 25 "
	for _, c := range []struct {
		name, how string
		off       float64
		counts    bool // packets are counted from the beginning
	}{
		{"opus.webm", noise(48000) + "-c:a libopus", 1e-5, false},
		{"opus60.webm", noise(48000) + "-c:a libopus -frame_duration 60", 1e-5, false},
		{"opus2.mka", noise(48000) + "-c:a libopus -frame_duration 2.5 -application lowdelay", 1e-5, false},
		{"opus.mkv", film + noise(48000) + coded + "-c:a libopus", 1e-5, false},
		{"vorbis48.webm", noise(48000) + "-c:a libvorbis", 0, false},
		{"vorbis44.webm", noise(44100) + "-c:a libvorbis", 0, false},
		{"vorbis44.mkv", film + noise(44100) + coded + "-c:a libvorbis", 0, false},
		{"vorbis16.webm", noise(16000) + "-c:a libvorbis", 0, false},
		{"aac44.mkv", film + noise(44100) + coded + "-c:a aac -aac_pns 0", 0, false},
		{"aac48.mka", noise(48000) + "-c:a aac -aac_pns 0", 0, false},
		{"mp3.mkv", film + noise(44100) + coded + "-c:a libmp3lame", 0, false},
		{"mp3.mka", noise(22050) + "-c:a libmp3lame", 0, false},
		{"flac.mkv", film + noise(44100) + coded + "-c:a flac", 0, false},
		{"alac.mkv", film + noise(44100) + coded + "-c:a alac", 0, false},
		{"pcm.mkv", film + noise(44100) + coded + "-c:a pcm_s16le", 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := Open(t.Context(), avtest.Cached(t, "seek-"+c.name, strings.Fields(c.how)...))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			about, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			all, rate, channels := samples(t, content(t, f))
			clock, streams := clockOf(t, f)
			one := av.Rational{Num: 1, Den: int32(rate)}
			first := int(ticks(clock.Begins[len(streams)-1], one))
			zero, _ := new(big.Rat).Mul(clock.Zero, big.NewRat(int64(rate), 1)).Float64()
			placeOf := func(sample int) int {
				return min(max(0, int(math.Ceil(zero+float64(sample)-1e-6))-first), len(all)/channels)
			}

			random := rand.New(rand.NewPCG(1, 2))
			read := int64(0)
			const tries = 20
			for range tries {
				from := random.IntN((length - 2) * rate)
				n := 1 + random.IntN(rate)
				begin := big.NewRat(int64(from), int64(rate))
				w := Window{Start: begin, End: new(big.Rat).Add(begin, big.NewRat(int64(n), int64(rate)))}
				before := bytesRead(t)
				got := windowOf(t, f, w)
				read += bytesRead(t) - before

				at := placeOf(from)
				want := all[at*channels : placeOf(from+n)*channels]
				if len(got) != len(want) {
					t.Errorf("from sample %d: %d, not %d", from, len(got)/channels, len(want)/channels)
					continue
				}
				for i := range want {
					if d := float64(got[i] - want[i]); d > c.off || -d > c.off {
						t.Errorf("from sample %d: sample %d of %d is off by %g", from, i/channels, len(want)/channels, d)
						break
					}
				}
			}
			// The index, the first packets and the window, in pieces of 64 KiB, and
			// once more to look for damage.
			if read, most := read/tries, 2*(160<<10+about.Size()*7/length); !c.counts && read > most {
				t.Errorf("a window reads %d of %d bytes", read, about.Size())
			}
		})
	}
}

// Where packets are missing, or times waver, reading from the middle gives what reading
// from the beginning does.
func TestSeekingAgreesWithCounting(t *testing.T) {
	avtest.Library(t)
	const noise = "-f lavfi -i aevalsrc=0.3*sin(440*2*PI*t)+0.2*sin(30*t*t)+0.2*random(0):s=44100:d=40 "
	for _, c := range []struct{ name, how string }{
		{"gap.mka", noise + "-c:a libopus"},
		{"gap-aac.mka", noise + "-c:a aac -aac_pns 0"},
		{"gap-mp3.mka", noise + "-c:a libmp3lame"},
		{"gap-flac.mka", noise + "-c:a flac -frame_size 1152"},
	} {
		made := avtest.Cached(t, "agree-"+c.name, strings.Fields(c.how)...)
		for i, filter := range []string{
			"noise=drop='between(n,200,230)'", "noise=drop='not(mod(n+1,97))'", "setts=ts='PTS+mod(N*7,3)-1'", "setts=ts='PTS+mod(N*7,11)'",
			"setts=ts='PTS*1.001'", "setts=ts='PTS+gt(N,300)*33'", "setts=ts='PTS+gt(N,300)*101'",
		} {
			t.Run(fmt.Sprint(c.name, i), func(t *testing.T) {
				f, err := Open(t.Context(), avtest.Make(t, c.name, "-i", made, "-c", "copy", "-bsf:a", filter))
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				random := rand.New(rand.NewPCG(3, 4))
				for range 20 {
					from := random.IntN(36 * 44100)
					w := Window{Start: big.NewRat(int64(from), 44100), End: big.NewRat(int64(from+random.IntN(20000)), 44100)}
					got := windowOf(t, f, w)
					w.all = true
					want := windowOf(t, f, w)
					if !slices.EqualFunc(got, want, func(a, b float32) bool { return math.Abs(float64(a-b)) <= 1e-5 }) {
						t.Errorf("%v to %v: %d samples and %d, or others", w.Start, w.End, len(got), len(want))
					}
				}
			})
		}
	}
}
