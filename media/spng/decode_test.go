//go:build cgo

package spng

import (
	"testing"

	"headrace/media"
	"headrace/media/internal/pixeltest"
)

func TestDecoder(t *testing.T) { pixeltest.PNG(t, Decoder{}) }

func TestImportingRegisters(t *testing.T) {
	if d, err := media.DecoderFor(media.PNG); err != nil || d.Name() != "libspng" {
		t.Errorf("%v, %v", d, err)
	}
}
