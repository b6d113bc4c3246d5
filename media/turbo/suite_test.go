//go:build cgo

package turbo

import (
	"testing"

	"github.com/headrace/headrace/media/internal/decodertest"
)

func TestDecoder(t *testing.T) {
	for _, name := range levels() {
		t.Run(name, func(t *testing.T) {
			defer setLevel(name)()
			decodertest.Run(t, Decoder{})
		})
	}
}
