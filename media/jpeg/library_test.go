//go:build cgo

package jpeg_test

import (
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/jpeg"
	"github.com/headrace/headrace/media/turbo"
)

// A loader may leave JPEG to the library, in images and in masks.
func TestLibrary(t *testing.T) {
	for library, want := range map[bool]string{false: jpeg.Decoder{}.Name(), true: turbo.Decoder{}.Name()} {
		for _, color := range []media.Color{media.RGB, media.Gray, media.Mask} {
			d, err := media.Options{Color: color, Library: library}.Decoder(media.JPEG)
			if err != nil || d.Name() != want {
				t.Errorf("%v, %v: %v, %v", library, color, d, err)
			}
		}
	}
}
