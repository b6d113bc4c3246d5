//go:build cgo

package video_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/headrace/headrace/internal/testvideo"
	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media/av"
	_ "github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/media/internal/avtest"
	"github.com/headrace/headrace/media/video"
)

// Files without the display times that their codec needs. They are refused, because no
// reader could say which frame is which.
var guessed = []string{"avc.avi", "negative.mkv"}

func TestFramesThatNobodyCanNumberAreRefused(t *testing.T) {
	avtest.Library(t)
	for name, why := range map[string]string{"avc.avi": "AVI stores no display times, which h264 with B-frames needs", "negative.mkv": "time"} {
		data, err := os.ReadFile(testvideo.File(t, name))
		if err != nil {
			t.Fatal(err)
		}
		_, err = video.Open(video.Bytes(data), -1)
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want an error about %q", name, err, why)
		}
	}
}

// noVideo are files that have only sound, or a cover.
func noVideo(name string) bool {
	return strings.HasSuffix(name, ".m4a") || slices.Contains([]string{"mp3.mp4", "opus.mp4", "flac.mp4", "ac3.mp4", "pcm.mov", "cover.jpg"}, name)
}

// Frame n is the n-th frame of a decoding from the beginning, by the ffmpeg command: the
// same bytes, in every container, whichever frames are asked for together.
func TestFramesAreThoseOfTheCommand(t *testing.T) {
	avtest.Library(t)
	for _, name := range testvideo.Names("") {
		if noVideo(name) || name == "long.mp4" || slices.Contains(guessed, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			path := testvideo.File(t, name)
			raw := avtest.FFmpeg(t, "-noautorotate", "-i", path, "-map", "0:v:0", "-vsync", "passthrough", "-f", "rawvideo", "-")
			v := open(t, path)
			n := v.Table.Line.Len()
			if n == 0 || len(raw)%n != 0 {
				t.Fatalf("the command gives %d bytes, the table has %d frames", len(raw), n)
			}
			size := len(raw) / n
			rng := rand.New(rand.NewPCG(1, uint64(len(name))))
			for picked := 0; picked < tier.Cases(30, 200); {
				frames := picks(rng, n)
				picked += len(frames)
				got := planes(t, v, frames)
				for _, i := range frames {
					if !bytes.Equal(got[i], raw[i*size:][:size]) {
						t.Fatalf("frame %d of %d, picked with %v, differs: it is %s", i, n, frames, whose(got[i], raw, size))
					}
				}
			}
		})
	}
}

// picks are some frames of a video: alone, a few together, or a clip.
func picks(rng *rand.Rand, n int) []int {
	switch rng.IntN(3) {
	case 0:
		return []int{rng.IntN(n)}
	case 1:
		frames := make([]int, 1+rng.IntN(16))
		for i := range frames {
			frames[i] = rng.IntN(n)
		}
		return frames
	}
	first, stride := rng.IntN(n), 1+rng.IntN(4)
	var frames []int
	for i := first; i < n && len(frames) < 16; i += stride {
		frames = append(frames, i)
	}
	return frames
}

// whose says which frame some bytes are.
func whose(got, raw []byte, size int) string {
	if len(got) != size {
		return fmt.Sprintf("of %d bytes and not %d", len(got), size)
	}
	for i := range len(raw) / size {
		if bytes.Equal(got, raw[i*size:][:size]) {
			return fmt.Sprintf("frame %d", i)
		}
	}
	return "none of the video's"
}

func open(t testing.TB, path string) *video.Video {
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

// planes decodes frames, as the command writes them raw.
func planes(t testing.TB, v *video.Video, frames []int) map[int][]byte {
	t.Helper()
	got, err := decoded(v, frames)
	if err != nil {
		t.Fatalf("%v: %v", frames, err)
	}
	return got
}

func decoded(v *video.Video, frames []int) (map[int][]byte, error) {
	got := map[int][]byte{}
	c, err := v.Clip(frames)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	err = c.Decode(context.Background(), func(frame int, f *video.Frame) error {
		if got[frame] != nil || !slices.Contains(frames, frame) {
			return fmt.Errorf("frame %d came twice, or was not wanted", frame)
		}
		got[frame] = raw(f)
		return nil
	})
	if err == nil {
		for _, n := range frames {
			if n != av.Blank && got[n] == nil {
				return nil, fmt.Errorf("frame %d has not come", n)
			}
		}
	}
	return got, err
}

// raw is a frame as the command writes it.
func raw(f *video.Frame) (all []byte) {
	for i := range f.Parts {
		p := &f.Parts[i]
		if p.Data == nil {
			continue
		}
		width, height := f.PartSize(i)
		for y := range height {
			all = append(all, p.Data[p.First+y*p.Stride:][:width*f.SampleBytes(i)]...)
		}
	}
	return all
}

// Parts of a clip that are decoded at the same time have the frames that they have one
// after the other.
func TestPartsSideBySide(t *testing.T) {
	avtest.Library(t)
	for _, name := range testvideo.Names("") {
		if noVideo(name) || name == "long.mp4" || slices.Contains(guessed, name) {
			continue
		}
		v := open(t, testvideo.File(t, name))
		var every []int
		for i := range v.Table.Line.Len() {
			every = append(every, i)
		}
		want := planes(t, v, every)
		c, err := v.Clip(every)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Load(); err != nil {
			t.Fatal(err)
		}
		got := make([][]byte, len(every))
		wrong := make([]error, c.Parts())
		var all sync.WaitGroup
		for part := range wrong {
			all.Go(func() {
				wrong[part] = c.DecodePart(t.Context(), part, func(n int, f *video.Frame) error { got[n] = raw(f); return nil })
			})
		}
		all.Wait()
		c.Close()
		if err := errors.Join(wrong...); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, n := range every {
			if !bytes.Equal(got[n], want[n]) {
				t.Errorf("%s, in %d parts: frame %d differs", name, len(wrong), n)
			}
		}
	}
}
