//go:build cgo

package recode

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media/internal/avtest"
)

// cutOff is a file without its first bytes.
func cutOff(t testing.TB, path string, bytes int) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut"+filepath.Ext(path))
	if err := os.WriteFile(cut, b[bytes:], 0o600); err != nil {
		t.Fatal(err)
	}
	return cut
}

// A recording that begins in the middle of a group, and a stream without a container,
// have the frames that the command gives, from the first key frame on, by their numbers
// and one after the other, at the same times.
func TestFramesFromTheFirstKeyFrame(t *testing.T) {
	avtest.Library(t)
	const packet = 188
	all := []struct {
		name, how string
		cut       int
		frames    int // 0: as many as the command gives
	}{
		{"open.ts", "-c:v libx264 -bf 3 -x264-params open-gop=1:keyint=15:min-keyint=15", 9 * packet, 0},
		{"mpeg2.ts", "-c:v mpeg2video -bf 2 -g 12", 9 * packet, 0},
		{"open.h264", "-c:v libx264 -bf 3 -x264-params open-gop=1:keyint=15:min-keyint=15", 0, 0},
		// Of HEVC the command gives gray frames, too, for those before the first key
		// frame.
		{"hevc.ts", "-c:v libx265 -x265-params keyint=15:min-keyint=15:log-level=none", 9 * packet, 30},
		{"avc.ts", "-c:v libx264 -bf 3 -g 15", 9 * packet, 0},
		{"mpeg2.mpg", "-c:v mpeg2video -bf 2 -g 12", 4096, 0},
		{"all.h264", "-c:v libx264 -bf 3 -g 15", 0, 0},
		{"all.hevc", "-c:v libx265 -x265-params keyint=15:min-keyint=15:log-level=none", 0, 0},
		{"cut.h264", "-c:v libx264 -bf 3 -g 15", 2000, 0},
	}
	for _, c := range all[:tier.Cases(3, len(all))] {
		t.Run(c.name, func(t *testing.T) {
			args := "-f lavfi -i testsrc2=s=64x48:r=30:d=1.5 -pix_fmt yuv420p " + c.how
			path := avtest.Cached(t, c.name, strings.Fields(args)...)
			if c.cut > 0 {
				path = cutOff(t, path, c.cut)
			}
			raw := avtest.FFmpeg(t, "-v", "quiet", "-i", path, "-map", "0:v:0", "-vsync", "passthrough", "-f", "rawvideo", "-")
			const luma = 64 * 48
			size := luma * 3 / 2
			if n := len(raw) / size; c.frames > 0 {
				raw = raw[(n-c.frames)*size:]
			}
			f := opened(t, path)
			got, at := frames(t, content(t, f))
			if len(got) != len(raw)/size || len(got) == 0 {
				t.Fatalf("%d frames, want %d", len(got), len(raw)/size)
			}
			for i := range got {
				if !bytes.Equal(got[i], raw[i*size:][:luma]) {
					t.Fatalf("frame %d is not that of the command", i)
				}
			}
			all, seconds := streamed(t, f, Window{})
			if len(all) != len(got) {
				t.Fatalf("%d frames one after the other, %d by their numbers", len(all), len(got))
			}
			for i := range seconds {
				if d := seconds[i] - (at[i] - at[0]); math.Abs(d) > 1e-3 || math.Abs(seconds[i]-float64(i)/30) > 1e-3 {
					t.Fatalf("frame %d is at %.4f s and at %.4f s", i, seconds[i], at[i]-at[0])
				}
			}
		})
	}
}
