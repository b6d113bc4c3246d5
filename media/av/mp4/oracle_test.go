package mp4

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/testvideo"
	"github.com/headrace/headrace/media/av"
)

func open(t testing.TB, path string) *File {
	t.Helper()
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	info, err := r.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(r, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func table(t testing.TB, f *File, stream int) *av.Table {
	t.Helper()
	table, err := f.Table(stream)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// Streams are what ffprobe says.
func TestStreamsEqualFFprobe(t *testing.T) {
	for _, name := range testvideo.Names(".mp4", ".mov", ".m4a") {
		path := testvideo.File(t, name)
		f, probed := open(t, path), testvideo.Probe(t, name)
		// A cover is a picture, and no stream.
		streams := slices.DeleteFunc(slices.Clone(probed.Streams), func(s testvideo.ProbedStream) bool { return s.Disposition.Cover != 0 })
		if len(f.Streams) != len(streams) {
			t.Errorf("%s: %d streams, want %d", name, len(f.Streams), len(streams))
			continue
		}
		for i, s := range streams {
			// What ffprobe found in the packets.
			switch s.CodecName {
			case "mpeg2video":
				s.ConfigSize = 0
			case "mp3", "ac3":
				s.Channels = f.Streams[i].Channels
			}
			if got, want := saying(&f.Streams[i]), wanted(&s); got != want {
				t.Errorf("%s, stream %d:\n got %s\nwant %s", name, i, got, want)
			}
		}
	}
}

func saying(s *av.Stream) string {
	config := ""
	if s.Codec != "vp9" && len(s.Config) > 0 {
		config = fmt.Sprintf("%d CRC32:%08x", len(s.Config), crc32.ChecksumIEEE(s.Config))
	}
	return fmt.Sprintf("%d %d %s %s %s %v %s | %d×%d %d° %s | %d Hz, %d channels | %s", s.Index, s.ID, s.Kind, s.Codec, s.Tag, s.TimeBase, s.Language,
		s.Width, s.Height, turned(s.Orientation), strings.Replace(s.Aspect.String(), "/", ":", 1), s.Rate, s.Channels, config)
}

func turned(o av.Orientation) int {
	return map[av.Orientation]int{av.Rotate90: -90, av.Rotate180: -180, av.Rotate270: 90}[o]
}

func wanted(s *testvideo.ProbedStream) string {
	id, _ := strconv.ParseInt(strings.TrimPrefix(s.ID, "0x"), 16, 64)
	rate, _ := strconv.Atoi(s.SampleRate)
	language := s.Tags["language"]
	if language == "und" {
		language = ""
	}
	turn, aspect, config := 0, s.Aspect, ""
	if len(s.SideData) > 0 {
		turn = s.SideData[0].Rotation
	}
	switch {
	case s.CodecType == "audio":
		aspect = "0:0"
	case aspect == "":
		aspect = "1:1"
	}
	if s.ConfigSize > 0 {
		config = fmt.Sprintf("%d %s", s.ConfigSize, s.ConfigHash)
	}
	return fmt.Sprintf("%d %d %s %s %s %s %s | %d×%d %d° %s | %d Hz, %d channels | %s", s.Index, id, s.CodecType, s.CodecName, s.CodecTag, s.TimeBase, language,
		s.Width, s.Height, turn, aspect, rate, s.Channels, config)
}

// Packets are what ffprobe says: where they are, when they are decoded and displayed,
// which are key packets, and which an edit list discards.
func TestPacketsEqualFFprobe(t *testing.T) {
	for _, name := range testvideo.Names(".mp4", ".m4a", ".mov") {
		if name == "pcm.mov" {
			continue // there a packet is a chunk
		}
		comparePackets(t, name, open(t, testvideo.File(t, name)), testvideo.Probe(t, name))
	}
}

func comparePackets(t *testing.T, name string, f *File, probed *testvideo.Probed) {
	t.Helper()
	for i := range f.Streams {
		var want []string
		for _, p := range probed.Packets {
			if p.Stream == i {
				want = append(want, fmt.Sprintf("at %s: %s bytes, dts %d, pts %d, %s", p.Pos, p.Size, *p.DTS, *p.PTS, p.Flags))
			}
		}
		// Nothing needs what is discarded at the end.
		for len(want) > 0 && strings.HasSuffix(want[len(want)-1], "D") {
			want = want[:len(want)-1]
		}
		var got []string
		for _, p := range table(t, f, i).Packets {
			got = append(got, fmt.Sprintf("at %d: %d bytes, dts %d, pts %d, %s", p.Offset, p.Size, p.DTS, p.PTS, flags(&p)))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s, stream %d:\n%s", name, i, difference(got, want))
		}
	}
}

func flags(p *av.Packet) string {
	s := []byte("__")
	if p.Key {
		s[0] = 'K'
	}
	if p.Discard {
		s[1] = 'D'
	}
	return string(s)
}

// difference shows where two lists part.
func difference(got, want []string) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	return fmt.Sprintf("%d and %d in all; from %d on\n got\n%s\nwant\n%s", len(got), len(want), i,
		strings.Join(got[i:min(len(got), i+4)], "\n"), strings.Join(want[i:min(len(want), i+4)], "\n"))
}

// Frames are displayed as a decoder gives them, one after the other, and a decoder holds
// back as many as the table says, at least.
func TestFramesEqualFFprobe(t *testing.T) {
	for _, name := range testvideo.Names(".mp4", ".mov") {
		path := testvideo.File(t, name)
		f, probed := open(t, path), testvideo.Probe(t, name)
		for i, s := range f.Streams {
			if s.Kind != av.Video {
				continue
			}
			table := table(t, f, i)
			var want, got []int64
			for _, frame := range probed.Frames {
				if frame.Stream == i {
					want = append(want, *frame.PTS)
				}
			}
			for _, start := range table.Line.Start {
				got = append(got, table.Origin+start)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, stream %d: %d frames, want %d\n got %v\nwant %v", name, i, len(got), len(want), got, want)
			}
			if table.Reorder > probed.Streams[i].HasBFrames {
				t.Errorf("%s, stream %d: %d frames are held back, ffprobe says %d", name, i, table.Reorder, probed.Streams[i].HasBFrames)
			}
		}
	}
}

func TestColors(t *testing.T) {
	for name, want := range map[string]struct {
		color av.Color
		depth int
	}{
		"bt709.mp4":  {av.Color{Primaries: 1, Transfer: 1, Matrix: 1, Range: av.Limited}, 8},
		"tenbit.mp4": {av.Color{Primaries: 9, Transfer: 16, Matrix: 9, Range: av.Limited}, 10},
		"tenavc.mp4": {av.Color{}, 10},
		"bpyr.mp4":   {av.Color{}, 8},
		"av1.mp4":    {av.Color{}, 8},
	} {
		s := open(t, testvideo.File(t, name)).Streams[0]
		if s.Depth != want.depth {
			t.Errorf("%s has %d bits, want %d", name, s.Depth, want.depth)
		}
		if s.Color != want.color {
			t.Errorf("%s has the colors %+v, want %+v", name, s.Color, want.color)
		}
	}
}

// Samples of PCM follow each other without a gap, as ffprobe's packets together do.
func TestPCM(t *testing.T) {
	table, probed := table(t, open(t, testvideo.File(t, "pcm.mov")), 0), testvideo.Probe(t, "pcm.mov")
	var bytes, samples, want int64
	for _, p := range table.Packets {
		if p.PTS != samples || int64(p.Size) != 2*int64(p.Duration) {
			t.Fatalf("%+v after %d samples", p, samples)
		}
		bytes += int64(p.Size)
		samples += int64(p.Duration)
	}
	for _, p := range probed.Packets {
		size, _ := strconv.ParseInt(p.Size, 10, 64)
		want += size
	}
	if bytes != want || samples != 2*48000 {
		t.Errorf("%d bytes, %d samples; want %d bytes", bytes, samples, want)
	}
}

// The index is read, and at most two blocks of the rest, wherever moov is.
func TestMediaIsNotRead(t *testing.T) {
	for _, name := range []string{"long.mp4", "front.mp4", "sound.mp4"} {
		data := testvideo.Read(t, name)
		r := &counting{r: bytes.NewReader(data)}
		if _, err := Open(r, int64(len(data))); err != nil {
			t.Fatal(err)
		}
		at := bytes.Index(data, []byte("moov")) - 4
		moov := int64(data[at])<<24 | int64(data[at+1])<<16 | int64(data[at+2])<<8 | int64(data[at+3])
		if r.n > moov+2*blockSize {
			t.Errorf("%s: %d bytes were read of %d, where moov has %d", name, r.n, len(data), moov)
		}
	}
}

type counting struct {
	r io.ReaderAt
	n int64
}

func (c *counting) ReadAt(b []byte, at int64) (int, error) {
	n, err := c.r.ReadAt(b, at)
	c.n += int64(n)
	return n, err
}
