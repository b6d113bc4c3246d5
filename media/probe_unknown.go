package media

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// unknown says what data are that no format knows.
func unknown(data []byte) error {
	switch {
	case len(data) == 0:
		return fmt.Errorf("%w: no data", ErrTruncated)
	case startOfMagic(data):
		return fmt.Errorf("%w: %d bytes, which may be the start of an image", ErrTruncated, len(data))
	}
	if what := foreign(data); what != "" {
		return fmt.Errorf("%w: %s is not decoded; %s", ErrFormat, what, knownFormats())
	}
	return fmt.Errorf("%w: it begins with % x (%.16q); %s known", ErrFormat, data[:min(len(data), 8)],
		data[:min(len(data), 16)], knownFormats())
}

// startOfMagic reports whether the data end within what could be the first bytes of a
// known format.
func startOfMagic(data []byte) bool {
	for _, magic := range [...]string{"\xFF\xD8\xFF", pngMagic, "GIF87a", "GIF89a", "II*\x00", "MM\x00*", "II+\x00", "MM\x00+", "BM"} {
		if len(data) < len(magic) && magic[:len(data)] == string(data) {
			return true
		}
	}
	n := min(len(data), 4)
	if len(data) < 12 && "RIFF"[:n] == string(data[:n]) {
		return true
	}
	if len(data) <= 4 {
		return data[0] == 0 // the length of a box, of AVIF
	}
	if len(data) < 12 {
		return "ftyp"[:min(len(data)-4, 4)] == string(data[4:min(len(data), 8)])
	}
	return string(data[4:8]) == "ftyp" && uint64(binary.BigEndian.Uint32(data)) > uint64(len(data))
}

// foreign names what is often found where images are expected, by its first bytes.
func foreign(data []byte) string {
	for _, f := range [...]struct {
		at          int
		magic, name string
	}{
		{0, "\xFF\x0A", "JPEG XL"},
		{0, "\x00\x00\x00\x0CJXL \r\n\x87\n", "JPEG XL"},
		{0, "\x00\x00\x00\x0CjP  \r\n\x87\n", "JPEG 2000"},
		{0, "\xFF\x4F\xFF\x51", "JPEG 2000"},
		{0, "%PDF", "PDF"},
		{0, "%!PS", "PostScript"},
		{0, "8BPS", "a Photoshop file"},
		{0, "\x76\x2F\x31\x01", "OpenEXR"},
		{0, "qoif", "QOI"},
		{0, "\x00\x00\x01\x00", "an icon (ICO)"},
		{0, "\x1A\x45\xDF\xA3", "video (Matroska or WebM)"},
		{8, "AVI ", "video (AVI)"},
		{0, "FLV\x01", "video (Flash)"},
		{0, "OggS", "Ogg, sound or video"},
		{0, "\x00\x00\x01\xBA", "video (MPEG)"},
		{0, "\x1F\x8B", "gzip"},
		{0, "PK\x03\x04", "a ZIP archive"},
	} {
		if len(data) >= f.at && bytes.HasPrefix(data[f.at:], []byte(f.magic)) {
			return f.name
		}
	}

	if len(data) >= 12 && string(data[4:8]) == "ftyp" {
		return foreignBrand(string(data[8:12]))
	}
	if isNetpbm(data) {
		return "a Netpbm image"
	}

	return markup(data)
}

// isNetpbm reports whether data begin with P1 to P7 and a white space.
func isNetpbm(data []byte) bool {
	if len(data) < 3 || data[0] != 'P' || data[1] < '1' || data[1] > '7' {
		return false
	}
	return data[2] == '\n' || data[2] == ' ' || data[2] == '\r'
}

// foreignBrand names a file of boxes by its major brand.
func foreignBrand(brand string) string {
	switch brand {
	case "heic", "heix", "hevc", "hevx", "heim", "heis", "hevm", "hevs", "mif1", "msf1", "mif2":
		return "HEIC (HEIF with another codec than AV1)"
	case "crx ":
		return "a Canon raw file (CR3)"
	case "jxl ":
		return "JPEG XL"
	}
	return fmt.Sprintf("video (MP4 or its kin, brand %.4q)", brand)
}

// markup tells texts that begin with a tag apart.
func markup(data []byte) string {
	text := bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF")), " \t\r\n")
	if len(text) == 0 || text[0] != '<' {
		return ""
	}
	start := bytes.ToLower(text[:min(len(text), 1024)])
	switch {
	case bytes.Contains(start, []byte("<svg")):
		return "SVG"
	case bytes.Contains(start, []byte("<html")), bytes.HasPrefix(start, []byte("<!doctype html")):
		return "HTML, a web page,"
	case bytes.HasPrefix(start, []byte("<?xml")):
		return "XML"
	}
	return ""
}
