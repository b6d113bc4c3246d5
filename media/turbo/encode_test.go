//go:build cgo

package turbo

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/decodertest"
	"github.com/headrace/headrace/media/internal/pixeltest"
	"github.com/headrace/headrace/tensor"
)

// noise has bytes between its rows that belong to nobody.
func noise(width, height int, color media.Color) media.Pixels {
	r := rand.New(rand.NewPCG(uint64(width), uint64(height)))
	p := media.Pixels{Width: width, Height: height, Color: color, DType: tensor.Uint8}
	p.Stride = width*p.PixelBytes() + 5
	p.Data = make([]byte, p.Stride*(height-1)+width*p.PixelBytes())
	for i := range p.Data {
		p.Data[i] = byte(i%p.Stride + i/p.Stride*2 + r.IntN(60))
	}
	return p
}

// A file has the pixels that Pillow's own has with the same options: both are
// libjpeg-turbo's.
func TestEncodeEqualsPillow(t *testing.T) {
	for _, color := range []media.Color{media.Gray, media.RGB} {
		mode := map[media.Color]string{media.Gray: "L", media.RGB: "RGB"}[color]
		for _, size := range [][2]int{{1, 1}, {1, 40}, {40, 1}, {17, 9}, {133, 70}} {
			for _, o := range []media.EncodeOptions{
				{}, {Quality: 1}, {Quality: 30}, {Quality: 100}, {Subsampling: "4:4:4"}, {Subsampling: "4:2:2", Quality: 90},
				{Progressive: true}, {Progressive: true, Subsampling: "4:4:4", Quality: 95},
			} {
				o.Format = media.JPEG
				p := noise(size[0], size[1], color)
				data, err := media.Encode(nil, p, o)
				if err != nil {
					t.Fatal(err)
				}
				options := map[string]any{"progressive": o.Progressive}
				if o.Quality != 0 {
					options["quality"] = o.Quality
				}
				if o.Subsampling != "" && color == media.RGB {
					options["subsampling"] = o.Subsampling
				}
				got := oracle.ReadImage(t, data, "", false)
				want := oracle.ReadImage(t, oracle.WriteImage(t, oracle.Image{Mode: mode, Width: p.Width, Height: p.Height, Pix: pixeltest.Packed(p)}, "JPEG", options), "", false)
				if got.Mode != want.Mode || !bytes.Equal(got.Pix, want.Pix) {
					t.Errorf("%v, %v, %+v: other pixels than Pillow's", color, size, o)
				}
				if info, err := media.Probe(data); err != nil || info.Progressive != o.Progressive || info.Components != color.Channels() {
					t.Errorf("%+v: %v, %v", o, info, err)
				}
			}
		}
	}
}

// What is written is read again, as near as its quality lets it.
func TestEncodeDecode(t *testing.T) {
	p := media.Pixels{Width: 64, Height: 48, Color: media.RGB, DType: tensor.Uint8, Stride: 64 * 3}
	for y := range p.Height {
		for x := range p.Width {
			p.Data = append(p.Data, byte(x*3), byte(y*4), byte(100+x+y))
		}
	}
	for _, c := range []struct{ quality, levels int }{{100, 4}, {90, 12}, {50, 40}} {
		data, err := media.Encode(nil, p, media.EncodeOptions{Format: media.JPEG, Quality: c.quality, Subsampling: "4:4:4"})
		if err != nil {
			t.Fatal(err)
		}
		got := decodertest.Whole(t, Decoder{}, data)
		for i, v := range got.Pix {
			if d := int(v) - int(p.Data[i]); d > c.levels || -d > c.levels {
				t.Fatalf("quality %d: value %d is %d, was %d", c.quality, i, v, p.Data[i])
			}
		}
	}
}

// A file that is much larger than expected moves to larger memory, and none of it is
// kept.
func TestEncodeMemory(t *testing.T) {
	freeIdle()
	p := noise(700, 500, media.RGB)
	for i := range p.Data {
		p.Data[i] = byte(rand.IntN(256))
	}
	before := []byte("before")
	data, err := media.Encode(before, p, media.EncodeOptions{Format: media.JPEG, Quality: 100, Subsampling: "4:4:4"})
	if err != nil || len(data) < p.Width*p.Height || !bytes.HasPrefix(data, before) {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	decodertest.Whole(t, Decoder{}, data[len(before):])
	freeIdle()
	if _, n, _ := memory(); n != 0 {
		t.Errorf("%d pieces of C memory are out", n)
	}
}

// What media.Encode has not refused, libjpeg may: its words are in the error, and its
// memory is given back.
func TestEncodeFails(t *testing.T) {
	freeIdle()
	wide := media.Pixels{Data: make([]byte, 65_510), Stride: 65_510, Width: 65_510, Height: 1, Color: media.Gray, DType: tensor.Uint8}
	if _, err := (Encoder{}).AppendEncoded(nil, wide, media.EncodeOptions{Quality: 75}); !errors.Is(err, media.ErrUnsupported) ||
		fmt.Sprint(err) != "media: unsupported image: encoding JPEG: libjpeg: Maximum supported image dimension is 65500 pixels" {
		t.Error(err)
	}
	if _, n, _ := memory(); n != 0 {
		t.Errorf("%d pieces of C memory are out", n)
	}
}

func TestEncodeConcurrently(t *testing.T) {
	p := noise(200, 150, media.RGB)
	want, err := media.Encode(nil, p, media.EncodeOptions{Format: media.JPEG})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				if got, err := media.Encode(nil, p, media.EncodeOptions{Format: media.JPEG}); err != nil || !bytes.Equal(got, want) {
					t.Errorf("another file, or %v", err)
				}
			}
		})
	}
	group.Wait()
}

func TestImportingRegistersTheEncoder(t *testing.T) {
	if e, err := media.EncoderFor(media.JPEG); err != nil || e.Name() != "libjpeg-turbo" {
		t.Errorf("%v, %v", e, err)
	}
}
