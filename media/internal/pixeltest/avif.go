package pixeltest

import (
	"bytes"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
)

// AVIF tests a decoder of AVIF. Its pixels may be so many levels from those of Pillow,
// which brings a libavif of its own.
func AVIF(t *testing.T, d media.PixelDecoder, levels int) {
	byPillow(t, d, "AVIF", levels, []made{
		{Smooth("RGB", 61, 45, 1), nil}, {Smooth("RGB", 60, 44, 1), Options{"quality": 95, "subsampling": "4:4:4"}},
		{Smooth("RGB", 61, 45, 1), Options{"subsampling": "4:2:2", "range": "limited"}},
		{Noise("RGB", 31, 33, 1), Options{"quality": 100, "subsampling": "4:4:4"}},
		{Smooth("L", 61, 45, 1), nil}, {Smooth("RGBA", 61, 45, 1), nil},
		{Noise("RGBA", 40, 30, 1), Options{"subsampling": "4:4:4", "quality": 100}},
		{Noise("RGB", 1, 1, 1), nil}, {Smooth("RGB", 3, 50, 1), nil}, {Smooth("RGB", 300, 201, 1), Options{"tile_rows": 1, "tile_cols": 1}},
		{Smooth("RGB", 61, 45, 1), Options{"exif": EXIF(6)}}, {Smooth("RGB", 61, 45, 1), Options{"exif": EXIF(5)}},
		{Smooth("RGB", 64, 48, 3), nil}, {Smooth("RGBA", 64, 48, 3), nil},
	})

	good := oracle.WriteImage(t, Smooth("RGB", 61, 45, 1), "AVIF", nil)
	Contract(t, d, good)

	damaged := bytes.Clone(good)
	for i := range damaged[bytes.Index(damaged, []byte("mdat"))+4:] {
		damaged[len(damaged)-1-i] = 0xFF
	}

	refusing(t, d, map[string]refused{
		"cut in pixels":  {good[:len(good)-20], media.ErrTruncated},
		"damaged pixels": {damaged, media.ErrCorrupt},
	})
}
