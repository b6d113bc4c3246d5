package vp8l_test

import (
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media/internal/pixeltest"
	"github.com/headrace/headrace/media/internal/testwebp"
	"github.com/headrace/headrace/media/internal/vp8l"
)

const header = 12 + 8 + 5 // of file, chunk, and image

func TestRead(t *testing.T) {
	for _, side := range []int{4, 5, 64, 256, 1024} {
		file := testwebp.ManyGroups(side)
		want := ((side + 3) / 4) * ((side + 3) / 4)
		if got := vp8l.Read(file[header:], side, side); got != (vp8l.Needs{Groups: min(want, 1<<16)}) {
			t.Errorf("%d × %[1]d pixels: %+v instead of %d groups", side, got, want)
		}
	}
}

// What libwebp writes has some groups, and never none.
func TestReadWhatIsWritten(t *testing.T) {
	for _, method := range []int{0, 3, 6} {
		for _, mode := range []string{"RGB", "RGBA", "L"} {
			file := oracle.WriteImage(t, pixeltest.Smooth(mode, 300, 200, 1), "WEBP",
				pixeltest.Options{"lossless": true, "method": method, "exact": true})
			at := 12
			for string(file[at:at+4]) != "VP8L" {
				at += 8 + int(file[at+4]) + int(file[at+5])<<8
			}
			got := vp8l.Read(file[at+13:], 300, 200)
			if got.Groups < 1 || got.Groups > 2600 {
				t.Errorf("%s, method %d: %+v", mode, method, got)
			}
		}
	}
}

// Damage and cuts neither fail nor take long.
func FuzzRead(f *testing.F) {
	f.Add(testwebp.ManyGroups(20)[header:], 20, 20)
	f.Add([]byte{}, 16384, 16384)
	f.Fuzz(func(t *testing.T, data []byte, width, height int) {
		if width < 1 || height < 1 || width > 1<<14 || height > 1<<14 {
			return
		}
		if got := vp8l.Read(data, width, height); got.Groups < 0 || got.Groups > min(1<<16, len(data)*8/20+1) {
			t.Errorf("%+v of %d bytes", got, len(data))
		}
	})
}
