//go:build cgo

package recode

import (
	"bytes"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media/internal/avtest"
)

// What AVI says of key pictures may be wrong, and it says nothing of the order in which
// pictures are shown. Xvid packs two of them into one packet. Frames are those of the
// command all the same, by number and from any second on, of a file, and of two that were
// joined, the second of which has no index.
func TestPicturesOfAVI(t *testing.T) {
	avtest.Library(t)
	how := []string{
		"libxvid -bf 2 -q:v 3", "h263p", "cinepak", "libxvid -bf 1 -q:v 3", "msmpeg4", "mpeg4 -bf 2", "libxvid -bf 3 -q:v 3", "flv", "msmpeg4v2", "wmv1", "wmv2", "mpeg2video -bf 2",
		"mpeg1video", "mjpeg -pix_fmt yuvj420p", "libxvid",
	}
	for _, how := range how[:tier.Cases(2, len(how))] {
		for _, size := range []string{"64x48", "176x144"}[:tier.Cases(1, 2)] { // of small pictures, all packets are
			t.Run(how+" "+size, func(t *testing.T) {
				var parts [2][]byte
				for i, length := range []string{"30", "17"} {
					path := avtest.Cached(t, "part.avi", strings.Fields("-f lavfi -i testsrc2=s="+size+":r=25 -frames:v "+length+" -pix_fmt yuv420p -g 12 -c:v "+how)...)
					parts[i] = content(t, opened(t, path))
				}
				asRawFrames(t, parts[0])
				asRawFrames(t, slices.Concat(parts[0], parts[1]))
				asRawFrames(t, slices.Concat(parts[1], parts[0]))
			})
		}
	}
}

// asRawFrames compares a file with what the command makes of it.
func asRawFrames(t testing.TB, file []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "film.avi")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	agree(t, path)
	f := opened(t, path)
	all, at := streamed(t, f, Window{})
	late, _ := streamed(t, f, Window{Start: new(big.Rat).SetFloat64(at[len(at)-5])})
	if !slices.EqualFunc(late, all[len(all)-5:], bytes.Equal) {
		t.Errorf("%d frames from the last but four on are others", len(late))
	}
	for _, n := range []int{1, len(all) / 2, len(all) - 1} {
		if one, _ := loaded(t, file, n); !bytes.Equal(one[0], all[n]) {
			t.Errorf("frame %d alone is another", n)
		}
	}

	raw := avtest.Raw(t, path)
	if len(all) == 0 || len(raw)%len(all) != 0 {
		t.Fatalf("%d frames, and %d bytes by the command", len(all), len(raw))
	}
	size := len(raw) / len(all)
	if 2*size != len(all[0]) { // of RGB, that has no luma
		return
	}
	luma, _ := frames(t, file)
	for n, got := range luma {
		if !bytes.Equal(got, raw[n*size:][:len(got)]) {
			t.Fatalf("frame %d is not that of the command", n)
		}
	}
}
