//go:build cgo

package coded

import (
	"testing"

	"github.com/headrace/headrace/media/sound/flac"

	_ "github.com/headrace/headrace/media/sound/libflac"
)

// eachDecoder runs a test with libFLAC, and with FFmpeg, which decodes where it is not
// linked in.
func eachDecoder(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	libFLAC := flac.NewDecoder
	defer flac.Use(libFLAC)
	t.Run("libFLAC", test)
	flac.Use(nil)
	t.Run("FFmpeg", test)
}
