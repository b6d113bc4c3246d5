//go:build cgo

package recode

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/avtest"
	"github.com/headrace/headrace/media/video"
)

// Streams whose container does not say how long a packet is may end inside a picture,
// which decoders conceal. No frame comes that the whole file does not have, by number or
// one after the other, without an error.
func TestFilesThatEndInsideAPicture(t *testing.T) {
	avtest.Library(t)
	for _, c := range []struct {
		suffix, how string
		each        int // bytes of what the file has whole
	}{
		{".hevc", "-c:v libx265 -x265-params log-level=0", 1},
		{".ts", "-c:v libx264", 188},
		{".ts", "-c:v libx265 -x265-params log-level=0", 188},
		{".h264", "-c:v libx264", 1},
		{".nut", "-c:v mpeg4", 1},
	} {
		path := avtest.Cached(t, "film"+c.suffix, strings.Fields("-f lavfi -i testsrc2=s=64x48:r=25 -frames:v 12 -pix_fmt yuv420p "+c.how)...)
		file := content(t, opened(t, path))
		all, _ := loaded(t, file)
		random := rand.New(rand.NewPCG(3, uint64(len(file))))
		for range tier.Cases(4, 200) {
			cut := (len(file)/3 + random.IntN(2*len(file)/3)) / c.each * c.each
			if some := tryLoad(file[:cut]); !among(some, all) {
				t.Errorf("%s: of %d bytes: frames by their numbers that the whole has not", path, cut)
			}
			at := filepath.Join(t.TempDir(), "cut"+c.suffix)
			if err := os.WriteFile(at, file[:cut], 0o600); err != nil {
				t.Fatal(err)
			}
			if some := tryStream(opened(t, at)); !among(some, all) {
				t.Errorf("%s: of %d bytes: frames one after the other that the whole has not", path, cut)
			}
		}
	}
}

// Whatever encoders put behind a picture, a file that is whole is not refused.
func TestWholeFilesDoNotEndInsideAPicture(t *testing.T) {
	avtest.Library(t)
	how := []string{
		"-c:v libx265 -x265-params log-level=0:wpp=0 film.hevc", "-c:v libx264 -flags +ildct+ilme -x264-params tff=1:slices=3 film.ts",
		"-c:v libx264 -profile:v baseline film.ts", "-c:v libx264 -x264-params nal-hrd=cbr:vbv-maxrate=800:vbv-bufsize=400:filler=1 -b:v 800k film.h264",
		"-c:v libx264 -tune zerolatency -intra-refresh 1 film.ts", "-c:v libx265 -x265-params log-level=0:open-gop=1:keyint=4:hrd=1:vbv-maxrate=500:vbv-bufsize=500:aud=1 film.ts",
		"-c:v libx265 -x265-params log-level=0:hash=1 -pix_fmt yuv420p10le film.hevc", "-c:v libx264 -bf 3 -g 250 -pix_fmt yuv444p film.ts", "-c:v libx264 -x264-params open-gop=1:keyint=5 film.h264",
		"-c:v libx264 -aud 1 -muxrate 2M -f mpegts film.ts",
	}
	for _, how := range how[:tier.Cases(3, len(how))] {
		args := strings.Fields("-f lavfi -i testsrc2=s=96x64:r=25 -frames:v 14 -pix_fmt yuv420p " + how)
		path := avtest.Cached(t, args[len(args)-1], args[:len(args)-1]...)
		t.Run(how, func(t *testing.T) { agree(t, path) })
	}
}

func among(some, all [][]byte) bool {
	return !slices.ContainsFunc(some, func(frame []byte) bool {
		return !slices.ContainsFunc(all, func(of []byte) bool { return bytes.Equal(frame, of) })
	})
}

// tryLoad decodes all frames, or none if that is an error.
func tryLoad(file []byte) (all [][]byte) {
	v, err := video.Open(video.Bytes(file), -1)
	if err != nil || v.Short != nil {
		return nil
	}
	probe := new(failing)
	defer func() { _ = recover() }() // a fatal failure of the probe
	all, _ = loaded(probe, file)
	return all
}

// failing is a test that fails for itself.
type failing struct{ testing.TB }

func (failing) Helper()      {}
func (failing) Fatal(...any) { panic("failed") }

func tryStream(f *os.File) (all [][]byte) {
	r, err := OpenFrames(f, FramesOptions{})
	if err != nil {
		return nil
	}
	defer r.Close()
	for {
		frame, time := make([]byte, r.Form().Bytes()), make([]float64, 1)
		n, err := r.Next(context.Background(), frame, time)
		if errors.Is(err, media.ErrTruncated) || errors.Is(err, media.ErrCorrupt) {
			return nil
		}
		if err != nil || n == 0 {
			return all
		}
		all = append(all, frame)
	}
}
