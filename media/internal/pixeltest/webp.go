package pixeltest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

// WebP tests a decoder of WebP.
func WebP(t *testing.T, d media.PixelDecoder) {
	t.Run("by Pillow", func(t *testing.T) { webpByPillow(t, d) })
	t.Run("frames", func(t *testing.T) { webpFrames(t, d) })
	t.Run("errors", func(t *testing.T) { webpErrors(t, d) })
}

func webpByPillow(t *testing.T, d media.PixelDecoder) {
	byPillow(t, d, "WEBP", 0, []made{
		{Smooth("RGB", 61, 45, 1), nil}, {Smooth("RGB", 60, 44, 1), Options{"quality": 30}},
		{Noise("RGB", 33, 34, 1), Options{"quality": 95}},
		{Smooth("RGBA", 61, 45, 1), nil}, {Noise("RGBA", 62, 46, 1), Options{"quality": 60, "alpha_quality": 50}},
		{Noise("RGB", 1, 1, 1), nil}, {Noise("RGB", 1, 9, 1), nil}, {Noise("RGB", 2, 2, 1), nil},
		{Noise("RGB", 3, 1, 1), nil}, {Noise("RGBA", 7, 2, 1), nil},
		{Noise("RGB", 61, 45, 1), Options{"lossless": true}}, {Smooth("RGBA", 61, 45, 1), Options{"lossless": true, "exact": true}},
		{Noise("RGBA", 61, 45, 1), Options{"lossless": true}}, {Smooth("RGB", 300, 201, 1), Options{"lossless": true, "method": 6}},
		{Smooth("RGB", 301, 200, 1), Options{"exif": EXIF(6)}},
		{Noise("RGBA", 61, 45, 3), Options{"duration": 100}}, {Noise("RGB", 61, 45, 3), Options{"duration": 100, "lossless": true}},
	})
}

// animation puts one frame on a canvas, from the chunks of a still.
func animation(still []byte, width, height, left, top, canvasWidth, canvasHeight int, alpha bool) []byte {
	little24 := func(b []byte, v int) []byte { return append(b, byte(v), byte(v>>8), byte(v>>16)) }
	chunk := func(b []byte, kind string, body []byte) []byte {
		b = append(binary.LittleEndian.AppendUint32(append(b, kind...), uint32(len(body))), body...)
		if len(body)%2 == 1 {
			b = append(b, 0)
		}
		return b
	}

	chunks := still[12:]
	if string(chunks[:4]) == "VP8X" {
		chunks = chunks[18:]
	}

	flags := byte(2)
	if alpha {
		flags |= 0x10
	}

	frame := little24(little24(nil, left/2), top/2)
	frame = little24(little24(little24(frame, width-1), height-1), 100)
	frame = append(append(frame, 0), chunks...)

	b := []byte("RIFF\x00\x00\x00\x00WEBP")
	b = chunk(b, "VP8X", little24(little24([]byte{flags, 0, 0, 0}, canvasWidth-1), canvasHeight-1))
	b = chunk(b, "ANIM", []byte{10, 20, 30, 255, 0, 0})
	b = chunk(b, "ANMF", frame)
	b = chunk(b, "ANMF", frame)

	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-8))
	return b
}

// webpFrames has first frames that do not fill their canvas.
func webpFrames(t *testing.T, d media.PixelDecoder) {
	for name, c := range map[string]struct {
		img   oracle.Image
		o     Options
		alpha bool
	}{
		"lossy":          {Smooth("RGB", 31, 25, 1), nil, false},
		"lossy on alpha": {Smooth("RGB", 31, 25, 1), nil, true},
		"alpha":          {Noise("RGBA", 31, 25, 1), nil, true},
		"lossless":       {Noise("RGBA", 31, 25, 1), Options{"lossless": true}, true},
		"opaque":         {Noise("RGB", 31, 25, 1), Options{"lossless": true}, false},
	} {
		still := oracle.WriteImage(t, c.img, "WEBP", c.o)
		for _, at := range [][2]int{{0, 0}, {10, 6}, {30, 20}} {
			data := animation(still, 31, 25, at[0], at[1], 61, 45, c.alpha)
			EqualsPillow(t, fmt.Sprintf("%s at %v", name, at), d, data, 0)
		}
	}

	still := oracle.WriteImage(t, Smooth("RGB", 31, 25, 1), "WEBP", nil)
	if _, err := Try(t, d, animation(still, 31, 25, 32, 0, 61, 45, false), media.RGB, tensor.Uint8); !errors.Is(err, media.ErrCorrupt) {
		t.Errorf("a frame beyond its canvas: %v", err)
	}
	if _, err := Try(t, d, animation(still, 30, 25, 0, 0, 61, 45, false), media.RGB, tensor.Uint8); !errors.Is(err, media.ErrCorrupt) {
		t.Errorf("a frame that is larger than it says: %v", err)
	}
}

func webpErrors(t *testing.T, d media.PixelDecoder) {
	good := oracle.WriteImage(t, Smooth("RGB", 61, 45, 1), "WEBP", nil)
	Contract(t, d, good)
	lossless := oracle.WriteImage(t, Smooth("RGB", 61, 45, 1), "WEBP", Options{"lossless": true})
	bad := bytes.Clone(lossless)
	for i := range bad[26:] {
		bad[26+i] = 0xFF
	}
	refusing(t, d, map[string]refused{
		"cut":            {good[:len(good)-20], media.ErrTruncated},
		"cut, lossless":  {lossless[:len(lossless)-20], media.ErrTruncated},
		"damaged pixels": {bad, media.ErrCorrupt},
	})
}
