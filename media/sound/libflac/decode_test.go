//go:build cgo

package libflac

import (
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/avtest"
	"github.com/headrace/headrace/media/sound"
	"github.com/headrace/headrace/media/sound/flac"
)

// frames are a second of tones and noise, and what libFLAC makes of it in order.
// media/sound/coded holds that against the ffmpeg command.
func frames(t testing.TB, how string) (file *flac.File, all [][]byte, want [][]float32) {
	t.Helper()
	args := "-f lavfi -i aevalsrc=0.3*sin(330*t*t/9)+0.1*random(0)|0.3*sin(210*t*t/7)+0.1*random(1):s=8000:d=1 -c:a flac -map_metadata -1 " + how
	b, err := os.ReadFile(avtest.Cached(t, "libflac"+strings.ReplaceAll(how, " ", "")+".flac", strings.Fields(args)...))
	if err != nil {
		t.Fatal(err)
	}
	if file, err = flac.Open(sound.InMemory(b)); err != nil {
		t.Fatal(err)
	}
	d := open(t, file)
	for at := int64(0); at < file.Samples; {
		fr, err := file.Find(at)
		if err != nil {
			t.Fatal(err)
		}
		bytes, _ := file.Bytes(fr)
		to := make([]float32, fr.Samples*file.Channels)
		if err := d.Decode(to, bytes); err != nil {
			t.Fatal(err)
		}
		all, want, at = append(all, slices.Clone(bytes)), append(want, to), at+int64(fr.Samples)
	}
	return file, all, want
}

func open(t testing.TB, file *flac.File) *decoder {
	t.Helper()
	d, err := newDecoder(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// Frames come in any order, again and again, also after others that are damaged: those
// are errors, and leave nothing behind.
func TestFramesInAnyOrder(t *testing.T) {
	for _, how := range []string{"-frame_size 192 -sample_fmt s16", "-frame_size 500 -sample_fmt s32", "-ac 1 -frame_size 1000 -sample_fmt s16"} {
		file, all, want := frames(t, how)
		d := open(t, file)
		random := rand.New(rand.NewPCG(1, uint64(len(all))))
		for range 2000 {
			k := random.IntN(len(all))
			b, to := all[k], make([]float32, len(want[k]))
			switch random.IntN(4) {
			case 0:
				b = slices.Clone(b)
				b[random.IntN(len(b))] ^= 1 << random.IntN(8)
			case 1:
				b = b[:random.IntN(len(b))]
			case 2:
				to = make([]float32, len(to)+file.Channels*(1-2*random.IntN(2)))
			default:
				if err := d.Decode(to, b); err != nil || !slices.Equal(to, want[k]) {
					t.Fatalf("%s: frame %d differs from before: %v", how, k, err)
				}
				continue
			}
			if err := d.Decode(to, b); !errors.Is(err, media.ErrCorrupt) {
				t.Fatalf("%s: frame %d of %d bytes, of which there are %d, into %d samples: %v", how, k, len(all[k]), len(b), len(to), err)
			}
		}
	}
}

// Whatever the bytes are, what is written is within its place, and a decoder goes on.
func FuzzDecode(f *testing.F) {
	file, all, want := frames(f, "-frame_size 192 -sample_fmt s16")
	for _, b := range all[:4] {
		f.Add([]byte(file.Config), b, len(want[0]))
	}
	f.Fuzz(func(t *testing.T, config, frame []byte, n int) {
		if len(config) < flac.ConfigSize || n < 0 || n > 1<<19 {
			return
		}
		channels := int(config[12]>>1&7) + 1
		d, err := newDecoder(&flac.File{Config: config, Channels: channels})
		if err != nil {
			return
		}
		defer d.Close()
		n -= n % channels
		memory := make([]float32, n+1)
		memory[n] = 7
		first := d.Decode(memory[:n:n], frame)
		if again := d.Decode(memory[:n:n], frame); (first == nil) != (again == nil) || memory[n] != 7 {
			t.Fatalf("first %v, and then %v", first, again)
		}
	})
}
