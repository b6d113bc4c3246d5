//go:build cgo

package recode

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/testvideo"
	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/avtest"
	"github.com/headrace/headrace/media/video"
)

// loaded decodes frames of a file by their numbers, with their times: all, if none are
// named.
func loaded(t testing.TB, data []byte, wanted ...int) (all [][]byte, at []float64) {
	t.Helper()
	v, err := video.Open(video.Bytes(data), -1)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; len(wanted) == i && i < v.Table.Line.Len(); i++ {
		wanted = append(wanted, i)
	}
	for _, i := range wanted {
		at = append(at, v.Seconds(i))
	}
	c, err := v.Clip(wanted)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	all = make([][]byte, len(wanted))
	err = c.Decode(context.Background(), func(n int, f *video.Frame) error {
		var plan media.Plan
		info := video.Info(&v.Stream.Stream)
		info.Width, info.Height = f.Width, f.Height
		if err := media.MakePlan(info, media.Options{}, nil, nil, &plan); err != nil {
			return err
		}
		form := plan.Form()
		frame := make([]byte, form.Bytes())
		all[slices.Index(wanted, n)] = frame
		return video.Draw(frame, form.RowBytes(), &f.Picture, &plan, media.Options{}, func(full media.Form) media.Pixels {
			return media.Pixels{
				Data: make([]byte, full.RowBytes()*full.Height), Stride: full.RowBytes(),
				Width: full.Width, Height: full.Height, Color: full.Color, DType: full.DType,
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, at
}

// agree compares the two ways in which a file is read: by its table, and packet by
// packet.
func agree(t testing.TB, path string) {
	t.Helper()
	f := opened(t, path)
	got, at := loaded(t, content(t, f))
	all, seconds := streamed(t, f, Window{})
	if !slices.EqualFunc(got, all, bytes.Equal) {
		t.Errorf("%s: %d frames by their numbers are not the %d one after the other", filepath.Base(path), len(got), len(all))
	}
	for i := range min(len(at), len(seconds)) {
		if math.Abs(at[i]-seconds[i]) > 1e-6 {
			t.Errorf("%s: frame %d is at %.6f s by its number, and at %.6f s", filepath.Base(path), i, at[i], seconds[i])
			break
		}
	}
}

// Frames by their numbers are those that come one after the other, at the same times, in
// every fixture.
func TestBothWaysAgreeOnFixtures(t *testing.T) {
	avtest.Library(t)
	names := testvideo.Names("")
	random := rand.New(rand.NewPCG(1, 2))
	random.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
	left := tier.Cases(3, len(names))
	for _, name := range names {
		data := testvideo.Read(t, name)
		if _, err := video.Open(video.Bytes(data), -1); err != nil || name == "long.mp4" || left == 0 {
			continue // sound, and what the tests of package video know to be refused
		}
		left--
		t.Run(name, func(t *testing.T) { agree(t, testvideo.File(t, name)) })
	}
}

// films are containers, and what can be in them.
var films = []struct {
	suffix string
	codecs []string
	how    string
}{
	{".mp4", []string{"libx264", "libx265", "mpeg4"}, ""},
	{".mov", []string{"libx264", "mpeg4", "mjpeg", "qtrle"}, ""},
	{".frag.mp4", []string{"libx264", "mpeg4"}, "-movflags frag_keyframe+empty_moov"},
	{".mkv", []string{"libx264", "libx265", "mpeg2video", "ffv1", "libvpx"}, ""},
	{".webm", []string{"libvpx", "libvpx-vp9"}, ""},
	{".avi", []string{"mpeg4", "libxvid", "h263p", "msmpeg4", "wmv2", "mjpeg", "huffyuv"}, ""},
	{".wmv", []string{"wmv1", "wmv2", "msmpeg4"}, ""},
	{".flv", []string{"libx264", "flv"}, ""},
	{".ts", []string{"libx264", "libx265", "mpeg2video"}, ""},
	{".mpg", []string{"mpeg1video", "mpeg2video"}, "-r 25"},
	{".ogv", []string{"libtheora"}, ""},
	{".h264", []string{"libx264"}, ""},
	{".hevc", []string{"libx265"}, ""},
}

// Random small files of every container have the frames of the command, both ways.
func TestRandomFilmsAgree(t *testing.T) {
	avtest.Library(t)
	for n := range tier.Cases(2, 100*len(films)) {
		random := rand.New(rand.NewPCG(33, uint64(n)))
		film := films[n%len(films)]
		if !tier.Whole() {
			film = films[random.IntN(len(films))]
		}
		codec := film.codecs[random.IntN(len(film.codecs))]
		count, width, height := 1+random.IntN(20), 64+2*random.IntN(20), 48+2*random.IntN(20)
		if codec == "h263p" { // which has no others
			width, height = width&^3, height&^3
		}
		how := fmt.Sprintf("-f lavfi -i testsrc2=s=%dx%d:r=%d:d=10 -frames:v %d -pix_fmt %s -c:v %s %s",
			width, height, []int{5, 24, 25, 30, 60}[random.IntN(5)], count, pixelsOf(codec), codec, film.how)
		switch codec {
		case "libx264", "libx265", "mpeg2video", "mpeg4", "libxvid":
			if !strings.Contains(film.how, "-bf") {
				how += fmt.Sprintf(" -bf %d", random.IntN(3))
			}
			how += fmt.Sprintf(" -g %d", 1+random.IntN(12))
		}
		path := avtest.Make(t, "film"+film.suffix, strings.Fields(how)...)
		what := fmt.Sprintf("film %d: ffmpeg %s film%s", n, how, film.suffix)
		agree(t, path)
		if codec == "qtrle" { // whose frames have no luma
			continue
		}
		raw := avtest.Raw(t, path)
		luma, _ := frames(t, content(t, opened(t, path)))
		size := len(raw) / max(len(luma), 1)
		if len(luma) == 0 || len(raw)%len(luma) != 0 || pixelsOf(codec) == "yuv420p" && size != width*height*3/2 {
			t.Errorf("%d frames, and %d bytes by the command", len(luma), len(raw))
		}
		for k := 0; k < len(luma) && !t.Failed(); k++ {
			if !bytes.Equal(luma[k], raw[k*size:][:width*height]) {
				t.Errorf("frame %d is not that of the command", k)
			}
		}
		if t.Failed() {
			t.Fatal(what)
		}
	}
}

// Of H.264 a decoder that begins with the first image of an open group withholds those
// that follow, until it is sure of them: a window begins with an earlier group, then.
func TestWindowsOfOpenGroups(t *testing.T) {
	avtest.Library(t)
	const count = 20
	how := fmt.Sprintf("-f lavfi -i testsrc2=s=64x48:r=25 -frames:v %d -c:v libx264 -x264-params open-gop=1:keyint=5:bframes=2:asm=0", count)
	for _, suffix := range []string{".ts", ".mkv"} {
		f := opened(t, avtest.Cached(t, "open"+suffix, strings.Fields(how)...))
		all, _ := streamed(t, f, Window{})
		if len(all) != count {
			t.Fatalf("%d frames", len(all))
		}
		for from := range count {
			for to := from + 1; to <= min(from+4, count); to++ {
				got, _ := streamed(t, f, Window{Start: big.NewRat(int64(4*from-1), 100), End: big.NewRat(int64(4*to-1), 100)})
				if !slices.EqualFunc(got, all[from:to], bytes.Equal) {
					t.Errorf("%s: frames %d to %d: %d frames, or others", suffix, from, to, len(got))
				}
			}
		}
	}
}

// Codecs that MOV has and MP4 has not are decoded, too. QuickTime's animation is
// lossless, so its pixels are those of the command.
func TestOldCodecsOfMOV(t *testing.T) {
	avtest.Library(t)
	for name, how := range map[string]string{
		"animation.mov": "-pix_fmt rgb24 -c:v qtrle", "alpha.mov": "-pix_fmt argb -c:v qtrle", "2vuy.mov": "-pix_fmt uyvy422 -c:v rawvideo", "rgb.mov": "-pix_fmt rgb24 -c:v rawvideo",
	} {
		t.Run(name, func(t *testing.T) {
			path := avtest.Cached(t, name, strings.Fields("-f lavfi -i testsrc2=s=64x48:r=25 -frames:v 5 "+how)...)
			agree(t, path)
			got, _ := loaded(t, content(t, opened(t, path)))
			if len(got) != 5 {
				t.Fatalf("%d frames, want 5", len(got))
			}
			want := avtest.FFmpeg(t, "-i", path, "-pix_fmt", "rgb24", "-f", "rawvideo", "-")
			if name != "2vuy.mov" && !bytes.Equal(slices.Concat(got...), want) {
				t.Error("other pixels than the command's")
			}
		})
	}
}

func pixelsOf(codec string) string {
	switch codec {
	case "mjpeg":
		return "yuvj420p"
	case "qtrle":
		return "rgb24"
	case "huffyuv":
		return "yuv422p"
	}
	return "yuv420p"
}
