//go:build cgo

package turbo

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/decodertest"
	"github.com/headrace/headrace/media/internal/testjpeg"
)

// A decoder is used again for the next image. What one image brought must not help
// the next one: without tables of its own it fails, or is decoded with the tables that
// are standard for motion JPEG, but never with those of the one before.
func TestNothingIsRemembered(t *testing.T) {
	good := testjpeg.Noise(64, 64, 7, testjpeg.Layout{Sampling: testjpeg.S420})
	for name, marker := range map[string][]byte{"quantisation": {0xFF, 0xDB}, "Huffman": {0xFF, 0xC4}} {
		bare := bytes.ReplaceAll(good, marker, []byte{0xFF, 0xFE}) // a comment
		freeIdle()
		want, wantErr := decodertest.Try(Decoder{}, bare, false, nil, nil)
		whole := decodertest.Whole(t, Decoder{}, good)
		got, err := decodertest.Try(Decoder{}, bare, false, nil, nil)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) || !bytes.Equal(got.Pix, want.Pix) || bytes.Equal(got.Pix, whole.Pix) {
			t.Errorf("without a %s table: %v, with a fresh decoder: %v", name, err, wantErr)
		}
		if name == "quantisation" && !errors.Is(err, media.ErrCorrupt) {
			t.Errorf("without a %s table: %v", name, err)
		}
	}
}

// A warm decoder takes no memory from Go or from the system, and gives back what an
// unusually large image took.
func TestMemory(t *testing.T) {
	pictures := [][]byte{}
	for i, l := range []testjpeg.Layout{
		{Sampling: testjpeg.S420}, {Sampling: testjpeg.S444, Progressive: true}, {Sampling: testjpeg.S422, Segments: [][]byte{decodertest.EXIF(6)}},
	} {
		pictures = append(pictures, testjpeg.Noise(300+i, 200, 1, l))
	}
	steps := []media.Step{{Op: media.RandomResizedCrop{Height: 64, Width: 64}}, {Op: media.RandomFlip{P: 0.5}}, {Op: media.Resize{Size: 48}}}
	dst := make([]byte, 48*48*3)
	var plan media.Plan
	var draws media.Rand = decodertest.Draws(0.4)
	one := func() {
		for _, data := range pictures {
			info, err := media.Probe(data)
			if err == nil {
				err = media.MakePlan(info, media.Options{Orient: true}, steps, draws, &plan)
			}
			if err == nil {
				err = Decoder{}.DecodeInto(dst, 48*3, data, &info, &plan)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	freeIdle()
	if _, n, _ := memory(); n != 0 {
		t.Fatalf("%d pieces of C memory are out, and no decoder", n)
	}
	one()
	taken, _, _ := memory()
	if n := testing.AllocsPerRun(20, one); n != 0 && !instrumented {
		t.Errorf("%v allocations in Go", n)
	}
	if now, _, _ := memory(); now != taken {
		t.Errorf("%d pieces of C memory taken by a warm decoder", now-taken)
	}
	large := bytes.Clone(pictures[1]) // in name only: it is taken for a large one until its data end
	copy(large[bytes.Index(large, []byte{0xFF, 0xC2})+5:], []byte{3000 >> 8, 3000 & 255, 2000 >> 8, 2000 & 255})
	if _, err := decodertest.Try(Decoder{}, large, true, nil, nil); !errors.Is(err, media.ErrCorrupt) {
		t.Error(err)
	}
	if now, _, _ := memory(); now == taken {
		t.Error("the large picture took no memory")
	}
	if _, _, n := memory(); n > 64<<20 {
		t.Errorf("%d bytes are kept after a large picture", n)
	}
	freeIdle()
	if _, n, _ := memory(); n != 0 {
		t.Errorf("%d pieces of C memory leaked", n)
	}
}
