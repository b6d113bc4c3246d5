//go:build cgo

package video_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/loadertest"
	"github.com/headrace/headrace/internal/testvideo"
	"github.com/headrace/headrace/media/video"
	opvideo "github.com/headrace/headrace/op/video"
	"github.com/headrace/headrace/recipe"
)

// now computes at once.
func now(_ context.Context, do func() error) error { return do() }

func opened(t *testing.T, path string, args opvideo.DecodeVideo, list opvideo.FrameList) (*opvideo.VideoClip, error) {
	t.Helper()
	c, err := opvideo.OpenClip(video.Bytes(testvideo.Read(t, filepath.Base(path))), recipe.Completed(&args).(*opvideo.DecodeVideo), list, nil)
	if err == nil {
		t.Cleanup(c.Close)
	}
	return c, err
}

// A list of frames, by number or by time, gives these frames, with repeats and from the
// end, however many decoders there are.
func TestListsOfFrames(t *testing.T) {
	path := filepath.Join(films(t, "bpyr.mp4"), "bpyr.mp4")
	line := videoOf(t, path).Table.Line
	n := line.Len()
	for name, c := range map[string]struct {
		list opvideo.FrameList
		want []int
	}{
		"numbers":  {opvideo.FrameList{Indices: []int{0, n - 1, 7, 7, 3}}, []int{0, n - 1, 7, 7, 3}},
		"from end": {opvideo.FrameList{Indices: []int{-1, -n}}, []int{n - 1, 0}},
		"times":    {opvideo.FrameList{Times: []float64{0, 0.5, line.Seconds(line.Start[9]), line.Seconds(line.Start[9]) + 0.01}}, []int{0, line.At(line.Tick(0.5)), 9, 9}},
	} {
		var want []byte
		for _, p := range framesOf(t, path, c.want) {
			want = append(want, p.Data...)
		}
		for _, decoders := range []int{1, 3} {
			clip, err := opened(t, path, opvideo.DecodeVideo{}, c.list)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]byte, clip.Form().Bytes())
			if err := clip.Fill(t.Context(), got, decoders, now); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s, by %d decoders: other frames", name, decoders)
			}
			for i, at := range clip.Times() {
				if math.Abs(at-line.Seconds(line.Start[c.want[i]])) > 1e-9 {
					t.Errorf("%s: frame %d at %v s", name, c.want[i], at)
				}
			}
		}
	}
	for want, list := range map[string]opvideo.FrameList{
		fmt.Sprintf("there is no frame %d: the video has %d frames", n, n):    {Indices: []int{n}},
		fmt.Sprintf("there is no frame %d: the video has %d frames", -n-1, n): {Indices: []int{0, -n - 1}},
		"there is no frame at 1000 s":                                         {Times: []float64{0, 1000}},
		"there is no frame at NaN s":                                          {Times: []float64{math.NaN()}},
		"there is no frame at -1 s":                                           {Times: []float64{-1}},
	} {
		if _, err := opened(t, path, opvideo.DecodeVideo{}, list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A description says what ffprobe says.
func TestDescriptions(t *testing.T) {
	for _, name := range []string{"vfr.mkv", "rot90.mp4"} {
		films(t, name)
		probed := testvideo.Probe(t, name)
		at := slices.IndexFunc(probed.Streams, func(s testvideo.ProbedStream) bool { return s.CodecType == "video" })
		stream, frames, keys := probed.Streams[at], 0, []int{}
		for _, f := range probed.Frames {
			if f.Stream != at {
				continue
			}
			if f.Key == 1 {
				keys = append(keys, frames)
			}
			frames++
		}
		v, err := video.Open(video.Bytes(testvideo.Read(t, name)), -1)
		if err != nil {
			t.Fatal(err)
		}
		got := opvideo.DescribeVideo(v)
		width, height := stream.Width, stream.Height
		if name == "rot90.mp4" {
			width, height = height, width
		}
		if got.Width != width || got.Height != height || got.Frames != frames || got.Codec != stream.CodecName || !slices.Equal(got.KeyFrames, keys) {
			t.Errorf("%s: %+v, ffprobe says %+v, %d frames, keys %v", name, got, stream, frames, keys)
		}
		if got.Color.Matrix != strings.ReplaceAll(stream.ColorSpace, "unknown", "") || got.Color.Range != strings.ReplaceAll(stream.ColorRange, "unknown", "") {
			t.Errorf("%s: %+v, ffprobe says %s, %s", name, got.Color, stream.ColorSpace, stream.ColorRange)
		}
		if len(got.FrameTimes) != frames || got.FrameTimes[0] != 0 || !slices.IsSorted(got.FrameTimes) || got.FrameTimes[frames-1] >= got.Duration {
			t.Errorf("%s: frames at %v of %v s", name, got.FrameTimes, got.Duration)
		}
	}
}

// numbersOf are float64 or int64 of a field, as float64.
func numbersOf(t *testing.T, b *headrace.Batch, name string) (all []float64) {
	t.Helper()
	field, ok := b.Tensor(name)
	if !ok {
		t.Fatalf("there is no field %s", name)
	}
	for data := field.Data; len(data) > 0; data = data[8:] {
		bits := binary.NativeEndian.Uint64(data)
		if field.DType.String() == "int64" {
			all = append(all, float64(int64(bits)))
		} else {
			all = append(all, math.Float64frombits(bits))
		}
	}
	return all
}

// A video that is taken apart gives every frame once, in pieces with their numbers and
// times; a last piece that is too short is filled up or left out.
func TestPieces(t *testing.T) {
	leak.Check(t)
	root := films(t, "odd.mp4") // 10 frames, of 25 a second
	path := filepath.Join(root, "odd.mp4")
	const size = 118 * 162 * 3
	for _, c := range []struct {
		args    string
		content bool
		frames  [][]int // -1: black
	}{
		{`"frames":4`, false, [][]int{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 9, 9}}},
		{`"frames":4,"short":"drop"`, true, [][]int{{0, 1, 2, 3}, {4, 5, 6, 7}}},
		{`"frames":4,"short":"black"`, true, [][]int{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, -1, -1}}},
		{`"frames":2,"stride":3,"step":5`, false, [][]int{{0, 3}, {5, 8}}},
		{`"frames":2,"clips":3,"start":"begin"`, false, [][]int{{0, 1}, {4, 5}, {8, 9}}},
	} {
		r := loadertest.Recipe(t, `{"files":{"pattern":%q,"root":"/","content":%v}},{"video_clips":{"number":"n","times":"t",`+c.args+`}}`, path, c.content)
		l := loadertest.Open(t, r, headrace.Config{Epochs: new(1), Workers: new(2)}, headrace.Options{})
		i := 0
		for b := range loadertest.Epoch(t, l) {
			if i >= len(c.frames) {
				t.Fatalf("%s: more than %d clips", c.args, i)
			}
			var want []byte
			for k, n := range c.frames[i] {
				at := numbersOf(t, b, "t")[k]
				if n < 0 {
					want = append(want, make([]byte, size)...)
				} else {
					want = append(want, framesOf(t, path, []int{n})[0].Data...)
				}
				if n < 0 != math.IsNaN(at) || n >= 0 && math.Abs(at-float64(n)/25) > 1e-9 {
					t.Errorf("%s: frame %d of clip %d is at %v s", c.args, k, i, at)
				}
			}
			clip, _ := b.Tensor("video")
			if !bytes.Equal(clip.Data, want) || numbersOf(t, b, "n")[0] != float64(i) {
				t.Errorf("%s: clip %d has number %v, or other frames than %v", c.args, i, numbersOf(t, b, "n"), c.frames[i])
			}
			i++
		}
		if i != len(c.frames) {
			t.Errorf("%s: %d clips, want %d", c.args, i, len(c.frames))
		}
	}
}

// Where a clip begins and ends is as it was asked for, or as its frames say.
func TestWindowsOfClips(t *testing.T) {
	leak.Check(t)
	path := filepath.Join(films(t, "odd.mp4"), "odd.mp4")
	for args, want := range map[string][]float64{
		`"frames":3,"stride":2,"start":"begin"`:                     {0, 0.2}, // frame 4 is there until frame 5
		`"frames":3,"fps":25,"offset":0.1`:                          {0.1, 0.22},
		`"fps":25,"offset":0.08,"duration":0.1`:                     {0.08, 0.18},
		`"frames":2,"fps":12.5,"at":"from"`:                         {0.04, 0.2},
		`"frames":4,"start":"begin","stride":4,"short":"black"`:     {0, 0.36},
		`"frames":2,"stride":1,"clips":2,"start":"begin"`:           {0, 0.08, 0.32, 0.4},
		`"frames":2,"stride":1,"damaged":"keep","start":"begin"`:    {0, 0.08},
		`"frames":2,"stride":1,"start":"center","dtype":"uint16"`:   {0.16, 0.24},
		`"segments":2,"start":"begin","color":"nv12","matrix":"m"`:  {0, 0.24},
		`"frames":1,"offset":0.2,"short":"error","aspect":"square"`: {0.2, 0.24},
	} {
		r := loadertest.Recipe(t, `{"files":{"paths":[%q],"root":"/","content":false,"columns":{"from":{"float64":[0.04]}}}},{"decode_video":{"window":"w",`+args+`}}`, path)
		l := loadertest.Open(t, r, headrace.Config{Epochs: new(1)}, headrace.Options{})
		b := loadertest.Next(t, l)
		got := numbersOf(t, b, "w")
		if !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("%s: from and to %v s, want %v", args, got, want)
		}
		b.Release()
	}
}

// Planes are the same in both orders, and black ones are black.
func TestPlanesOfClips(t *testing.T) {
	leak.Check(t)
	path := filepath.Join(films(t, "odd.mp4"), "odd.mp4")
	planes := func(color string) []byte {
		r := loadertest.Recipe(t, `{"files":{"paths":[%q],"root":"/","content":false}},{"decode_video":{"frames":2,"stride":9,"offset":0.2,"short":"black","color":%q,"matrix":"m"}}`, path, color)
		l := loadertest.Open(t, r, headrace.Config{Epochs: new(1)}, headrace.Options{})
		b := loadertest.Next(t, l)
		defer b.Release()
		clip, _ := b.Tensor("video")
		if told := numbersOf(t, b, "m"); clip.Shape.String() != "[2, 177, 162]" || told[3] != 8 {
			t.Fatalf("%v, %v", clip.Shape, told)
		}
		return slices.Clone(clip.Data)
	}
	apart, together := planes("yuv420"), planes("nv12")
	const luma, chroma = 118 * 162, 59 * 81
	want := slices.Clone(apart[:luma])
	for i := range chroma {
		want = append(want, apart[luma+i], apart[luma+chroma+i])
	}
	black := append(bytes.Repeat([]byte{16}, luma), bytes.Repeat([]byte{128}, 2*chroma)...)
	if !bytes.Equal(together, append(want, black...)) || !bytes.Equal(apart[luma+2*chroma:], black) {
		t.Error("planes differ between their orders, or black is another colour")
	}
}
