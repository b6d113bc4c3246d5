//go:build cgo

package recode

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/avtest"
	"github.com/headrace/headrace/media/video"
)

// parts are what recorders and people join byte by byte, and how it is made here.
var parts = []struct{ suffix, how string }{
	{".ts", "-c:v libx264 -bf 2 -g 10 -c:a mp2"},
	{".ogv", "-c:v libtheora -g 10 -c:a libvorbis"},
	{".mkv", "-c:v libx264 -bf 2 -g 10 -c:a flac"},
	{".mpg", "-r 25 -c:v mpeg2video -bf 2 -g 12 -c:a mp2"},
	{".flv", "-c:v libx264 -bf 2 -g 10 -c:a aac -ar 44100"},
	{".avi", "-c:v mpeg4 -g 12 -c:a pcm_s16le"},
	{".wmv", "-c:v wmv2 -g 12 -c:a wmav2 -ar 44100"},
}

// join makes files and joins them.
func join(t testing.TB, suffix, how string) (joined string, each []string) {
	t.Helper()
	var all []byte
	for i, what := range []string{
		"testsrc2=s=64x48:r=10:d=4 -f lavfi -i sine=300:r=48000:d=4",
		"testsrc=s=64x48:r=10:d=3.6 -f lavfi -i sine=500:r=48000:d=3.6",
	} {
		path := avtest.Cached(t, "part"+string(rune('a'+i))+suffix, strings.Fields("-f lavfi -i "+what+" -pix_fmt yuv420p "+how)...)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all, each = append(all, b...), append(each, path)
	}
	joined = filepath.Join(t.TempDir(), "joined"+suffix)
	if err := os.WriteFile(joined, all, 0o600); err != nil {
		t.Fatal(err)
	}
	return joined, each
}

func opened(t testing.TB, path string) *os.File {
	t.Helper()
	f, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// streamed decodes the frames of a window of a file, one after the other.
func streamed(t testing.TB, f *os.File, w Window) (all [][]byte, at []float64) {
	t.Helper()
	r, err := OpenFrames(f, FramesOptions{Window: w})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		frame, time := make([]byte, r.Form().Bytes()), make([]float64, 1)
		n, err := r.Next(context.Background(), frame, time)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return all, at
		}
		all, at = append(all, frame), append(at, time[0])
	}
}

// What was joined is decoded as the parts are, one after the other: frames by their
// numbers and from beginning to end, windows, sound, and what is put into another
// container.
func TestJoinedFilesAreReadOneAfterTheOther(t *testing.T) {
	avtest.Library(t)
	for _, c := range parts[:tier.Cases(3, len(parts))] {
		t.Run(c.suffix, func(t *testing.T) {
			joined, each := join(t, c.suffix, c.how)
			f := opened(t, joined)

			var want, wantRGB [][]byte
			var wantAt []float64
			for _, path := range each {
				part := opened(t, path)
				gray, _ := frames(t, content(t, part))
				rgb, at := streamed(t, part, Window{})
				begins := 0.0
				if n := len(wantAt); n > 0 {
					begins = wantAt[n-1] + 0.1
				}
				for _, s := range at {
					wantAt = append(wantAt, begins+s)
				}
				want, wantRGB = append(want, gray...), append(wantRGB, rgb...)
			}
			got, _ := frames(t, content(t, f))
			if !slices.EqualFunc(got, want, bytes.Equal) {
				t.Errorf("%d frames by their numbers, not those %d of the parts", len(got), len(want))
			}
			all, at := streamed(t, f, Window{})
			if !slices.EqualFunc(all, wantRGB, bytes.Equal) {
				t.Errorf("%d frames one after the other, not those %d of the parts", len(all), len(want))
			}
			for i := range at {
				if d := at[i] - wantAt[i]; math.Abs(d) > 0.21 { // AVI has a frame more
					t.Fatalf("frame %d is at %.3f s, not at %.3f s", i, at[i], wantAt[i])
				}
			}

			for _, w := range [][2]string{{"3.5", "4.5"}, {"4", "5"}, {"6.2", ""}} {
				window := Window{}
				window.Start, _ = new(big.Rat).SetString(w[0])
				from, _ := window.Start.Float64()
				until := math.Inf(1)
				if w[1] != "" {
					window.End, _ = new(big.Rat).SetString(w[1])
					until, _ = window.End.Float64()
				}
				var want [][]byte
				for i := range all {
					if at[i] >= from-1e-9 && at[i] < until-1e-9 {
						want = append(want, all[i])
					}
				}
				if got, _ := streamed(t, f, window); !slices.EqualFunc(got, want, bytes.Equal) {
					t.Errorf("%v: %d frames, not those %d of the window", w, len(got), len(want))
				}
			}

			out, err := os.Create(filepath.Join(t.TempDir(), "out.mkv"))
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			if err := Remux(context.Background(), f, &Window{}, nil, out, Container{Format: "matroska"}); err != nil {
				t.Fatal(err)
			}
			if got, _ := frames(t, content(t, out)); !slices.EqualFunc(got, want, bytes.Equal) {
				t.Errorf("%d frames in another container, not those %d of the parts", len(got), len(want))
			}
			if got, _ := frames(t, demuxed(t, f, &Window{Streams: []string{"video"}})); !slices.EqualFunc(got, want, bytes.Equal) {
				t.Errorf("%d frames from packets, not those %d of the parts", len(got), len(want))
			}

			heard, _, _ := samples(t, content(t, f))
			if c.suffix != ".flv" && c.suffix != ".ogv" && c.suffix != ".wmv" { // of which the command reads the first alone
				same(t, "by the command", heard, floats(avtest.FFmpeg(t, "-i", joined, "-map", "0:a:0", "-f", "f32le", "-")))
			}
			same(t, "one after the other", heard, windowOf(t, f, Window{}))
		})
	}
}

// Joined MP4 is refused by all who would read its first part alone.
func TestJoinedMP4IsRefused(t *testing.T) {
	avtest.Library(t)
	for _, how := range []string{"-movflags frag_keyframe+empty_moov", "-movflags faststart", ""} {
		path, _ := join(t, ".mp4", "-c:v libx264 -c:a aac "+how)
		f := opened(t, path)
		out, err := os.Create(filepath.Join(t.TempDir(), "out.mkv"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		_, byNumber := video.Open(video.Bytes(content(t, f)), -1)
		_, byFrame := OpenFrames(f, FramesOptions{})
		_, late := OpenFrames(f, FramesOptions{Window: Window{Start: big.NewRat(5, 1)}})
		_, sound := OpenSamples(f, SamplesOptions{})
		_, both := OpenMedia(context.Background(), f, FramesOptions{}, SamplesOptions{})
		_, packets := Demux(context.Background(), f, &Window{}, nil, 1<<30)
		for door, err := range map[string]error{
			"load": byNumber, "stream": byFrame, "late": late, "sound": sound, "both": both, "demux": packets,
			"remux": Remux(context.Background(), f, &Window{}, nil, out, Container{Format: "matroska"}),
		} {
			if err == nil || !strings.Contains(err.Error(), "another file was joined to this one") || !errors.Is(err, media.ErrCorrupt) && door != "load" {
				t.Errorf("%s: %s: %v", how, door, err)
			}
		}
	}
}

func floats(b []byte) []float32 {
	all := make([]float32, len(b)/4)
	for i := range all {
		all[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return all
}

func same(t testing.TB, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d samples and %d", what, len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if d := got[i] - want[i]; d > 1e-4 || -d > 1e-4 {
			t.Errorf("%s: sample %d is %g and %g", what, i, got[i], want[i])
			return
		}
	}
}

// Windows of chained recordings are slices of what all are, though each has a decoder of
// its own.
func TestWindowsOfChains(t *testing.T) {
	avtest.Library(t)
	for name, how := range map[string][2]string{
		"vorbis": {"-c:a libvorbis -q 3", "-c:a libvorbis -q 8"},
		"opus":   {"-c:a libopus", "-c:a libopus"},
		"flac":   {"-c:a flac", "-c:a flac"},
		"mixed":  {"-c:a libvorbis", "-c:a libopus"},
	} {
		t.Run(name, func(t *testing.T) {
			var chain []byte
			for i, how := range how {
				args := "-f lavfi -i aevalsrc=0.3*sin(900*t*t)+0.1*random(" + string(rune('0'+i)) + "):s=48000:d=4.2 " + how
				chain = append(chain, content(t, opened(t, avtest.Cached(t, "chain.ogg", strings.Fields(args)...)))...)
			}
			path := filepath.Join(t.TempDir(), "chain.ogg")
			if err := os.WriteFile(path, chain, 0o600); err != nil {
				t.Fatal(err)
			}
			f := opened(t, path)
			all, rate, _ := samples(t, chain)
			same(t, "one after the other", windowOf(t, f, Window{}), all)
			for _, w := range [][2]int64{{3500, 4100}, {4100, 4300}, {4250, 4260}, {4200, 5000}, {6900, 7100}, {7000, 8400}} {
				window := Window{Start: big.NewRat(w[0], 1000), End: big.NewRat(w[1], 1000)}
				same(t, window.Start.RatString(), windowOf(t, f, window), all[int(w[0])*rate/1000:min(int(w[1])*rate/1000, len(all))])
			}
		})
	}
}

// Packets of all streams are known to restart without looking at them where long
// recordings are long.
func TestRestartsAreFound(t *testing.T) {
	avtest.Library(t)
	for _, c := range parts {
		joined, each := join(t, c.suffix, c.how)
		for _, path := range append(each, joined) {
			f := opened(t, path)
			r, format, _, err := open(f)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got, err := restarts(context.Background(), f, r, format)
			if want := path == joined && c.suffix != ".avi"; got != want || err != nil {
				t.Errorf("%s: %v %v, want %v", filepath.Base(path), got, err, want)
			}
			slow, err := restartsAny(context.Background(), f)
			if slow != got || err != nil {
				t.Errorf("%s: %v %v by its packets", filepath.Base(path), slow, err)
			}
			again, err := restarts(context.Background(), f, r, format)
			if again != got || err != nil {
				t.Errorf("%s: %v %v the second time", filepath.Base(path), again, err)
			}
		}
	}
}
