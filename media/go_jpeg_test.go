package media_test

import (
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/decodertest"
)

func TestGoJPEG(t *testing.T) { decodertest.Run(t, media.GoJPEG{}) }
