package media_test

import (
	"testing"

	"headrace/media"
	"headrace/media/internal/decodertest"
)

func TestGoJPEG(t *testing.T) { decodertest.Run(t, media.GoJPEG{}) }
