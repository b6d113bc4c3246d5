package slices

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/testvideo"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/mp4"
)

// packets returns the table of a file's first stream, and what each packet holds.
func packets(t testing.TB, name string) (*av.Table, [][]byte) {
	t.Helper()
	data := testvideo.Read(t, name)
	f, err := mp4.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	table, err := f.Table(0)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for _, p := range table.Packets {
		all = append(all, data[p.Offset:p.End()])
	}
	return table, all
}

// dropped returns the numbers of the packets that can be dropped.
func dropped(table *av.Table, all [][]byte) (numbers []int) {
	droppable := Droppable(table.Stream.Codec, table.Stream.Config)
	if droppable == nil {
		return nil
	}
	for i, p := range all {
		if droppable(p) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

func ffmpeg(t testing.TB, args ...string) string {
	t.Helper()
	cmd := exec.Command("ffmpeg", append([]string{"-hide_banner", "-loglevel", "error", "-nostdin", "-threads", "1"}, args...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("ffmpeg %v: %v\n%s", args, err, &errs)
	}
	return string(out)
}

// hashes decodes a file, and returns the hash of each frame by its time.
func hashes(t testing.TB, path string) map[string]string {
	t.Helper()
	frames := make(map[string]string)
	for line := range strings.Lines(ffmpeg(t, "-i", path, "-map", "0:v:0", "-vsync", "passthrough", "-f", "framemd5", "-")) {
		fields := strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
		if len(fields) == 6 && fields[0] == "0" {
			frames[fields[2]] = fields[5]
		}
	}
	return frames
}

// Without the packets that can be dropped, ffmpeg decodes all other frames to the same
// pixels.
func TestOtherFramesStayTheSame(t *testing.T) {
	for _, of := range []struct {
		name  string
		least int // of 50 packets
	}{
		{"bpyr.mp4", 20}, {"opengop.mp4", 15}, {"hevc.mp4", 15}, {"hevcopen.mp4", 15}, {"hevcslow.mp4", 15}, {"hevclayers.mp4", 10}, {"mpeg4.mp4", 20}, {"mpeg2.mp4", 20}, {"av1.mp4", 10}, {"onegop.mp4", 20},
	} {
		table, all := packets(t, of.name)
		numbers := dropped(table, all)
		if len(numbers) < of.least {
			t.Errorf("%s: %d of %d packets can be dropped, at least %d should", of.name, len(numbers), len(all), of.least)
			continue
		}
		var terms []string
		for _, n := range numbers {
			terms = append(terms, fmt.Sprintf("eq(n\\,%d)", n))
		}
		path, whole := testvideo.File(t, of.name), filepath.Join(t.TempDir(), "whole.mkv")
		part := filepath.Join(t.TempDir(), "part.mkv")
		ffmpeg(t, "-i", path, "-map", "0:v:0", "-c", "copy", whole)
		ffmpeg(t, "-i", path, "-map", "0:v:0", "-c", "copy", "-bsf:v", "noise=drop="+strings.Join(terms, "+"), part)

		want, got := hashes(t, whole), hashes(t, part)
		if len(got) != len(all)-len(numbers) {
			t.Errorf("%s: without %d of %d packets there are %d frames", of.name, len(numbers), len(all), len(got))
		}
		for when, hash := range got {
			if want[when] != hash {
				t.Errorf("%s: the frame at %s is another one without packets %v", of.name, when, numbers)
				break
			}
		}
	}
}

// What ffmpeg's own decoders skip when they leave out what nobody refers to is what can
// be dropped, and nothing less.
func TestDroppedAreThoseFFmpegSkips(t *testing.T) {
	for _, name := range []string{"bpyr.mp4", "opengop.mp4", "onegop.mp4", "intra.mp4", "hevc.mp4", "hevcopen.mp4", "mpeg4.mp4", "mpeg2.mp4", "noedit.mp4"} {
		table, all := packets(t, name)
		numbers := dropped(table, all)
		var want []int64
		for i, p := range table.Packets {
			if !slices.Contains(numbers, i) {
				want = append(want, p.PTS)
			}
		}
		slices.Sort(want)

		out, err := exec.Command("ffprobe", "-v", "error", "-skip_frame", "noref", "-select_streams", "v:0", "-show_entries", "frame=best_effort_timestamp", "-of", "csv=p=0", testvideo.File(t, name)).Output()
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, s := range strings.FieldsFunc(string(out), func(r rune) bool { return r == ',' || r == '\n' }) {
			n, err := strconv.ParseInt(s, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, n)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: ffmpeg gives the frames at %v, those that cannot be dropped are at %v", name, got, want)
		}
	}
}

func TestNothingIsDropped(t *testing.T) {
	for _, name := range []string{"vp9.mp4", "mjpeg.mov", "prores.mov", "intra.mp4"} {
		table, all := packets(t, name)
		if numbers := dropped(table, all); len(numbers) > 0 && name != "intra.mp4" {
			t.Errorf("%s: packets %v could be dropped", name, numbers)
		}
		if Droppable(table.Stream.Codec, table.Stream.Config) != nil && name != "intra.mp4" {
			t.Errorf("%s: packets of %s are looked at", name, table.Stream.Codec)
		}
	}
}
