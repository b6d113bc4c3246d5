package samples

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
)

var modes = map[int]string{1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}

// For 8 bits, Pillow is the judge.
func TestConvertEqualsPillow(t *testing.T) {
	const width, height = 64, 64
	r := rand.New(rand.NewPCG(1, 2))
	for from := 1; from <= 4; from++ {
		src := make([]byte, width*height*from)
		for i := range src {
			src[i] = byte(r.Uint32())
		}
		png := oracle.WriteImage(t, oracle.Image{Mode: modes[from], Width: width, Height: height, Pix: src}, "PNG", nil)
		for to := 1; to <= 4; to++ {
			if to == 2 {
				continue // nobody asks for it
			}
			want := oracle.ReadImage(t, png, modes[to], false)
			got := make([]byte, width*height*to)
			Convert(got, Kind{to, false}, src, Kind{from, false}, width*height)
			if !bytes.Equal(got, want.Pix) {
				t.Errorf("%s to %s differs", modes[from], modes[to])
			}
		}
	}
}

func TestConvertDepths(t *testing.T) {
	wide := binary.NativeEndian.AppendUint16(nil, 0x12FF)
	for _, c := range []struct {
		to   Kind
		src  []byte
		from Kind
		want []byte
	}{
		{Kind{1, false}, wide, Kind{1, true}, []byte{0x12}},
		{Kind{1, true}, []byte{0x12}, Kind{1, false}, []byte{0x12, 0x12}},
		{Kind{3, true}, wide, Kind{1, true}, bytes.Repeat(wide, 3)},
		{Kind{4, true}, wide, Kind{1, true}, append(bytes.Repeat(wide, 3), 0xFF, 0xFF)},
		{Kind{4, false}, wide, Kind{1, true}, []byte{0x12, 0x12, 0x12, 0xFF}},
		{Kind{1, true}, bytes.Repeat([]byte{0xFF}, 6), Kind{3, true}, []byte{0xFF, 0xFF}},
		{Kind{1, true}, bytes.Repeat(wide, 4), Kind{4, true}, wide},
		{Kind{3, true}, []byte{1, 2, 3, 4}, Kind{4, false}, []byte{1, 1, 2, 2, 3, 3}},
	} {
		got := make([]byte, len(c.want))
		if Convert(got, c.to, c.src, c.from, 1); !bytes.Equal(got, c.want) {
			t.Errorf("%+v to %+v: % x, want % x", c.from, c.to, got, c.want)
		}
	}
}

// Whatever the depths, pixels are those that come of them one by one.
func TestConvertEqualsPixelByPixel(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 200 {
		for _, deep := range [...][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
			for _, channels := range [...][2]int{{1, 1}, {1, 3}, {1, 4}, {2, 1}, {2, 3}, {2, 4}, {3, 1}, {3, 3}, {3, 4}, {4, 1}, {4, 3}, {4, 4}} {
				from, to := Kind{channels[0], deep[0]}, Kind{channels[1], deep[1]}
				src := make([]byte, n*from.PixelBytes())
				for i := range src {
					src[i] = byte(r.Uint32())
				}
				got, want := make([]byte, n*to.PixelBytes()), make([]byte, n*to.PixelBytes())
				Convert(got, to, src, from, n)
				onebyone(want, to, src, from)
				if !bytes.Equal(got, want) {
					t.Fatalf("%d pixels of %+v to %+v", n, from, to)
				}
			}
		}
	}
}

func onebyone(dst []byte, to Kind, src []byte, from Kind) {
	opaque := uint32(255)
	if to.Wide && from.Wide {
		opaque = 65535
	}
	order := binary.NativeEndian
	for ; len(src) > 0; src, dst = src[from.PixelBytes():], dst[to.PixelBytes():] {
		var c [4]uint32
		for i := range from.Channels {
			switch {
			case !from.Wide:
				c[i] = uint32(src[i])
			case to.Wide:
				c[i] = uint32(order.Uint16(src[2*i:]))
			default:
				c[i] = uint32(order.Uint16(src[2*i:]) >> 8)
			}
		}
		c = recolour(c, from.Channels, to.Channels, opaque)
		for i := range to.Channels {
			switch {
			case !to.Wide:
				dst[i] = byte(c[i])
			case from.Wide:
				order.PutUint16(dst[2*i:], uint16(c[i]))
			default:
				order.PutUint16(dst[2*i:], uint16(c[i]*257))
			}
		}
	}
}
