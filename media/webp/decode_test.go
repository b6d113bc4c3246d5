//go:build cgo

package webp

import (
	"strings"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/pixeltest"
)

func TestDecoder(t *testing.T) { pixeltest.WebP(t, Decoder{}) }

func TestImportingRegisters(t *testing.T) {
	if d, err := media.DecoderFor(media.WebP); err != nil || !strings.HasPrefix(d.Name(), "libwebp-") {
		t.Errorf("%v, %v", d, err)
	}
}
