//go:build cgo

package coded

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/avtest"
	"github.com/headrace/headrace/media/sound"
)

var flacs = []fixture{
	{name: "a.flac", rate: "44100", how: "-c:a flac"},
	{name: "deep.flac", rate: "96000", how: "-c:a flac -sample_fmt s32"},
	{name: "small.flac", rate: "8000", how: "-c:a flac -frame_size 192"},
	{name: "large.flac", rate: "44100", how: "-c:a flac -frame_size 16384 -compression_level 0"},
	{name: "mono.flac", rate: "22050", how: "-ac 1 -c:a flac"},
	{name: "six.flac", rate: "48000", how: "-ac 6 -c:a flac"},
	{name: "odd.flac", rate: "11111", how: "-c:a flac"},
	{name: "silent.flac", rate: "44100", how: "-af volume=0 -c:a flac"},
}

// minute is one of stereo, which does not compress well.
func minute(t testing.TB) []byte {
	t.Helper()
	how := "-f lavfi -i aevalsrc=0.3*sin(330*t*t/9)+0.1*random(0)|0.3*sin(210*t*t/7)+0.1*random(1):s=44100:d=60 -c:a flac -sample_fmt s16 -map_metadata -1"
	b, err := os.ReadFile(avtest.Cached(t, "minute.flac", strings.Fields(how)...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// disk is a file that is not in memory. It notes how many bytes were read.
type disk struct {
	*bytes.Reader
	read int
}

func (d *disk) ReadAt(p []byte, at int64) (int, error) {
	n, err := d.Reader.ReadAt(p, at)
	d.read += n
	return n, err
}

// Windows of FLAC files are slices of what the ffmpeg command decodes, in memory and from
// a disk, of which little is read.
func TestFLAC(t *testing.T) { eachDecoder(t, testFLAC) }

func testFLAC(t *testing.T) {
	avtest.Library(t)
	random := rand.New(rand.NewPCG(5, 6))
	for _, f := range flacs {
		want, b := wanted(t, f.path(t)), f.bytes(t)
		if !flacFormat.Is(b[:sound.LeastHead]) {
			t.Errorf("%s is not read in parts", f.name)
		}
		for _, tail := range []string{"", "TAG" + strings.Repeat(" ", 125)} {
			all := append(append([]byte(nil), b...), tail...)
			apart := &disk{Reader: bytes.NewReader(all)}
			one, err := flacFormat.Open(all, sound.Options{Track: -1})
			other, same := flacFormat.OpenAt(apart, sound.Options{})
			if err != nil || same != nil {
				t.Fatal(f.name, err, same)
			}
			defer one.Close()
			defer other.Close()
			i := one.Info()
			if n := int(i.Samples) * i.Channels; i != other.Info() || n != len(want) {
				t.Fatalf("%s: %+v, %+v, and the command decodes %d", f.name, i, other.Info(), len(want))
			}
			for _, r := range []sound.Stream{one, other} {
				whole := make([]float32, len(want))
				if err := r.Read(whole, 0); err != nil || off(whole, want) > 0 {
					t.Errorf("%s: the whole is off by %g: %v", f.name, off(whole, want), err)
				}
				for range 20 {
					from := random.Int64N(i.Samples)
					part := make([]float32, (1+random.Int64N(min(i.Samples-from, 20000)))*int64(i.Channels))
					if err := r.Read(part, from); err != nil || off(part, want[int(from)*i.Channels:]) > 0 {
						t.Errorf("%s: %d samples from %d on are off: %v", f.name, len(part)/i.Channels, from, err)
					}
				}
			}
			if err := one.Read(make([]float32, i.Channels), i.Samples); err == nil {
				t.Error("a sample after the last was read")
			}
		}
	}
}

func TestAWindowOfFLACCostsItsBytes(t *testing.T) {
	avtest.Library(t)
	b := minute(t)
	d := &disk{Reader: bytes.NewReader(b)}
	r, err := flacFormat.OpenAt(d, sound.Options{Track: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Read(make([]float32, 2*44100), 30*44100); err != nil {
		t.Fatal(err)
	}
	if most := len(b)/60*3/2 + 8*64<<10; d.read > most {
		t.Errorf("%d of %d bytes were read, at most %d are to be", d.read, len(b), most)
	}
}

// Damage is an error, or it is somewhere else than what is read: samples are never
// others.
func TestDamagedFLAC(t *testing.T) { eachDecoder(t, testDamagedFLAC) }

func testDamagedFLAC(t *testing.T) {
	avtest.Library(t)
	random := rand.New(rand.NewPCG(7, 8))
	for _, f := range flacs {
		want, b := wanted(t, f.path(t)), f.bytes(t)
		for round := range 60 {
			bad := append([]byte(nil), b...)
			switch {
			case round%3 == 0:
				bad = bad[:random.IntN(len(bad))]
			default:
				for range 1 + random.IntN(3) {
					bad[100+random.IntN(len(bad)-100)] ^= 1 << random.IntN(8)
				}
			}
			r, err := flacFormat.OpenAt(&disk{Reader: bytes.NewReader(bad)}, sound.Options{Track: -1})
			if err != nil {
				if round%3 == 0 && len(bad) > 1000 && !errors.Is(err, media.ErrCorrupt) {
					t.Errorf("%s, cut: %v", f.name, err)
				}
				continue
			}
			i := r.Info()
			for range 20 {
				from := random.Int64N(i.Samples)
				part := make([]float32, min(i.Samples-from, 3000)*int64(i.Channels))
				err := r.Read(part, from)
				if err != nil && !errors.Is(err, media.ErrCorrupt) {
					t.Errorf("%s: %v", f.name, err)
				}
				if err == nil && off(part, want[int(from)*i.Channels:]) > 0 {
					t.Errorf("%s: damage gave other samples", f.name)
				}
			}
			r.Close()
		}
	}
}

var _ io.ReaderAt = (*disk)(nil)

// A clip of 5 s from the middle of a minute of stereo, with all that it takes to find it.
func BenchmarkClipOfFLAC(b *testing.B) {
	avtest.Library(b)
	file, to := minute(b), make([]float32, 2*5*44100)
	for b.Loop() {
		r, err := flacFormat.OpenAt(&disk{Reader: bytes.NewReader(file)}, sound.Options{Track: -1})
		if err != nil {
			b.Fatal(err)
		}
		if err := r.Read(to, 27*44100); err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}
