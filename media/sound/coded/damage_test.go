//go:build cgo

package coded

import (
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/avtest"
	"github.com/headrace/headrace/media/sound"
)

// all reads a whole file.
func all(b []byte) (int64, error) {
	r, err := Open(b, sound.Options{Track: -1})
	if err != nil {
		return 0, err
	}
	defer r.Close()
	if n := r.Info().Samples; n > 1<<24 {
		return 0, errors.New("longer than the test reads")
	}
	return r.Info().Samples, r.Read(make([]float32, r.Info().Samples*int64(r.Info().Channels)), 0)
}

// A file that is cut or damaged is an error, or what is left of it is read: nothing else
// happens.
func TestDamagedFiles(t *testing.T) {
	avtest.Library(t)
	random := rand.New(rand.NewPCG(3, 4))
	for _, f := range fixtures {
		b := f.bytes(t)
		whole, err := all(b)
		if err != nil {
			t.Fatal(f.name, err)
		}
		for range 3 {
			if n, err := all(b[:random.IntN(len(b))]); err == nil && n > whole {
				t.Errorf("%s: %d samples of a file that was cut, of %d", f.name, n, whole)
			}
			bad := append([]byte(nil), b...)
			for range 20 {
				bad[random.IntN(len(bad))] ^= 1 << random.IntN(8)
			}
			all(bad)
		}
	}
}

// FLAC is lossless in other containers, too: a packet that is damaged is an error.
func TestDamagedPacketsOfFLAC(t *testing.T) {
	avtest.Library(t)
	random := rand.New(rand.NewPCG(11, 12))
	f := fixture{name: "flac.mka", rate: "44100", how: "-c:a flac"}
	b := f.bytes(t)
	r, err := Open(b, sound.Options{Track: -1})
	if err != nil {
		t.Fatal(err)
	}
	packets := r.track.Packets
	r.Close()
	for range 60 {
		p := packets[random.IntN(len(packets))]
		bad := append([]byte(nil), b...)
		bad[int(p.offset)+random.IntN(int(p.size))] ^= 1 << random.IntN(8)
		if _, err := all(bad); !errors.Is(err, media.ErrCorrupt) {
			t.Errorf("a bit of the packet at %d, %v", p.offset, err)
		}
	}
}

// Files that say how long they are tell when they are cut.
func TestFilesThatWereCut(t *testing.T) {
	avtest.Library(t)
	for _, f := range fixtures {
		switch f.name {
		case "cbr.mp3", "a.m4a", "alac.m4a", "a.flac":
			b := f.bytes(t)
			if _, err := all(b[:len(b)*9/10]); !errors.Is(err, media.ErrCorrupt) && (err == nil || !strings.Contains(err.Error(), "mp4:")) || err != nil && strings.Contains(err.Error(), "image") {
				t.Errorf("%s: %v", f.name, err)
			}
		}
	}
}

func TestTracks(t *testing.T) {
	avtest.Library(t)
	args := strings.Fields("-f lavfi -i sine=f=440:d=0.5 -f lavfi -i sine=f=880:d=0.7 -f lavfi -i testsrc2=s=64x48:d=0.5 -map 2 -map 0 -map 1 -c:v mpeg4 -c:a pcm_s16le -disposition:a:0 0 -disposition:a:1 default")
	for _, name := range []string{"two.mov", "two.mkv"} {
		path := avtest.Cached(t, name, args...)
		for track, want := range map[int]string{0: "0:a:0", 1: "0:a:1"} {
			r := open(t, path, track)
			got := make([]float32, r.Info().Samples)
			if err := r.Read(got, 0); err != nil {
				t.Fatal(err)
			}
			if w := wanted(t, path, "-map", want); len(w) != len(got) || off(got, w) > 0 {
				t.Errorf("%s: track %d has %d samples, of %d", name, track, len(got), len(w))
			}
		}
		if n := open(t, path, -1).Info().Samples; n != open(t, path, 1).Info().Samples {
			t.Errorf("%s: the default has %d samples", name, n)
		}
		b, _ := os.ReadFile(path)
		if _, err := Open(b, sound.Options{Track: 2}); !errors.Is(err, media.ErrUnsupported) || !strings.Contains(err.Error(), "the file has 2, counted from 0") {
			t.Error(err)
		}
	}
	silent := avtest.Cached(t, "silent.mp4", strings.Fields("-f lavfi -i testsrc2=s=64x48:d=0.5 -c:v mpeg4")...)
	b, _ := os.ReadFile(silent)
	if _, err := Open(b, sound.Options{Track: -1}); err == nil || !strings.Contains(err.Error(), "the file has no audio") {
		t.Error(err)
	}
}
