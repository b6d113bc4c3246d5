//go:build cgo

package tiff

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/pixeltest"
	"github.com/headrace/headrace/tensor"
)

// CIE Lab becomes what Little CMS makes of it without its tables, to 1 level.
func TestLab(t *testing.T) {
	img := pixeltest.Noise("RGB", 301, 203, 1)
	img.Mode = "LAB"
	for _, compression := range []string{"raw", "tiff_lzw", "tiff_adobe_deflate"} {
		data := oracle.WriteImage(t, img, "TIFF", pixeltest.Options{"compression": compression})
		pixeltest.EqualsPillow(t, compression, Decoder{}, data, 1)
	}

	// ICC's form has a* and b* plus 128 where CIE's has a sign, which is the upper bit
	// turned round.
	lab := oracle.WriteImage(t, img, "TIFF", nil)
	icc := bytes.Clone(img.Pix)
	for i := range icc {
		if i%3 != 0 {
			icc[i] ^= 0x80
		}
	}
	img.Mode, img.Pix = "RGB", icc
	data := oracle.WriteImage(t, img, "TIFF", nil)
	set(t, data, 262, inICCLab)
	want := pixeltest.Packed(pixeltest.Decode(t, Decoder{}, lab, media.RGB, tensor.Uint8))
	if !bytes.Equal(pixeltest.Packed(pixeltest.Decode(t, Decoder{}, data, media.RGB, tensor.Uint8)), want) {
		t.Error("ICC Lab has other colours than CIE Lab")
	}

	for _, c := range []struct {
		photometric uint32
		color       media.Color
		says        string
	}{{10, media.RGB, "ITU Lab pixels"}, {inLab, media.Mask, "CIE Lab pixels of 8 bits as a mask"}} {
		set(t, data, 262, c.photometric)
		_, err := pixeltest.Try(t, Decoder{}, data, c.color, tensor.Uint8)
		if !errors.Is(err, media.ErrUnsupported) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, want %q", err, c.says)
		}
	}
}
