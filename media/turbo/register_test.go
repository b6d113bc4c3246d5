//go:build cgo

package turbo

import (
	"strings"
	"testing"

	"github.com/headrace/headrace/media"
)

func TestImportingRegisters(t *testing.T) {
	if d, err := media.DecoderFor(media.JPEG); err != nil || !strings.HasPrefix(d.Name(), "libjpeg-turbo-") {
		t.Errorf("%v, %v", d, err)
	}
}
