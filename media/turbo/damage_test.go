//go:build cgo

package turbo

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/decodertest"
	"github.com/headrace/headrace/media/internal/testjpeg"
)

var (
	small  = []media.Step{{Op: media.Resize{Size: 20}}, {Op: media.CenterCrop{Height: 16, Width: 16}}}
	random = []media.Step{{Op: media.RandomResizedCrop{Height: 16, Width: 16}}, {Op: media.RandomFlip{P: 0.5}}}
)

// typed reports whether an error says what is wrong in this module's terms.
func typed(err error) bool {
	for _, kind := range []error{media.ErrFormat, media.ErrTruncated, media.ErrCorrupt, media.ErrTooLarge, media.ErrUnsupported, media.ErrGeometry} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// Bits that have rotted give an error with a name, or some image: not a crash, and
// not the same bytes differently twice.
func TestRot(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, l := range layouts {
		l.Segments = [][]byte{decodertest.EXIF(5)}
		l.Quality = 40
		good := testjpeg.Noise(61, 53, 3, l)
		for range tier.Cases(60, 300) {
			data := bytes.Clone(good)
			for range 1 + r.IntN(4) {
				data[2+r.IntN(len(data)-2)] ^= 1 << r.IntN(8)
			}
			if big(data) {
				continue
			}
			for _, steps := range [][]media.Step{nil, small} {
				a, err := decodertest.Try(Decoder{}, data, true, steps, nil)
				b, again := decodertest.Try(Decoder{}, data, true, steps, nil)
				if err != nil && !typed(err) {
					t.Fatalf("%s: %v", name, err)
				}
				if (err == nil) != (again == nil) || err == nil && !bytes.Equal(a.Pix, b.Pix) {
					t.Fatalf("%s: decoded twice, differently: %v, %v", name, err, again)
				}
			}
		}
	}
}

// big reports whether an image is not worth the time of a test: its header may have
// rotted to a side of 65,535.
func big(data []byte) bool {
	info, err := media.Probe(data)
	return err == nil && info.Width*info.Height > 1<<20
}

// What libjpeg says is in the error.
func TestErrorsNameTheCause(t *testing.T) {
	data := testjpeg.Noise(64, 64, 1, testjpeg.Layout{Sampling: testjpeg.S420})
	restart := testjpeg.Noise(64, 64, 1, testjpeg.Layout{Sampling: testjpeg.S420, Restart: 2})
	restart[bytes.Index(restart, []byte{0xFF, 0xD2})+1] = 0xD6
	for _, c := range []struct {
		data []byte
		kind error
		text string
	}{
		{data[:len(data)/2], media.ErrTruncated, "Premature end of JPEG file"},
		{append(bytes.Clone(data[:len(data)/2]), 0xFF, 0xD9), media.ErrCorrupt, "premature end of data segment"},
		{restart, media.ErrCorrupt, "libjpeg: "},
		{bytes.ReplaceAll(data, []byte{0xFF, 0xDB}, []byte{0xFF, 0xFE}), media.ErrCorrupt, "Quantization table 0x00 was not defined"},
	} {
		_, err := decodertest.Try(Decoder{}, c.data, false, nil, nil)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%v, want %v: …%s…", err, c.kind, c.text)
		}
	}
}

// Warnings about what does no harm are none: bytes between the scan and the end, an
// unknown version of JFIF.
func TestHarmlessOddities(t *testing.T) {
	jfif := append([]byte{0xE0}, "JFIF\x00\x09\x09\x00\x00\x01\x00\x01\x00\x00"...)
	data := testjpeg.Noise(64, 64, 1, testjpeg.Layout{Sampling: testjpeg.S420, Progressive: true, Segments: [][]byte{jfif}})
	want := decodertest.Whole(t, Decoder{}, data)
	odd := append(bytes.Clone(data[:len(data)-2]), 0, 0, 0, 0xFF, 0xD9)
	odd = append(odd, "what follows a picture is somebody else's"...)
	if s := decodertest.Same(decodertest.Whole(t, Decoder{}, odd), want); s != "" {
		t.Error(s)
	}
}

// A few bytes can ask for any number of passes over a large image.
func TestEndlessScans(t *testing.T) {
	data := testjpeg.Noise(64, 64, 1, testjpeg.Layout{Progressive: true})
	last := bytes.LastIndex(data, []byte{0xFF, 0xDA})
	scan := data[last : len(data)-2]
	bomb := bytes.Clone(data[:len(data)-2])
	for range 600 {
		bomb = append(bomb, scan...)
	}
	_, err := decodertest.Try(Decoder{}, append(bomb, 0xFF, 0xD9), false, nil, nil)
	if !errors.Is(err, media.ErrCorrupt) {
		t.Error(err)
	}
}

// Goroutines decode at once, good images and bad ones, and each gets its own pixels.
func TestConcurrently(t *testing.T) {
	var pictures [][]byte
	var want [][]byte
	for i := range 12 {
		data := testjpeg.Noise(90+7*i, 80, uint64(i), testjpeg.Layout{Sampling: testjpeg.S420, Progressive: i%3 == 0, Segments: [][]byte{decodertest.EXIF(byte(i%8 + 1))}})
		pictures = append(pictures, data)
		want = append(want, decodertest.Decode(t, Decoder{}, data, true, random, decodertest.Draws(0.3)).Pix)
	}
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for i := range 60 {
				n := (i*7 + g) % len(pictures)
				p, err := decodertest.Try(Decoder{}, pictures[n], true, random, decodertest.Draws(0.3))
				if err != nil || !bytes.Equal(p.Pix, want[n]) {
					t.Errorf("picture %d: other pixels, or %v", n, err)
				}
				if _, err := decodertest.Try(Decoder{}, pictures[n][:len(pictures[n])/3], true, nil, nil); err == nil {
					t.Errorf("a third of picture %d is decoded", n)
				}
			}
		})
	}
	group.Wait()
}
