//go:build !cgo

package ffmpeg

import (
	"errors"
	"testing"

	"headrace/media"
)

func TestWithoutC(t *testing.T) {
	if _, err := Library(); !errors.Is(err, media.ErrUnsupported) {
		t.Error(err)
	}
	if _, err := NewDecoder(Stream{Codec: "h264"}); !errors.Is(err, media.ErrUnsupported) {
		t.Error(err)
	}
}
