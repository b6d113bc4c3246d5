package oracle

import "testing"

// Image is pixels in one of Pillow's modes: "1", "L", "LA", "P", "RGB", "RGBA", "I;16"
// (little-endian), …
type Image struct {
	Mode          string
	Width, Height int
	Pix           []byte
}

// Bytes is an option of WriteImage that Pillow takes as bytes.
type Bytes []byte

// ReadImage decodes a picture of any format that Pillow knows, the first of its frames,
// and converts it to a mode; "" leaves it as it is. upright turns it as exif_transpose
// does.
func ReadImage(t testing.TB, data []byte, mode string, upright bool) Image {
	t.Helper()
	r := ask(t, "read_image", map[string]any{"mode": mode, "upright": upright}, data)
	return r.image(t)
}

// WriteImage encodes a picture in one of Pillow's formats, with the options that its
// save takes, and "palette", and "tags" of a TIFF. Where Pix holds several pictures of
// the same size, all are saved as frames.
func WriteImage(t testing.TB, img Image, format string, options map[string]any) []byte {
	t.Helper()
	plain := map[string]any{}
	for name, value := range options {
		if b, ok := value.(Bytes); ok {
			value = map[string][]byte{"base64": b}
		}
		plain[name] = value
	}
	args := map[string]any{"mode": img.Mode, "width": img.Width, "height": img.Height, "format": format, "options": plain}
	return ask(t, "write_image", args, img.Pix).Blobs[0]
}
