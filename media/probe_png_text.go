package media

import (
	"bytes"
	"compress/zlib"
	"encoding/hex"
	"io"
)

// pngTexts are the chunks of a PNG in which an orientation may be. As Pillow reads
// them, the last of each kind counts.
type pngTexts struct {
	chunk      []byte // eXIf
	profile    []byte // "Raw profile type exif" of ImageMagick: a heading of three lines, then hexadecimal digits
	compressed bool   // the profile is
	xmp        []byte
}

func (t *pngTexts) take(kind string, body []byte) {
	switch kind {
	case "eXIf":
		t.chunk = body
	case "tEXt":
		if text, ok := bytes.CutPrefix(body, []byte("Raw profile type exif\x00")); ok {
			t.profile, t.compressed = text, false
		}
	case "zTXt":
		if text, ok := bytes.CutPrefix(body, []byte("Raw profile type exif\x00\x00")); ok {
			t.profile, t.compressed = text, true
		}
	case "iTXt":
		// Not compressed; what is before the text is a method, the language, and
		// the keyword in that language.
		if text, ok := bytes.CutPrefix(body, []byte("XML:com.adobe.xmp\x00\x00")); ok && len(text) > 0 {
			_, text, _ = bytes.Cut(text[1:], []byte{0})
			_, t.xmp, _ = bytes.Cut(text, []byte{0})
		}
	}
}

// exif is the EXIF structure, from wherever it is.
func (t *pngTexts) exif() []byte {
	if t.chunk != nil {
		return trimEXIF(t.chunk)
	}
	if t.profile == nil {
		return nil
	}
	text := t.profile
	if t.compressed {
		// More than this no camera writes, and no bomb may.
		const most = 1 << 20
		z, err := zlib.NewReader(bytes.NewReader(text))
		if err != nil {
			return nil
		}
		text, _ = io.ReadAll(io.LimitReader(z, most))
	}
	for range 3 {
		_, text, _ = bytes.Cut(text, []byte{'\n'})
	}
	digits := bytes.ReplaceAll(text, []byte{'\n'}, nil)
	n, _ := hex.Decode(digits, digits) // up to the first that is none
	return trimEXIF(digits[:n])
}

// trimEXIF takes away the prefix that belongs to JPEG, and that many write elsewhere too.
func trimEXIF(exif []byte) []byte {
	for bytes.HasPrefix(exif, exifPrefix) {
		exif = exif[len(exifPrefix):]
	}
	return exif
}
