//go:build cgo

package ffmpeg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/avtest"
	"github.com/headrace/headrace/media/yuv"
)

// films are one of each codec, with B-frames where it has them.
var films = map[string][]string{
	"h264":       {"film.mp4", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "10", "-bf", "3"},
	"h264 10":    {"film.mp4", "-c:v", "libx264", "-pix_fmt", "yuv422p10le", "-g", "10", "-bf", "3"},
	"h264 4:4:4": {"film.mkv", "-c:v", "libx264", "-pix_fmt", "yuv444p", "-qp", "0"},
	"h264 gray":  {"film.mp4", "-c:v", "libx264", "-pix_fmt", "gray"},
	"hevc":       {"film.mp4", "-c:v", "libx265", "-x265-params", "log-level=error:keyint=10", "-pix_fmt", "yuv420p"},
	"hevc 10":    {"film.mp4", "-c:v", "libx265", "-x265-params", "log-level=error:keyint=10", "-pix_fmt", "yuv420p10le"},
	"vp9":        {"film.webm", "-c:v", "libvpx-vp9", "-g", "10", "-auto-alt-ref", "1", "-lag-in-frames", "16"},
	"vp9 10":     {"film.webm", "-c:v", "libvpx-vp9", "-pix_fmt", "yuv420p10le", "-profile:v", "2"},
	"av1":        {"film.mp4", "-c:v", "libsvtav1", "-preset", "12", "-g", "10"},
	"av1 10":     {"film.mp4", "-c:v", "libsvtav1", "-preset", "12", "-pix_fmt", "yuv420p10le"},
	"mpeg4":      {"film.mp4", "-c:v", "mpeg4", "-bf", "2", "-g", "10"},
	"mpeg2":      {"film.mkv", "-c:v", "mpeg2video", "-bf", "2"},
	"mjpeg":      {"film.mkv", "-c:v", "mjpeg", "-pix_fmt", "yuvj422p"},
	"ffv1 gray":  {"film.mkv", "-c:v", "ffv1", "-pix_fmt", "gray16le"},
	"ffv1 rgb":   {"film.mkv", "-c:v", "ffv1", "-pix_fmt", "gbrp10le"},
	"png":        {"film.mkv", "-c:v", "png", "-pix_fmt", "rgb24"},
}

func film(t testing.TB, name, size string, frames int) string {
	args := films[name]
	return avtest.Make(t, args[0], append(avtest.Moving(size, frames), args[1:]...)...)
}

func streamOf(r avtest.Recording) Stream {
	s := Stream{Codec: r.Codec, Config: r.Config, Width: r.Width, Height: r.Height, Reorder: r.Reorder}
	if r.Rate > 0 {
		s.Audio, s.Rate, s.Channels = true, r.Rate, r.Channels
	}
	return s
}

// joined puts packets one after the other, as a run of a file has them.
func sideBySide(packets []avtest.Packet) (data []byte, all []Packet) {
	for _, p := range packets {
		all = append(all, Packet{Offset: len(data), Size: len(p.Data), Key: p.Key})
		data = append(data, p.Data...)
	}
	return data, all
}

// each calls f for all frames that come, until an error.
func each(d *Decoder, f func(*Frame)) error {
	var frame Frame
	for {
		if err := d.Next(&frame); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		f(&frame)
	}
}

// raw appends the planes as FFmpeg writes raw video.
func raw(to []byte, f *Frame) []byte {
	p := &f.Image.Picture
	if f.Format == "rgb24" {
		for i := range 3 * p.Width * p.Height {
			part, x, y := p.Parts[i%3], i/3%p.Width, i/3/p.Width
			to = append(to, part.Data[part.First+y*part.Stride+x*part.Step])
		}
		return to
	}
	order := []int{0, 1, 2}
	switch p.Kind {
	case yuv.Gray:
		order = order[:1]
	case yuv.RGB:
		order = []int{1, 2, 0} // gbrp
	}
	for _, i := range order {
		part := p.Parts[i]
		width, height := p.PartSize(i)
		for y := range height {
			to = append(to, part.Data[part.First+y*part.Stride:][:width*part.Step]...)
		}
	}
	return to
}

// Planes are those of the command, for every codec and depth, at an odd size where the
// codec has them.
func TestPlanes(t *testing.T) {
	avtest.Library(t)
	for name := range films {
		t.Run(name, func(t *testing.T) {
			path := film(t, name, "98x66", 24)
			want, r := avtest.Raw(t, path), avtest.Read(t, path, "v:0")
			d, err := NewDecoder(streamOf(r))
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			data, packets := sideBySide(r.Packets)
			if err := d.Feed(data, packets, true); err != nil {
				t.Fatal(err)
			}
			clear(data) // it is the decoder's own by now

			var got []byte
			var shown []int64
			if err := each(d, func(f *Frame) {
				if f.Corrupt || f.Image.Width != 98 || f.Image.Height != 66 {
					t.Errorf("%+v", f)
				}
				got = raw(got, f)
				shown = append(shown, *r.Packets[f.Packet].PTS)
			}); err != nil {
				t.Fatal(err)
			}
			if len(shown) != 24 || !slices.IsSorted(shown) {
				t.Errorf("frames are shown at %v", shown)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%d bytes differ from the command's %d", len(got), len(want))
			}
		})
	}
}

// Packets may come in any portions, and what is not wanted is decoded and not handed out.
func TestPortions(t *testing.T) {
	avtest.Library(t)
	path := film(t, "h264", "96x64", 30)
	want, r := avtest.Raw(t, path), avtest.Read(t, path, "v:0")
	size := len(want) / 30
	order := make([]int64, 0, 30) // of display
	for _, p := range r.Packets {
		order = append(order, *p.PTS)
	}
	slices.Sort(order)

	d, err := NewDecoder(streamOf(r))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for round := range 3 {
		data, packets := sideBySide(r.Packets)
		for i := range packets {
			packets[i].Unwanted = i%3 == round
		}
		got := map[int]bool{}
		for at := 0; ; {
			var f Frame
			err := d.Next(&f)
			if err == io.EOF {
				break
			}
			if err == ErrNeeds {
				n := min(1+at%4, len(packets)-at)
				if err := d.Feed(data, packets[at:at+n], at+n == len(packets)); err != nil {
					t.Fatal(err)
				}
				at += n
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			i, _ := slices.BinarySearch(order, *r.Packets[f.Packet].PTS)
			if !bytes.Equal(raw(nil, &f), want[i*size:(i+1)*size]) {
				t.Errorf("frame %d is another", i)
			}
			got[f.Packet] = true
		}
		for i := range packets {
			if got[i] == packets[i].Unwanted {
				t.Errorf("packet %d came: %v", i, got[i])
			}
		}
		d.Reset()
	}
}

func TestMisuse(t *testing.T) {
	avtest.Library(t)
	r := avtest.Read(t, film(t, "mpeg4", "32x32", 3), "v:0")
	d, err := NewDecoder(streamOf(r))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Feed(make([]byte, 10), []Packet{{Offset: 5, Size: 6}}, false); err == nil {
		t.Error("a packet outside its data is taken")
	}
	data, packets := sideBySide(r.Packets)
	if err := d.Feed(data, packets, false); err != nil {
		t.Fatal(err)
	}
	if err := d.Feed(data, packets, false); err == nil {
		t.Error("packets are taken before those in hand are used up")
	}
	if _, err := NewDecoder(Stream{Codec: "nonsense"}); !errors.Is(err, media.ErrUnsupported) || !strings.Contains(err.Error(), "no decoder for nonsense; "+Variable) {
		t.Error(err)
	}
	if _, err := NewDecoder(Stream{Codec: "h264", Audio: true}); !errors.Is(err, media.ErrUnsupported) {
		t.Error(err)
	}
}

// What the stream says about its colours is reported.
func TestColours(t *testing.T) {
	avtest.Library(t)
	for _, c := range []struct {
		name     string
		args     []string
		matrix   yuv.Matrix
		full     bool
		untagged bool
	}{
		{"untagged", nil, yuv.BT601, false, true},
		{"709", []string{"-colorspace", "bt709", "-color_range", "tv"}, yuv.BT709, false, false},
		{"2020 full", []string{"-colorspace", "bt2020nc", "-color_range", "pc"}, yuv.BT2020, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append(avtest.Moving("32x32", 1), "-c:v", "libx264", "-pix_fmt", "yuv420p")
			r := avtest.Read(t, avtest.Make(t, "film.mp4", append(args, c.args...)...), "v:0")
			d, err := NewDecoder(streamOf(r))
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			data, packets := sideBySide(r.Packets)
			if err := d.Feed(data, packets, true); err != nil {
				t.Fatal(err)
			}
			var f Frame
			if err := d.Next(&f); err != nil {
				t.Fatal(err)
			}
			if i := f.Image; i.Matrix != c.matrix || i.Full != c.full || i.Untagged != c.untagged || i.Siting != yuv.Left {
				t.Errorf("%+v", i)
			}
		})
	}
}

// Samples of sound are the command's.
func TestSound(t *testing.T) {
	avtest.Library(t)
	for _, c := range []struct {
		file, codec, raw string
		sample           Sample
	}{
		{"s.flac", "flac", "s16le", Int16},
		{"s.m4a", "alac", "s16le", Int16},
		{"s.mka", "pcm_s24le", "s32le", Int32},
		{"s.mp3", "libmp3lame", "f32le", Float32},
		{"s.ogg", "libvorbis", "f32le", Float32},
		{"s.spx", "libspeex", "f32le", Float32},
	} {
		t.Run(c.codec, func(t *testing.T) {
			path := avtest.Make(t, c.file, "-f", "lavfi", "-i", "sine=f=440:r=32000:d=0.5", "-f", "lavfi", "-i", "sine=f=700:r=32000:d=0.5",
				"-filter_complex", "amerge=inputs=2", "-c:a", c.codec, "-strict", "-2")
			r := avtest.Read(t, path, "a:0")
			want := avtest.FFmpeg(t, "-flags2", "+skip_manual", "-i", path, "-f", c.raw, "-")
			d, err := NewDecoder(streamOf(r))
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			data, packets := sideBySide(r.Packets)
			if err := d.Feed(data, packets, true); err != nil {
				t.Fatal(err)
			}
			var got []byte
			if err := each(d, func(f *Frame) {
				s := f.Sound
				if s.Rate != 32000 || s.Channels != 2 || s.Type != c.sample {
					t.Fatalf("%+v", f)
				}
				got = interleaved(got, &s)
			}); err != nil {
				t.Fatal(err)
			}
			// Another release than the command's may round otherwise.
			if !bytes.Equal(got, want) && (c.sample != Float32 || len(got) != len(want) || farthest(got, want) > 1e-6) {
				t.Errorf("%d bytes differ from the command's %d", len(got), len(want))
			}
		})
	}
}

// farthest is the largest difference of float32s.
func farthest(a, b []byte) (most float64) {
	at := func(of []byte, i int) float64 {
		return float64(math.Float32frombits(binary.NativeEndian.Uint32(of[i:])))
	}
	for i := 0; i < len(a); i += 4 {
		most = max(most, math.Abs(at(a, i)-at(b, i)))
	}
	return most
}

func interleaved(to []byte, s *Sound) []byte {
	if len(s.Planes) == 1 {
		return append(to, s.Planes[0]...)
	}
	n := s.Type.Bytes()
	for i := range s.Samples {
		for _, p := range s.Planes {
			to = append(to, p[i*n:(i+1)*n]...)
		}
	}
	return to
}

// A frame costs no memory of Go's, converted or not.
func TestNoAllocations(t *testing.T) {
	avtest.Library(t)
	r := avtest.Read(t, film(t, "mpeg4", "32x32", 40), "v:0")
	d, err := NewDecoder(streamOf(r))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	data, packets := sideBySide(r.Packets)
	if err := d.Feed(data, packets, true); err != nil {
		t.Fatal(err)
	}
	var f Frame
	if n := testing.AllocsPerRun(20, func() {
		if err := d.Next(&f); err != nil {
			t.Fatal(err)
		}
	}); n > 0 && !avtest.Instrumented {
		t.Errorf("%.0f allocations for a frame", n)
	}
}
