//go:build cgo

package turbo

import (
	"testing"

	"headrace/media"
)

func TestImportingRegisters(t *testing.T) {
	if d, err := media.DecoderFor(media.JPEG); err != nil || d.Name() != "libjpeg-turbo" {
		t.Errorf("%v, %v", d, err)
	}
}
