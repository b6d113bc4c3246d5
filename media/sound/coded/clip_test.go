//go:build cgo

package coded

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/media/internal/avtest"
	"github.com/headrace/headrace/media/sound"
	_ "github.com/headrace/headrace/media/sound/fast"
)

// cpu is how much CPU time this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func measured(b *testing.B, do func()) {
	b.Helper()
	do()
	begun := cpu()
	for b.Loop() {
		do()
	}
	b.ReportMetric(float64((cpu()-begun).Microseconds())/float64(b.N)/1000, "ms-CPU/op")
}

// A clip of 5 s from the middle of a minute of stereo, with all that it takes to find it,
// and FFmpeg's decoder alone with the packets of the clip and those before it.
func BenchmarkClipOfMP3(b *testing.B) {
	avtest.Library(b)
	path := avtest.Cached(b, "minute.mp3", "-f", "lavfi", "-i",
		"aevalsrc=0.3*sin(330*t*t/9)+0.1*random(0)|0.3*sin(210*t*t/7)+0.1*random(1):s=44100:d=60", "-b:a", "192k")
	file, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	to := make([]float32, 2*5*44100)

	b.Run("clip", func(b *testing.B) {
		measured(b, func() {
			r, err := Open(file, sound.Options{Track: -1})
			if err != nil {
				b.Fatal(err)
			}
			if err := r.Read(to, 55*44100/2); err != nil {
				b.Fatal(err)
			}
			r.Close()
		})
	})
	b.Run("open", func(b *testing.B) {
		measured(b, func() {
			r, err := Open(file, sound.Options{Track: -1})
			if err != nil {
				b.Fatal(err)
			}
			r.Close()
		})
	})
	b.Run("decoder", func(b *testing.B) {
		t, err := ofFrames(file, sound.Options{Track: -1})
		if err != nil {
			b.Fatal(err)
		}
		var packets []ffmpeg.Packet
		first := 55*44100/2/1152 - 10
		for _, p := range t.Packets[first:][:5*44100/1152+11] {
			packets = append(packets, ffmpeg.Packet{Offset: int(p.offset), Size: int(p.size), Key: true})
		}
		measured(b, func() {
			d, err := ffmpeg.NewDecoder(t.Decoder)
			if err != nil {
				b.Fatal(err)
			}
			defer d.Close()
			if err := d.Feed(file, packets, true); err != nil {
				b.Fatal(err)
			}
			for n := 0; ; n++ {
				if err := d.Next(new(ffmpeg.Frame)); err != nil {
					if n < len(packets)-2 {
						b.Fatal(n, err)
					}
					break
				}
			}
		})
	})
}

// The same clip of FLAC as it is, and as one channel of 16,000 samples a second.
func BenchmarkClipOfFLACAt16k(b *testing.B) {
	avtest.Library(b)
	file := minute(b)
	for _, rate := range []int{44100, 16000} {
		b.Run(strconv.Itoa(rate), func(b *testing.B) {
			channels := map[int]int{44100: 2, 16000: 1}[rate]
			to := make([]float32, 5*rate*channels)
			measured(b, func() {
				r, err := flacFormat.OpenAt(&disk{Reader: bytes.NewReader(file)}, sound.Options{Track: -1})
				if err != nil {
					b.Fatal(err)
				}
				w, err := sound.NewWindow(r, rate, channels)
				if err != nil {
					b.Fatal(err)
				}
				if err := w.Read(to, int64(55*rate/2)); err != nil {
					b.Fatal(err)
				}
				w.Close()
			})
		})
	}
}
