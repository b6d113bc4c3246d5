//go:build cgo

package coded

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/media/internal/avtest"
	"github.com/headrace/headrace/media/sound"
)

// recordings makes files of a kind, with sound of their own.
func recordings(t *testing.T, suffix string, how ...string) (each [][]byte) {
	t.Helper()
	for i, how := range how {
		seconds := []string{"1.234", "0.777", "0.9"}[i]
		args := "-f lavfi -i aevalsrc=0.3*sin(" + []string{"2000*t", "5000*t*t", "900*t"}[i] + ")+0.1*random(" + string(rune('0'+i)) + "):s=48000:d=" + seconds + " " + how
		b, err := os.ReadFile(avtest.Cached(t, "chain"+suffix, strings.Fields(args)...))
		if err != nil {
			t.Fatal(err)
		}
		each = append(each, b)
	}
	return each
}

func samplesOf(t *testing.T, file []byte) []float32 {
	t.Helper()
	s, err := sound.Open(file, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all := make([]float32, int(s.Info().Samples)*s.Info().Channels)
	if err := s.Read(all, 0); err != nil {
		t.Fatal(err)
	}
	return all
}

// A chain is its recordings one after the other, each as if it were alone; windows of it
// are slices of that, wherever they begin.
func TestChainsAreTheirRecordings(t *testing.T) {
	avtest.Library(t)
	for suffix, how := range map[string][]string{
		".vorbis.ogg": {"-c:a libvorbis -q 3", "-c:a libvorbis -q 3", "-c:a libvorbis -q 8"},
		".opus.ogg":   {"-c:a libopus", "-c:a libopus", "-c:a libopus -b:a 24k -frame_duration 60"},
		".flac.ogg":   {"-c:a flac", "-c:a flac", "-c:a flac"},
		".mixed.ogg":  {"-c:a libvorbis", "-c:a libopus", "-c:a flac"},
		".flv":        {"-ar 44100 -c:a aac -aac_pns 0", "-ar 44100 -c:a libmp3lame", "-ar 44100 -c:a aac -aac_pns 0"},
	} {
		t.Run(suffix, func(t *testing.T) {
			each := recordings(t, suffix, how...)
			var want []float32
			for _, file := range each {
				want = append(want, samplesOf(t, file)...)
			}
			chain := slices.Concat(each...)
			if got := samplesOf(t, chain); !slices.Equal(got, want) {
				t.Fatalf("%d samples are not the %d of the recordings", len(got), len(want))
			}

			s, err := sound.Open(chain, -1)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			random := rand.New(rand.NewPCG(1, 2))
			for range 20 {
				from := random.IntN(len(want))
				got := make([]float32, random.IntN(len(want)-from)/2)
				if err := s.Read(got, int64(from)); err != nil {
					t.Fatal(err)
				}
				for i := range got {
					if d := got[i] - want[from+i]; d > 1e-5 || -d > 1e-5 {
						t.Fatalf("sample %d of those from %d on is %g, not %g", i, from, got[i], want[from+i])
					}
				}
			}
			if err := s.Read(make([]float32, 2), int64(len(want)-1)); err == nil {
				t.Error("a sample after the last")
			}
		})
	}
}

func TestChainsThatChangeAreRefused(t *testing.T) {
	avtest.Library(t)
	for name, how := range map[string]string{"at 44100": "-ar 44100 -c:a libvorbis", "2 at 48000": "-ac 2 -c:a libvorbis"} {
		each := recordings(t, ".ogg", "-c:a libvorbis", how)
		_, err := sound.Open(slices.Concat(each...), -1)
		if err == nil || !strings.Contains(err.Error(), "chain of recordings, of which number 2 begins at 1.2") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	each := recordings(t, ".ogg", "-c:a libvorbis", "-c:a libvorbis")
	_, err := sound.Open(slices.Concat(each[0], each[1][:2000]), -1)
	if err == nil || !strings.Contains(err.Error(), "number 2 begins") {
		t.Errorf("the second is cut off: %v", err)
	}
}
