package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"

	"github.com/headrace/headrace/media/av"
)

const textHead = 512 // bytes that are looked at

// noRecipe replaces the error about a file that is no text at all: it is data that
// somebody wants to look at.
func noRecipe(path string, err error) error {
	if err == nil || path == "-" || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, wrong := os.Open(path)
	if wrong != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, textHead)
	n, _ := io.ReadFull(f, head)
	if n == 0 || isText(head[:n]) {
		return err
	}
	head = head[:n]

	what, remedy := "a binary file", "headrace init FOLDER writes one for the files of a folder"
	switch kind, of := kindOf(head); of {
	case "video", "audio":
		what, remedy = kind, fmt.Sprintf("headrace init FOLDER writes one for the files of a folder, "+
			"which inspect draws\n  of one file, headrace.io.%s_info(%q) in Python tells what there is", of, path)
	case "image":
		what, remedy = kind, fmt.Sprintf("headrace init FOLDER writes one for the files of a folder, "+
			"which inspect draws\n  of one file, headrace.io.load_image(%q) in Python decodes it", path)
	case "":
	default:
		what, remedy = kind, fmt.Sprintf("headrace inspect --format %s %s lists what there is in it", of, path)
	}
	return notRecipe{err, fmt.Sprintf("%s: is %s, and no recipe (YAML or JSON)\n  %s", path, what, remedy)}
}

// notRecipe is an error of reading a recipe, in better words.
type notRecipe struct {
	error

	text string
}

func (e notRecipe) Error() string { return e.text }

func (e notRecipe) Unwrap() error { return e.error }

// kindOf is what a file is by its first bytes, and what that is: "video", "audio",
// "image", a format of shards, or "" where nobody knows.
func kindOf(head []byte) (kind, of string) {
	at := func(i int, magic string) bool {
		return len(head) >= i+len(magic) && string(head[i:i+len(magic)]) == magic
	}
	switch {
	case at(4, "ftypavif"), at(4, "ftypavis"), at(4, "ftypheic"), at(4, "ftypmif1"):
		return "an AVIF or HEIF image", "image"
	case at(4, "ftyp"), at(4, "moov"), at(4, "mdat"), at(4, "wide"):
		return "an MP4 or QuickTime file", "video"
	case at(0, "RIFF") && at(8, "AVI "):
		return "an AVI video", "video"
	case at(0, "RIFF") && at(8, "WEBP"):
		return "a WebP image", "image"
	case at(0, "RIFF") && at(8, "WAVE"), at(0, "RF64") && at(8, "WAVE"):
		return "a WAV file", "audio"
	case av.TransportRun(head, 0, 188, 3) == 3:
		return "an MPEG transport stream", "video"
	case len(head) >= 2 && binary.BigEndian.Uint16(head)&0xFFE6 == 0xFFE2:
		return "an MP3 file", "audio"
	}

	for _, m := range []struct{ magic, kind, of string }{
		{"\x1A\x45\xDF\xA3", "a Matroska or WebM video", "video"},
		{"\x00\x00\x01\xBA", "an MPEG video", "video"},
		{"\x00\x00\x01\xB3", "an MPEG video", "video"},
		{"FLV\x01", "an FLV video", "video"},
		{"\x30\x26\xB2\x75\x8E\x66\xCF\x11", "a Windows Media file", "video"},
		{"OggS", "an Ogg file", "audio"},
		{"fLaC", "a FLAC file", "audio"},
		{"ID3", "an MP3 file", "audio"},
		{"FORM", "an AIFF file", "audio"},
		{"caff", "a CAF file", "audio"},
		{"\xFF\xD8\xFF", "a JPEG image", "image"},
		{"\x89PNG\r\n\x1A\n", "a PNG image", "image"},
		{"GIF8", "a GIF image", "image"},
		{"BM", "a BMP image", "image"},
		{"II*\x00", "a TIFF image", "image"},
		{"MM\x00*", "a TIFF image", "image"},
		{"PAR1", "a Parquet file", "parquet"},
		{"ARROW1", "an Arrow file", "arrow"},
		{"\x93NUMPY", "a NumPy array", "npy"},
		{"PK\x03\x04", "a zip file", "zip"},
	} {
		if at(0, m.magic) {
			return m.kind, m.of
		}
	}
	if at(257, "ustar") {
		return "a tar file", "tar"
	}
	return "", ""
}

// isText reports whether the head of a file is text in UTF-8.
func isText(head []byte) bool {
	switch {
	case bytes.IndexByte(head, 0) >= 0: // valid in UTF-8, and in no text
		return false
	case utf8.Valid(head):
		return true
	case len(head) == textHead: // the last character may be cut
		return utf8.Valid(head[:len(head)-utf8.UTFMax])
	}
	return false
}
