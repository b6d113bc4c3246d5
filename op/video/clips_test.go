//go:build cgo

package video_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/testvideo"
	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	_ "github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/media/video"
	"github.com/headrace/headrace/media/yuv"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/tensor"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/loadertest"
)

// films is a folder of some videos.
func films(t *testing.T, names ...string) string {
	t.Helper()
	useFFmpeg(t)
	root := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(root, name), testvideo.Read(t, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// useFFmpeg has this process decode with the FFmpeg for which scripts/build.sh has made a
// shim.
func useFFmpeg(t *testing.T) {
	t.Helper()
	if os.Getenv("HEADRACE_FFMPEG") != "" {
		return
	}
	folder, err := filepath.Abs("../../python/src/headrace/_av/system")
	if err == nil {
		err = os.Setenv("HEADRACE_FFMPEG", folder)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// clipsOf returns all rows of an epoch: the bytes of the field video by key.
func clipsOf(t *testing.T, l *headrace.Loader) map[string]string {
	t.Helper()
	all := map[string]string{}
	for b := range loadertest.Epoch(t, l) {
		clips, ok := b.Tensor("video")
		if !ok {
			t.Fatal("there is no video")
		}
		size := len(clips.Data) / b.Rows()
		for i, key := range b.Text("key") {
			all[strings.Clone(filepath.Base(key))] = string(clips.Data[i*size:][:size])
		}
	}
	return all
}

func videoOf(t *testing.T, path string) *video.Video {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	v, err := video.Open(video.Bytes(data), -1)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// framesOf decodes frames to RGB by the packages below.
func framesOf(t *testing.T, path string, frames []int) (all []media.Pixels) {
	t.Helper()
	v := videoOf(t, path)
	c, err := v.Clip(frames)
	if err != nil {
		t.Fatal(err)
	}
	all = make([]media.Pixels, len(frames))
	err = c.Decode(t.Context(), func(n int, f *video.Frame) error {
		p := media.Pixels{Data: make([]byte, 3*f.Width*f.Height), Stride: 3 * f.Width, Width: f.Width, Height: f.Height, DType: tensor.Uint8}
		for i := range frames {
			if frames[i] == n {
				all[i] = p
			}
		}
		return yuv.Convert(yuv.Target{Data: p.Data, Stride: p.Stride}, &f.Picture)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A clip in a batch is what its frames come to one by one, with the same random draws for
// each, in every layout; and in one pass, step by step, from paths and from content, it
// is the same.
func TestClips(t *testing.T) {
	leak.Check(t)
	root := films(t, "bpyr.mp4", "hevcopen.mp4", "vfr.mkv", "rot90.mp4")
	steps := []media.Step{
		{Op: media.RandomResizedCrop{Height: 24, Width: 32, Scale: [2]float64{0.08, 1}, Ratio: [2]float64{3. / 4, 4. / 3}}, ID: order.OpID("random_resized_crop")},
		{Op: media.RandomFlip{P: 0.5}, ID: order.OpID("random_flip")},
	}
	for layout, axes := range map[string]string{"": "THWC", "TCHW": "TCHW", "CTHW": "CTHW"} {
		last := ""
		if layout != "" {
			last = fmt.Sprintf(`{"layout":{"layout":%q}},`, layout)
		}
		for _, content := range []bool{false, true} {
			for _, separate := range []bool{false, true} {
				if content != separate && !tier.Whole() {
					continue
				}
				r := loadertest.Recipe(t, `{"files":{"pattern":%q,"root":"/","content":%v}},{"decode_video":{"frames":5,"stride":3}},
					{"random_resized_crop":{"size":[24,32]}},"random_flip",`+last+`{"batch":{"size":2}}`, filepath.Join(root, "*"), content)
				l := loadertest.Open(t, r, headrace.Config{Epochs: new(1), Fuse: new(!separate)}, headrace.Options{})
				got := clipsOf(t, l)
				for index, name := range []string{"bpyr.mp4", "hevcopen.mp4", "rot90.mp4", "vfr.mkv"} {
					want := clipByHand(t, filepath.Join(root, name), int64(index), steps, axes)
					if got[name] != want {
						t.Errorf("%s in %q, content %v, separate %v: another clip", name, layout, content, separate)
					}
				}
			}
		}
	}
}

// clipByHand is the clip that TestClips reads of a file.
func clipByHand(t *testing.T, path string, index int64, steps []media.Step, axes string) string {
	t.Helper()
	v := videoOf(t, path)
	key := order.NewKey(7, 0, order.SourceID("files"), index)
	clip := av.Clip{Frames: 5, Stride: 3}
	picked, err := clip.Pick(&v.Table.Line, func(n int) int { return key.Intn(order.OpID("decode_video"), 0, n) })
	if err != nil {
		t.Fatal(err)
	}
	var frames [][]byte
	for _, p := range framesOf(t, path, picked[0]) {
		var plan media.Plan
		info := media.Info{Width: p.Width, Height: p.Height, Orientation: int(v.Stream.Orientation)}
		if err := media.MakePlan(info, media.Options{Orient: true}, steps, &key, &plan); err != nil {
			t.Fatal(err)
		}
		out := make([]byte, 3*24*32)
		if err := (media.GoRunner{}).Run(out, 3*32, p, &plan); err != nil {
			t.Fatal(err)
		}
		frames = append(frames, out)
	}
	return arranged(frames, axes)
}

// arranged puts frames, which are HWC, into another order of axes.
func arranged(frames [][]byte, axes string) string {
	var all []byte
	n := len(frames[0]) / 3
	plane := func(f []byte, c int) {
		for i := range n {
			all = append(all, f[3*i+c])
		}
	}
	switch axes {
	case "THWC":
		all = slices.Concat(frames...)
	case "TCHW":
		for _, f := range frames {
			for c := range 3 {
				plane(f, c)
			}
		}
	case "CTHW":
		for c := range 3 {
			for _, f := range frames {
				plane(f, c)
			}
		}
	}
	return string(all)
}

// Frames that are not in the video are black, the last one, or the first again; times say
// so.
func TestShortVideos(t *testing.T) {
	leak.Check(t)
	root := films(t, "odd.mp4") // 10 frames, of 25 a second
	whole := framesOf(t, filepath.Join(root, "odd.mp4"), []int{0, 3, 6, 9})
	for short, last := range map[string]int{"repeat": 3, "loop": -2, "black": -1} {
		r := loadertest.Recipe(t, `{"files":{"pattern":%q,"root":"/","content":false}},{"decode_video":{"frames":5,"stride":3,"short":%q,"times":"at"}}`,
			filepath.Join(root, "*"), short)
		l := loadertest.Open(t, r, headrace.Config{Epochs: new(1)}, headrace.Options{})
		b := loadertest.Next(t, l)
		clip, _ := b.Tensor("video")
		at, _ := b.Tensor("at")
		if !clip.Shape.Equal(tensor.Shape{5, 118, 162, 3}) || !at.Shape.Equal(tensor.Shape{5}) {
			t.Fatalf("%v, %v", clip.Shape, at.Shape)
		}
		size := 118 * 162 * 3
		var want []byte
		for i := range 4 {
			want = append(want, whole[i].Data...)
		}
		seconds := []float64{0, 0.12, 0.24, 0.36, 0}
		switch last {
		case 3:
			want, seconds[4] = append(want, whole[3].Data...), 0.36
		case -1:
			want, seconds[4] = append(want, make([]byte, size)...), math.NaN()
		case -2:
			want, seconds[4] = append(want, framesOf(t, filepath.Join(root, "odd.mp4"), []int{2})[0].Data...), 0.08
		}
		if !bytes.Equal(clip.Data, want) {
			t.Errorf("%s: other frames", short)
		}
		for i := range 5 {
			got := math.Float64frombits(binary.NativeEndian.Uint64(at.Data[8*i:]))
			if !(math.Abs(got-seconds[i]) < 1e-9) && !(math.IsNaN(got) && math.IsNaN(seconds[i])) {
				t.Errorf("%s: frame %d at %v s, not %v", short, i, got, seconds[i])
			}
		}
		b.Release()
	}
}
