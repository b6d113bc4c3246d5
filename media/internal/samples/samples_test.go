package samples

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"headrace/internal/oracle"
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
			slow := make([]byte, width*height*to)
			mixed(slow, Kind{to, false}, src, Kind{from, false})
			if !bytes.Equal(got, slow) {
				t.Errorf("%s to %s: the loop of its own differs", modes[from], modes[to])
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
