package media

import (
	"bytes"
	"fmt"
)

// Probe reads the header of an image, without decoding anything; it tells formats by
// their content. For an image that is valid but cannot be decoded, the error is
// ErrUnsupported or ErrTooLarge and Info is filled in all the same. It allocates
// nothing, except where EXIF is compressed in a text chunk of a PNG.
//
// Orientation is the one that Pillow's exif_transpose follows: EXIF's, where that says
// none XMP's; of AVIF that of its own properties alone. TIFF, which Pillow turns by
// itself, is described as it is stored, too.
func Probe(data []byte) (Info, error) {
	for _, f := range known() {
		if f.Begins(data) {
			info, err := f.Probe(data)
			if err == nil {
				err = checkSize(f.Title, info.Width, info.Height)
			}
			return info, err
		}
	}
	return Info{}, unknown(data)
}

func isJPEG(data []byte) bool { return bytes.HasPrefix(data, []byte("\xFF\xD8\xFF")) }
func isPNG(data []byte) bool  { return bytes.HasPrefix(data, []byte(pngMagic)) }
func isWebP(data []byte) bool {
	return len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP"
}
func isGIF(data []byte) bool {
	return bytes.HasPrefix(data, []byte("GIF87a")) || bytes.HasPrefix(data, []byte("GIF89a"))
}
func isBMP(data []byte) bool {
	// Two letters are few: the size of the header, which follows, is one of a handful.
	return bytes.HasPrefix(data, []byte("BM")) && (len(data) < 18 || knownBMPHeader(data[14:18]))
}
func isTIFF(data []byte) bool {
	for _, magic := range [...]string{"II*\x00", "MM\x00*", "II+\x00", "MM\x00+"} {
		if bytes.HasPrefix(data, []byte(magic)) {
			return true
		}
	}
	return false
}

// checkSize refuses what has no pixels, and what has too many.
func checkSize(title string, width, height int) error {
	if width <= 0 || height <= 0 {
		return fmt.Errorf("%w: %s of %d×%d pixels", ErrCorrupt, title, width, height)
	}
	return checkPixels(width, height, 0)
}

// checkPixels refuses an image of more pixels than most; 0 means MaxPixels.
func checkPixels(width, height, most int) error {
	switch {
	case most > 0 && width > most/height:
		return fmt.Errorf("%w: %d×%d pixels; the limit is %d, raise it with max_pixels", ErrTooLarge, width, height, most)
	case width > MaxPixels/height:
		return fmt.Errorf("%w: %d×%d pixels; no image may have more than %d", ErrTooLarge, width, height, MaxPixels)
	}
	return nil
}

// cutHeader is the error of a header that ends too early.
func cutHeader(title string) error {
	return fmt.Errorf("%w: %s ends within its header", ErrTruncated, title)
}
