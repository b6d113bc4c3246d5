package media_test

import (
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/hostile"
	"github.com/headrace/headrace/media/internal/testjpeg"
)

func TestHostileJPEG(t *testing.T) { hostile.Run(t, media.GoJPEG{}, media.JPEG) }

func TestHostileHeaders(t *testing.T) { hostile.Probe(t) }

func FuzzHeaders(f *testing.F) { hostile.FuzzProbe(f) }

func FuzzGoJPEG(f *testing.F) { hostile.Fuzz(f, media.GoJPEG{}, media.JPEG) }

// FuzzOrientation feeds anything to the readers of EXIF and XMP.
func FuzzOrientation(f *testing.F) {
	f.Add([]byte("MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00"), []byte("<a tiff:Orientation=\"3\"/>"))
	f.Add([]byte("II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x08\x00\x00\x00"), []byte("<tiff:Orientation>7</tiff:Orientation>"))
	f.Fuzz(func(t *testing.T, exif, xmp []byte) {
		if len(exif) > 60_000 || len(xmp) > 60_000 {
			return
		}
		data := testjpeg.Encode(8, 8, testjpeg.Layout{Segments: [][]byte{
			append([]byte("\xE1Exif\x00\x00"), exif...), append([]byte("\xE1http://ns.adobe.com/xap/1.0/\x00"), xmp...),
		}}, func(_, _, _ int) float64 { return 0 })
		info, err := media.Probe(data)
		if err != nil || info.Orientation < 1 || info.Orientation > 8 {
			t.Fatalf("orientation %d, %v", info.Orientation, err)
		}
	})
}
