//go:build cgo

package ffmpeg

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/internal/avtest"
)

// containers are one of each kind, with what they are made with.
var containers = map[string][]string{
	"film.mp4":  {"-c:v", "libx264", "-bf", "2", "-g", "8", "-c:a", "aac"},
	"film.mov":  {"-c:v", "mpeg4", "-c:a", "pcm_s16le"},
	"film.mkv":  {"-c:v", "libx264", "-bf", "2", "-g", "8", "-c:a", "libvorbis"},
	"film.webm": {"-c:v", "libvpx-vp9", "-c:a", "libopus"},
	"film.ts":   {"-c:v", "libx264", "-bf", "2", "-g", "8", "-c:a", "aac"},
	"film.flv":  {"-c:v", "libx264", "-bf", "2", "-g", "8", "-c:a", "aac"},
	"film.mpg":  {"-c:v", "mpeg2video", "-bf", "2", "-c:a", "mp2"},
	"film.avi":  {"-c:v", "mpeg4", "-bf", "2", "-g", "8", "-c:a", "libmp3lame"},
}

func contained(t testing.TB, name string) (path string, data []byte) {
	args := []string{"-f", "lavfi", "-i", "testsrc2=s=64x64:r=25", "-f", "lavfi", "-i", "sine=r=48000", "-t", "0.8", "-pix_fmt", "yuv420p"}
	path = avtest.Make(t, name, append(args, containers[name]...)...)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, data
}

// Packets are ffprobe's, and frames the command's, in every container.
func TestDemux(t *testing.T) {
	avtest.Library(t)
	for name := range containers {
		t.Run(name, func(t *testing.T) {
			path, data := contained(t, name)
			f, err := Demux(data)
			if err != nil {
				t.Fatal(err)
			}
			if len(f.Tracks) != 2 || f.Tracks[0].Kind != av.Video || f.Tracks[1].Kind != av.Audio || f.Tracks[1].Rate != 48000 || f.Tracks[0].Width != 64 {
				t.Fatalf("%+v", f.Tracks)
			}
			for i, which := range []string{"v:0", "a:0"} {
				same(t, f, data, &f.Tracks[i], avtest.Read(t, path, which))
			}

			video := &f.Tracks[0]
			table, err := av.NewTable(video.Stream, video.Packets)
			if err != nil {
				t.Fatal(err)
			}
			var got []byte
			shown := decoded(t, f, data, video, func(f *Frame) { got = raw(got, f) })
			if want := avtest.Raw(t, path); !bytes.Equal(got, want) {
				t.Errorf("%d bytes of frames differ from the command's %d", len(got), len(want))
			}
			if len(shown) != 20 || len(table.Frames) != 20 {
				t.Errorf("%d frames come, the table has %d", len(shown), len(table.Frames))
			}
			for i, packet := range shown {
				if i < len(table.Frames) && int(table.Frames[i]) != packet {
					t.Errorf("frame %d is of packet %d, by its times of %d", i, packet, table.Frames[i])
				}
			}
		})
	}
}

func same(t *testing.T, f *File, data []byte, track *Track, want avtest.Recording) {
	t.Helper()
	if track.Codec != want.Codec || !bytes.Equal(track.Config, want.Config) {
		t.Errorf("%s, %x: want %s, %x", track.Codec, track.Config, want.Codec, want.Config)
	}
	if len(track.Packets) != len(want.Packets) {
		t.Errorf("%s: %d packets, not %d", track.Codec, len(track.Packets), len(want.Packets))
		return
	}
	for i := range track.Packets {
		p, w := &track.Packets[i], want.Packets[i]
		if !bytes.Equal(f.Bytes(data, p), w.Data) || p.Key != w.Key || w.PTS != nil && p.PTS != *w.PTS {
			t.Errorf("%s, packet %d: %+v", track.Codec, i, p)
		}
	}
}

// decoded calls show for each frame of a track, and returns which packets they are of.
func decoded(t testing.TB, f *File, data []byte, track *Track, show func(*Frame)) (shown []int) {
	t.Helper()
	d, err := NewDecoder(track.Decoding())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var all []byte
	var packets []Packet
	for i := range track.Packets {
		b := f.Bytes(data, &track.Packets[i])
		packets = append(packets, Packet{Offset: len(all), Size: len(b), Key: track.Packets[i].Key})
		all = append(all, b...)
	}
	if err := d.Feed(all, packets, true); err != nil {
		t.Fatal(err)
	}
	if err := each(d, func(f *Frame) {
		show(f)
		shown = append(shown, f.Packet)
	}); err != nil {
		t.Fatal(err)
	}
	return shown
}

// Sound alone, with what its encoder has put at its ends.
func TestDemuxSound(t *testing.T) {
	avtest.Library(t)
	for name, codec := range map[string]string{"s.mp3": "libmp3lame", "s.ogg": "libvorbis", "s.opus": "libopus", "s.flac": "flac", "s.wav": "pcm_s24le", "s.m4a": "aac", "s.aac": "aac"} {
		t.Run(name, func(t *testing.T) {
			path := avtest.Make(t, name, "-f", "lavfi", "-i", "sine=r=48000:d=0.7", "-c:a", codec)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := Demux(data)
			if err != nil {
				t.Fatal(err)
			}
			track, r := &f.Tracks[0], avtest.Read(t, path, "a:0")
			if name == "s.wav" { // whose packets each release makes as long as it likes
				var got []byte
				for i := range track.Packets {
					got = append(got, f.Bytes(data, &track.Packets[i])...)
				}
				if want, _ := sideBySide(r.Packets); !bytes.Equal(got, want) {
					t.Errorf("%d bytes differ from the command's %d", len(got), len(want))
				}
				return
			}
			if name == "s.ogg" { // of which FFmpeg loses the times: all packets are in one page
				for i := range min(len(r.Packets), len(track.Packets)) {
					r.Packets[i].PTS = &track.Packets[i].PTS
				}
				if len(track.Trims) != 1 || track.Trims[0].End == 0 || track.Packets[1].PTS != 0 {
					t.Errorf("%+v, %+v", track.Trims, track.Packets[1])
				}
			}
			same(t, f, data, track, r)
			if name == "s.mp3" && (len(f.Tracks[0].Trims) == 0 || f.Tracks[0].Trims[0].Begin != 1105) {
				t.Errorf("%+v", f.Tracks[0].Trims)
			}
		})
	}
}

// The command turns by the angle that it is given, against the clock.
func TestOrientation(t *testing.T) {
	avtest.Library(t)
	path := avtest.Make(t, "a.mp4", append(avtest.Moving("32x32", 2), "-c:v", "mpeg4")...)
	for angle, want := range map[string]av.Orientation{"0": av.Upright, "90": av.Rotate270, "180": av.Rotate180, "270": av.Rotate90} {
		turned := avtest.Make(t, "b.mp4", "-i", path, "-c", "copy", "-metadata:s:v:0", "rotate="+angle)
		data, err := os.ReadFile(turned)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Demux(data)
		if err != nil {
			t.Fatal(err)
		}
		if o := f.Tracks[0].Orientation; o != want {
			t.Errorf("%s: %v, want %v", angle, o, want)
		}
	}
}

// A file that names others reads none of them, and what is no recording is an error.
func TestRefused(t *testing.T) {
	avtest.Library(t)
	film := avtest.Make(t, "a.ts", append(avtest.Moving("32x32", 3), "-c:v", "mpeg2video")...)
	for name, text := range map[string]string{
		"empty":  "",
		"text":   "this is not a film, and goes on for a while so that nobody takes it for one",
		"concat": "ffconcat version 1.0\nfile '" + film + "'\n",
		"hls":    "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n" + film + "\n#EXT-X-ENDLIST\n",
		"sdp":    "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n",
	} {
		want := media.ErrCorrupt
		if name == "concat" || name == "hls" || name == "sdp" {
			want = media.ErrUnsupported
		}
		if f, err := Demux([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}

// demuxed reads a damaged file, and looks at every byte that it claims to have.
func demuxed(t testing.TB, data []byte) {
	f, err := Demux(data)
	if err != nil {
		if !errors.Is(err, media.ErrCorrupt) && !errors.Is(err, media.ErrUnsupported) && !errors.Is(err, media.ErrTruncated) {
			t.Fatal(err)
		}
		return
	}
	for i := range f.Tracks {
		for k := range f.Tracks[i].Packets {
			sum := byte(0)
			for _, b := range f.Bytes(data, &f.Tracks[i].Packets[k]) {
				sum += b
			}
			_ = sum
		}
	}
}

func spoilt(r *rand.Rand, data []byte) []byte {
	data = slices.Clone(data)
	for range 1 + r.IntN(6) {
		at := r.IntN(len(data))
		if r.IntN(2) == 0 { // heads are at both ends
			at = min(at, r.IntN(200))
		}
		switch r.IntN(4) {
		case 0:
			data = data[:max(at, 1)]
		case 1:
			copy(data[at:], []byte{0xff, 0xff, 0xff, 0xff})
		default:
			data[at] ^= 1 << r.IntN(8)
		}
	}
	return data
}

func TestDamagedFiles(t *testing.T) {
	avtest.Library(t)
	for name := range containers {
		_, data := contained(t, name)
		r := rand.New(rand.NewPCG(5, 6))
		for range 15 {
			demuxed(t, spoilt(r, data))
		}
	}
}

// Many files, every second damaged, leave memory, descriptors and threads as
// they were.
func TestNothingIsLeftOfFiles(t *testing.T) {
	avtest.Library(t)
	runtime.LockOSThread() // the C library has memory of its own for each thread
	defer runtime.UnlockOSThread()
	rounds := tier.Cases(100, 500)
	for _, name := range []string{"film.mp4", "film.webm", "film.ts", "film.avi"} {
		_, data := contained(t, name)
		r := rand.New(rand.NewPCG(7, 8))
		run := func(n int) {
			for i := range n {
				if i%2 == 1 {
					demuxed(t, spoilt(r, data))
				} else {
					demuxed(t, data)
				}
			}
			runtime.GC()
		}
		run(50)
		kilobytes, descriptors, threads := resources(t)
		run(rounds)
		after, open, running := resources(t)
		t.Logf("%s: %d → %d kB, %d → %d descriptors, %d → %d threads", name, kilobytes, after, descriptors, open, threads, running)
		if after > kilobytes+8<<10 && !avtest.Instrumented || open > descriptors || running > threads+rounds/10 { // Go starts some
			t.Errorf("%s: %d kB became %d, %d descriptors %d, %d threads %d", name, kilobytes, after, descriptors, open, threads, running)
		}
	}
}

func FuzzDemux(f *testing.F) {
	avtest.Library(f)
	var all [][]byte
	for _, name := range slices.Sorted(maps.Keys(containers)) {
		_, data := contained(f, name)
		f.Add(uint8(len(all)), uint64(0))
		all = append(all, data)
	}
	f.Fuzz(func(t *testing.T, which uint8, seed uint64) {
		demuxed(t, spoilt(rand.New(rand.NewPCG(seed, 1)), all[int(which)%len(all)]))
	})
}

// sizedFile is a file of a size that it may not have.
type sizedFile struct {
	*os.File
	size int
}

func (f sizedFile) Size() int64     { return int64(f.size) }
func (f sizedFile) Descriptor() int { return int(f.Fd()) }

func openFile(t *testing.T, path string, size int) sizedFile {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return sizedFile{f, size}
}

// A file has the packets that its bytes have.
func TestDemuxFile(t *testing.T) {
	avtest.Library(t)
	for name := range containers {
		path, data := contained(t, name)
		want, err := Demux(data)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DemuxFile(openFile(t, path, len(data)))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: differs: %v", name, err)
		}
		if _, err := DemuxFile(openFile(t, path, 0)); !errors.Is(err, media.ErrCorrupt) {
			t.Errorf("%s, empty: %v", name, err)
		}
	}
}

// A file that somebody makes shorter while it is read is damaged, and ends nothing.
func TestFilesThatBecomeShorter(t *testing.T) {
	avtest.Library(t)
	for _, name := range []string{"film.mkv", "film.ts", "film.avi"} {
		_, data := contained(t, name)
		path := filepath.Join(t.TempDir(), name)
		for _, left := range []int{len(data) - 1, len(data) / 2, 100} {
			if err := os.WriteFile(path, data[:left], 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := DemuxFile(openFile(t, path, len(data)))
			if !errors.Is(err, media.ErrCorrupt) || !strings.Contains(err.Error(), "shorter while it was read") {
				t.Errorf("%s, %d bytes of %d: %v", name, left, len(data), err)
			}
		}
	}
	folder := openFile(t, t.TempDir(), 100)
	if _, err := DemuxFile(folder); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a folder: %v", err)
	}
}

// Tags before a file move its packets, and change nothing of them.
func TestDemuxBehindTags(t *testing.T) {
	avtest.Library(t)
	tag := append([]byte("ID3\x04\x00\x00\x00\x00\x00\x20"), make([]byte, 32)...)
	for _, name := range []string{"film.mov", "film.avi"} {
		_, data := contained(t, name)
		want, err := Demux(data)
		if err != nil {
			t.Fatal(err)
		}
		tagged := slices.Concat(tag, data)
		got, err := Demux(tagged)
		if err != nil || len(got.Tracks) != len(want.Tracks) {
			t.Fatalf("%s: %v", name, err)
		}
		for i := range want.Tracks {
			for k := range want.Tracks[i].Packets {
				if !bytes.Equal(got.Bytes(tagged, &got.Tracks[i].Packets[k]), want.Bytes(data, &want.Tracks[i].Packets[k])) {
					t.Fatalf("%s: packet %d of track %d is another", name, k, i)
				}
			}
		}
	}
}
