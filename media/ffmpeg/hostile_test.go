//go:build cgo

package ffmpeg

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/avtest"
	"github.com/headrace/headrace/media/yuv"
	_ "github.com/headrace/headrace/media/yuv/fast" // damaged frames are converted, too
)

// damagedFilms are what is damaged: a codec of each family.
var damagedFilms = []string{"h264", "h264 10", "hevc", "vp9", "av1", "mpeg4", "mpeg2", "mjpeg", "ffv1 gray", "png"}

// play decodes as much as there is, and looks at every byte of the frames.
func play(t testing.TB, s Stream, data []byte, packets []Packet) (frames int) {
	d, err := NewDecoder(s)
	if err != nil {
		if !errors.Is(err, media.ErrCorrupt) && !errors.Is(err, media.ErrUnsupported) {
			t.Fatal(err)
		}
		return 0
	}
	defer d.Close()
	if err := d.Feed(data, packets, true); err != nil {
		t.Fatal(err)
	}
	var f Frame
	for {
		err := d.Next(&f)
		var bad *PacketError
		switch {
		case err == io.EOF:
			return frames
		case errors.As(err, &bad):
			if bad.Packet < 0 || bad.Packet >= len(packets) || !errors.Is(err, media.ErrCorrupt) && !errors.Is(err, media.ErrUnsupported) {
				t.Fatalf("packet %d: %v", bad.Packet, err)
			}
			continue
		case err != nil:
			t.Fatal(err)
		}
		frames++
		p := &f.Image.Picture
		if p.Kind == 0 {
			continue
		}
		if f.Packet < -1 || f.Packet >= len(packets) {
			t.Fatalf("a frame of packet %d", f.Packet)
		}
		if p.Width*p.Height <= 1<<16 {
			to := yuv.Target{Data: make([]byte, 3*p.Width*p.Height), Stride: 3 * p.Width}
			if err := yuv.Convert(to, p); err != nil && !errors.Is(err, yuv.ErrUnsupported) {
				t.Fatal(err)
			}
		}
	}
}

// damage flips bits, cuts packets short, drops them or has them come again.
func damage(r *rand.Rand, data []byte, packets []Packet) ([]byte, []Packet) {
	data, packets = slices.Clone(data), slices.Clone(packets)
	for range 1 + r.IntN(4) {
		i := r.IntN(len(packets))
		p := &packets[i]
		switch r.IntN(5) {
		case 0:
			p.Size = r.IntN(p.Size + 1)
		case 1:
			packets = slices.Delete(packets, i, min(i+1, max(len(packets)-1, i)))
		case 2:
			packets = slices.Insert(packets, r.IntN(len(packets)), *p)
		default:
			for range 1 + r.IntN(8) {
				if p.Size > 0 {
					data[p.Offset+r.IntN(p.Size)] ^= 1 << r.IntN(8)
				}
			}
		}
	}
	return data, packets
}

type recorded struct {
	stream  Stream
	data    []byte
	packets []Packet
}

func record(t testing.TB, name string) recorded {
	r := avtest.Read(t, film(t, name, "64x64", 6), "v:0")
	data, packets := sideBySide(r.Packets)
	return recorded{streamOf(r), data, packets}
}

// Damaged packets are errors or damaged frames.
func TestDamage(t *testing.T) {
	avtest.Library(t)
	for _, name := range damagedFilms {
		t.Run(name, func(t *testing.T) {
			film := record(t, name)
			r := rand.New(rand.NewPCG(1, 2))
			for range tier.Cases(10, 40) {
				data, packets := damage(r, film.data, film.packets)
				play(t, film.stream, data, packets)
			}
			for range tier.Cases(5, 20) {
				s := film.stream
				s.Config = slices.Clone(s.Config)
				if len(s.Config) > 0 {
					s.Config[r.IntN(len(s.Config))] ^= 1 << r.IntN(8)
				}
				s.Config = s.Config[:r.IntN(len(s.Config)+1)]
				play(t, s, film.data, film.packets)
			}
		})
	}
}

func FuzzPackets(f *testing.F) {
	avtest.Library(f)
	var films []recorded
	for i, name := range damagedFilms {
		films = append(films, record(f, name))
		f.Add(uint8(i), uint64(0))
	}
	f.Fuzz(func(t *testing.T, which uint8, seed uint64) {
		film := films[int(which)%len(films)]
		data, packets := damage(rand.New(rand.NewPCG(seed, 1)), film.data, film.packets)
		play(t, film.stream, data, packets)
	})
}

// Many decoders, every second on damaged packets, and some left to the garbage
// collector, leave memory, descriptors and threads as they were.
func TestNothingIsLeft(t *testing.T) {
	avtest.Library(t)
	runtime.LockOSThread() // the C library has memory of its own for each thread
	defer runtime.UnlockOSThread()
	for _, name := range []string{"h264", "hevc", "vp9", "av1"} {
		film := record(t, name)
		r := rand.New(rand.NewPCG(3, 4))
		run := func(n int) {
			for i := range n {
				data, packets := film.data, film.packets
				if i%2 == 1 {
					data, packets = damage(r, data, packets)
				}
				play(t, film.stream, data, packets)
			}
			runtime.GC()
		}
		run(tier.Cases(50, 100))
		kilobytes, descriptors, threads := resources(t)
		rounds := tier.Cases(100, 500)
		run(rounds)
		after, open, running := resources(t)
		t.Logf("%s: %d → %d kB, %d → %d descriptors, %d → %d threads", name, kilobytes, after, descriptors, open, threads, running)
		if after > kilobytes+8<<10 && !avtest.Instrumented {
			t.Errorf("%s: %d kB became %d", name, kilobytes, after)
		}
		if open > descriptors || running > threads+rounds/10 { // Go starts some
			t.Errorf("%s: %d descriptors became %d, %d threads %d", name, descriptors, open, threads, running)
		}
	}
}

// Decoders side by side have no threads of their own.
func TestThreads(t *testing.T) {
	avtest.Library(t)
	for _, name := range []string{"h264", "hevc", "vp9", "av1"} {
		film := record(t, name)
		_, _, before := resources(t)
		for range 40 {
			d, err := NewDecoder(film.stream)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if err := d.Feed(film.data, film.packets, false); err != nil {
				t.Fatal(err)
			}
			if err := each(d, func(*Frame) {}); err != ErrNeeds {
				t.Fatal(err)
			}
		}
		if _, _, after := resources(t); after > before+15 { // Go starts some
			t.Errorf("%s: 40 decoders have %d threads more", name, after-before)
		}
	}
}

// A decoder that is forgotten is closed by the garbage collector.
func TestForgotten(t *testing.T) {
	avtest.Library(t)
	film := record(t, "mpeg4")
	forget := func(n int) {
		for range n {
			d, err := NewDecoder(film.stream)
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Feed(film.data, film.packets, true); err != nil {
				t.Fatal(err)
			}
			if err := each(d, func(*Frame) {}); err != nil {
				t.Fatal(err)
			}
			runtime.GC()
		}
	}
	forget(50)
	before, _, _ := resources(t)
	forget(300)
	if after, _, _ := resources(t); after > before+16<<10 && !avtest.Instrumented { // each holds above 200 kB
		t.Errorf("%d kB became %d", before, after)
	}
}

// resources are those of this process.
func resources(t *testing.T) (kilobytes, descriptors, threads int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		number := func(name string, to *int) {
			if rest, ok := strings.CutPrefix(line, name); ok {
				for _, c := range strings.Fields(rest)[0] {
					*to = 10**to + int(c-'0')
				}
			}
		}
		number("VmRSS:", &kilobytes)
		number("Threads:", &threads)
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes, len(open), threads
}
