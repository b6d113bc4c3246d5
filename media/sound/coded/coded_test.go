//go:build cgo

package coded

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/headrace/headrace/media/internal/avtest"
	"github.com/headrace/headrace/media/sound"
)

// A tone, a sweep and noise, of two channels that differ.
func source(rate string) []string {
	return strings.Fields("-f lavfi -i aevalsrc=0.3*sin(440*2*PI*t)+0.2*sin(300*t*t)|0.3*sin(660*2*PI*t)+0.2*random(0):s=" + rate + ":d=2")
}

type fixture struct {
	name, rate, how string
	error           float64 // of windows; of the whole there is none
	padded          bool    // the command leaves in what the encoder has added at the end
}

var fixtures = []fixture{
	{name: "cbr.mp3", rate: "44100", how: "-c:a libmp3lame -b:a 128k"},
	{name: "vbr.mp3", rate: "44100", how: "-c:a libmp3lame -q:a 4"},
	{name: "low.mp3", rate: "16000", how: "-ac 1 -c:a libmp3lame -b:a 16k"},
	{name: "plain.mp3", rate: "48000", how: "-c:a libmp3lame -b:a 96k -write_xing 0 -id3v2_version 0"},
	{name: "a.mp2", rate: "48000", how: "-c:a mp2", error: 1.0 / (1 << 15)},
	{name: "a.flac", rate: "44100", how: "-c:a flac"},
	{name: "deep.flac", rate: "96000", how: "-c:a flac -sample_fmt s32"},
	{name: "a.ogg", rate: "44100", how: "-c:a libvorbis"},
	{name: "vorbis.mka", rate: "44100", how: "-c:a libvorbis"},
	{name: "flac.mka", rate: "44100", how: "-c:a flac"},
	{name: "mp3.mka", rate: "44100", how: "-c:a libmp3lame"},
	{name: "a.opus", rate: "48000", how: "-c:a libopus -b:a 64k", error: 1e-5},
	{name: "voice.opus", rate: "16000", how: "-ac 1 -c:a libopus -b:a 16k -application voip", error: 1e-5},
	{name: "a.webm", rate: "48000", how: "-c:a libopus -b:a 64k", error: 1e-5},
	{name: "opus.mp4", rate: "48000", how: "-c:a libopus -b:a 64k", error: 1e-5, padded: true},
	{name: "a.m4a", rate: "44100", how: "-c:a aac -aac_pns 0", padded: true},
	{name: "a.aac", rate: "44100", how: "-c:a aac -aac_pns 0"},
	{name: "a.ts", rate: "44100", how: "-c:a aac -aac_pns 0"},
	{name: "aac.mka", rate: "44100", how: "-c:a aac -aac_pns 0"},
	{name: "alac.m4a", rate: "44100", how: "-c:a alac"},
	{name: "alac.mka", rate: "44100", how: "-c:a alac"},
	{name: "a.aiff", rate: "44100", how: "-c:a pcm_s24be"},
	{name: "a.au", rate: "44100", how: "-c:a pcm_s16be"},
	{name: "pcm.mov", rate: "44100", how: "-c:a pcm_s16le"},
	{name: "s24.mov", rate: "44100", how: "-c:a pcm_s24le"},
	{name: "s8.mov", rate: "44100", how: "-c:a pcm_s8"},
	{name: "float.mov", rate: "96000", how: "-c:a pcm_f32le"},
	{name: "ac3.mp4", rate: "48000", how: "-c:a ac3", padded: true, error: 1},
	{name: "adpcm.caf", rate: "44100", how: "-c:a adpcm_ima_qt"},
	{name: "a.wma", rate: "44100", how: "-c:a wmav2"},
	{name: "low.wma", rate: "44100", how: "-c:a wmav2 -b:a 32k"},
	{name: "pcm.avi", rate: "44100", how: "-c:a pcm_s16le"},
}

func (f *fixture) path(t testing.TB) string {
	return avtest.Cached(t, f.name, append(source(f.rate), strings.Fields(f.how+" -map_metadata -1")...)...)
}

func open(t testing.TB, path string, track int) *Recording {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(b, sound.Options{Track: track})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// bytes are those of the file.
func (f *fixture) bytes(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile(f.path(t))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// wanted decodes with the command.
func wanted(t testing.TB, path string, args ...string) []float32 {
	t.Helper()
	b := avtest.FFmpeg(t, append(append([]string{"-i", path}, args...), "-f", "f32le", "-")...)
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

func off(a, b []float32) float64 {
	worst := 0.0
	for i := range a {
		if d := math.Abs(float64(a[i]) - float64(b[i])); !(d <= worst) {
			worst = d
		}
	}
	return worst
}

// The whole is what the ffmpeg command decodes, and each window is a slice of it.
func TestWindowsAreSlicesOfWhatFFmpegDecodes(t *testing.T) {
	avtest.Library(t)
	for _, f := range fixtures {
		t.Run(f.name, func(t *testing.T) {
			path := f.path(t)
			want := wanted(t, path)
			r := open(t, path, -1)
			i := r.Info()
			n := int(i.Samples) * i.Channels
			if f.padded {
				if spare := (len(want) - n) / i.Channels; spare < 0 || spare >= 2048 {
					t.Fatalf("%+v, and the command decodes %d", i, len(want)/i.Channels)
				}
				want = want[:n]
			}
			if n != len(want) {
				t.Fatalf("%+v, and the command decodes %d", i, len(want)/i.Channels)
			}
			whole := make([]float32, n)
			if err := r.Read(whole, 0); err != nil {
				t.Fatal(err)
			}
			if e := off(whole, want); e > 0 && f.error < 1 {
				t.Errorf("the whole is off by %g", e)
			}
			if err := r.Read(make([]float32, i.Channels), i.Samples); err == nil {
				t.Error("a sample after the last was read")
			}

			random := rand.New(rand.NewPCG(1, 2))
			for k := range 12 {
				one := r
				if k%4 == 0 {
					one = open(t, path, -1)
				}
				from := random.Int64N(i.Samples)
				part := make([]float32, (1+random.Int64N(min(i.Samples-from, 20000)))*int64(i.Channels))
				if err := one.Read(part, from); err != nil {
					t.Fatal(err)
				}
				if e := off(part, whole[int(from)*i.Channels:]); e > f.error {
					t.Errorf("%d samples from %d on are off by %g", len(part)/i.Channels, from, e)
				}
			}
		})
	}
}

// What an Ogg page says of the samples of Vorbis counts, also where it is the only one.
func TestShortVorbis(t *testing.T) {
	avtest.Library(t)
	for rate, samples := range map[string]int64{"8000": 7001, "16000": 4800, "44100": 8820, "48000": 130} {
		path := avtest.Cached(t, "short"+rate+".ogg", strings.Fields(fmt.Sprintf("-f lavfi -i aevalsrc=0.1*random(0):s=%s:d=1,atrim=end_sample=%d -c:a libvorbis", rate, samples))...)
		if n := open(t, path, -1).Info().Samples; n != samples {
			t.Errorf("%d samples at %s Hz, want %d", n, rate, samples)
		}
	}
}

// FFmpeg's decoder of Opus is some samples late where these have another rate inside. The
// command cuts the end before those come that are left.
func TestOpusThatIsLate(t *testing.T) {
	avtest.Library(t)
	path := avtest.Cached(t, "silk.webm", append(source("8000"), strings.Fields("-ac 1 -c:a libopus -b:a 12k -map_metadata -1")...)...)
	r, want := open(t, path, -1), wanted(t, path)
	whole := make([]float32, r.Info().Samples)
	if err := r.Read(whole, 0); err != nil {
		t.Fatal(err)
	}
	const late = 24
	if n := len(whole) - late; len(want) != len(whole) || off(whole[:n], want) > 0 {
		t.Errorf("%d samples, the command has %d; off by %g", len(whole), len(want), off(whole[:n], want))
	}
	for _, from := range []int64{50000, 100, 90000, 0, 70001} {
		part := make([]float32, min(5000, int64(len(whole))-from))
		if err := r.Read(part, from); err != nil {
			t.Fatal(err)
		}
		if e := off(part, whole[from:]); e > 1e-5 {
			t.Errorf("%d samples from %d on are off by %g", len(part), from, e)
		}
	}
}

var _ sound.Stream = (*Recording)(nil)
