//go:build cgo

package recode

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av/walk"
	"github.com/headrace/headrace/media/internal/avtest"
	"github.com/headrace/headrace/media/sound"
	"github.com/headrace/headrace/media/video"
)

// damagedAt returns a file with damage of some kind in its middle.
func damagedAt(random *rand.Rand, file []byte) []byte {
	at := len(file)/4 + random.IntN(len(file)/2)
	n := []int{1, 3, 40, 300, 2000}[random.IntN(5)]
	n = min(n, len(file)-at)
	noise := make([]byte, n)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	switch random.IntN(6) {
	case 0:
		file = slices.Clone(file)
		file[at] ^= 1 << random.IntN(8)
		return file
	case 1:
		return slices.Concat(file[:at], noise, file[at+n:])
	case 2:
		return slices.Concat(file[:at], make([]byte, n), file[at+n:])
	case 3:
		return slices.Concat(file[:at], file[at+n:])
	case 4:
		return slices.Concat(file[:at], noise, file[at:])
	}
	return slices.Concat(file[:at], file[max(at-n, 0):])
}

// tryHear decodes a file at once.
func tryHear(file []byte, keep bool) (all []float32, err error) {
	s, err := sound.OpenWith(file, sound.Options{Track: -1, Keep: keep})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	all = make([]float32, s.Info().Samples*int64(s.Info().Channels))
	return all, s.Read(all, 0)
}

// tryFlow decodes it from its beginning to its end.
func tryFlow(f *os.File) (all []float32, err error) {
	s, err := OpenSamples(f, SamplesOptions{})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for room := make([]float32, s.Channels()<<12); ; {
		n, err := s.Next(context.Background(), room)
		if err != nil || n == 0 {
			return all, err
		}
		all = append(all, room[:n*s.Channels()]...)
	}
}

func alike(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return x-y < 1e-4 && y-x < 1e-4 })
}

// Demuxers skip damage in the middle of a file. Here it is an error, with a remedy, read
// at once and from the beginning to the end; or nothing is missing.
func TestDamageInTheMiddle(t *testing.T) {
	avtest.Library(t)
	const noise = "-f lavfi -i aevalsrc=0.3*sin(440*2*PI*t)+0.2*sin(30*t*t)+0.2*random(0):s=48000:d=4 "
	for _, c := range []struct {
		name, how string
		sums      bool // of all that is in it
		head      int  // samples of a packet that says in its first bytes how many it has
	}{
		{"a.opus", "-c:a libopus", true, 0},
		{"a.ogg", "-c:a libvorbis", true, 0},
		{"flac.ogg", "-c:a flac", true, 0},
		{"two.ogv", "-f lavfi -i testsrc2=s=64x48:d=4 -c:v libtheora -c:a libvorbis", true, 0},
		{"opus.webm", "-c:a libopus", false, 4 * 2880},
		{"live.webm", "-c:a libopus -live 1 -f webm", false, 4 * 2880},
		{"pcm.mka", "-c:a pcm_s16le", true, 0},
		{"mp3.mkv", "-c:a libmp3lame -write_crc32 0", false, 0},
		{"mp3.flv", "-ar 44100 -c:a libmp3lame", false, 0},
		{"aac.flv", "-c:a aac -aac_pns 0", false, 0},
		{"pcm.avi", "-c:a pcm_s16le", false, 0},
		{"mp3.avi", "-c:a libmp3lame", false, 0},
		{"opus.ts", "-c:a libopus", false, 4 * 2880},
		{"mp2.ts", "-c:a mp2", false, 0},
		{"mp2.mpg", "-c:a mp2", false, 0},
		{"a.eac3", "-c:a eac3", false, 1536},
		{"a.tta", "-c:a tta", true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := content(t, opened(t, avtest.Cached(t, "hole-"+c.name, strings.Fields(noise+c.how)...)))
			all, err := tryHear(file, false)
			if err != nil {
				t.Fatal(err)
			}
			random := rand.New(rand.NewPCG(5, uint64(len(c.name))))
			path := filepath.Join(t.TempDir(), "bad")
			for n := range tier.Cases(4, 300) {
				bad := damagedAt(random, file)
				if err := os.WriteFile(path, bad, 0o600); err != nil {
					t.Fatal(err)
				}
				once, wrong := tryHear(bad, false)
				flow, failed := tryFlow(opened(t, path))
				switch {
				case (wrong == nil) != (failed == nil):
					t.Errorf("damage %d: at once %v, to the end %v", n, wrong, failed)
				case wrong != nil && errors.As(wrong, new(*walk.Damage)):
					if !strings.Contains(wrong.Error(), sound.Remedy) || !strings.Contains(failed.Error(), sound.Remedy) || !errors.Is(wrong, media.ErrCorrupt) {
						t.Errorf("damage %d: at once %v, to the end %v", n, wrong, failed)
					}
				case wrong != nil:
				case max(len(once)-len(all), len(all)-len(once)) > c.head || !alike(once, flow):
					t.Errorf("damage %d: %d and %d samples of %d", n, len(once), len(flow), len(all))
				case c.sums && !bytes.Equal(bad, file):
					t.Errorf("damage %d is not noticed", n)
				}
			}
		})
	}
}

// Damage that is kept leaves out what the demuxer does, and is told.
func TestDamageInTheMiddleIsKept(t *testing.T) {
	avtest.Library(t)
	path := avtest.Cached(t, "kept.opus", strings.Fields("-f lavfi -i sine=f=300:r=48000:d=4 -c:a libopus -b:a 64k")...)
	file := content(t, opened(t, path))
	all, _ := tryHear(file, false)
	bad := slices.Clone(file)
	bad[len(bad)/2] ^= 1
	at := filepath.Join(t.TempDir(), "bad.opus")
	if err := os.WriteFile(at, bad, 0o600); err != nil {
		t.Fatal(err)
	}

	kept, err := tryHear(bad, true)
	if err != nil || len(kept) == 0 || len(kept) >= len(all) {
		t.Errorf("%d samples of %d, %v", len(kept), len(all), err)
	}
	s, err := sound.OpenWith(bad, sound.Options{Track: -1, Keep: true})
	if err != nil || !sound.Damaged(s) {
		t.Fatal("it is whole", err)
	}
	s.Close()
	if _, err := Demux(context.Background(), opened(t, at), &Window{}, nil, 1<<30); err == nil || !strings.Contains(err.Error(), remedy) {
		t.Error(err)
	}
}

// A video of which packets are missing is an error that names what keeps the rest.
func TestDamageInTheMiddleOfVideo(t *testing.T) {
	avtest.Library(t)
	for name, how := range map[string]string{
		"film.ogv": "-c:v libtheora -g 5", "film.mkv": "-c:v libx264 -g 5", "film.flv": "-c:v flv", "film.avi": "-c:v mpeg4 -vtag xvid", "film.ts": "-c:v mpeg2video",
	} {
		file := content(t, opened(t, avtest.Cached(t, "hole-"+name, strings.Fields("-f lavfi -i testsrc2=s=64x48:r=25 -frames:v 40 -pix_fmt yuv420p "+how)...)))
		bad := slices.Concat(file[:len(file)/2], make([]byte, 400), file[len(file)/2:])
		if _, err := video.Open(video.Bytes(bad), -1); !errors.Is(err, media.ErrCorrupt) || !strings.Contains(err.Error(), "damaged at byte") || !strings.Contains(err.Error(), video.Remedy) {
			t.Errorf("%s: %v", name, err)
		}
		if v, err := video.OpenKept(video.Bytes(bad), -1); err != nil || !errors.Is(v.Short, media.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := OpenFrames(opened(t, path), FramesOptions{})
		for n := 1; err == nil && n > 0; {
			n, err = r.Next(context.Background(), make([]byte, r.Form().Bytes()), make([]float64, 1))
		}
		if err == nil || !strings.Contains(err.Error(), "damaged") || name != "film.avi" && !strings.Contains(err.Error(), video.Remedy) {
			t.Errorf("%s, to the end: %v", name, err)
		}
		if r != nil {
			r.Close()
		}
	}
}
