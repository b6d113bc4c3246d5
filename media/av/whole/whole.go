// Package whole tells whether a container's file is all there.
//
// Demuxers take what they find and call the rest the end of the file. Here the structure
// is followed instead: sizes that the file states, pages, tags and packets of fixed size.
// A file is cut off if it ends inside one of these, or before a size that it states. A
// live file, whose writer could not go back to fill in sizes, is whole if it ends between
// two of them.
//
// Little is read: heads of elements, from one to the next, or only the file's end.
package whole

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av/heads"
)

// formats are the checks, by FFmpeg's names of demuxers.
var formats = map[string]func(*file) (End, error){
	"matroska": matroska, "webm": matroska,
	"ogg":  ogg,
	"aiff": aiff, "caf": caf, "au": au, "wav": wave, "w64": w64,
	"avi": avi, "flv": flv, "asf": asf,
	"mpegts": transport, "mpeg": program,
	"mov": boxes, "mp4": boxes,
	"amr": amr, "ivf": ivf, "wv": wavpack, "aac": adts, "mp3": mp3, "ac3": ac3, "eac3": ac3, "flac": flacFrames,
	"dv": dv, "mxf": mxf, "obu": obu, "gif": gif, "yuv4mpegpipe": y4m,
}

// Check follows the structure of a file of a format, by FFmpeg's name of it, as in
// "matroska,webm". The error of one that is cut off is [media.ErrTruncated].
func Check(format string, from io.ReaderAt, size int64) (End, error) {
	name, _, _ := strings.Cut(format, ",")
	check := formats[name]
	if check == nil {
		return Unknown, nil
	}
	f := &file{heads.File{From: from, Len: size}}
	end, err := check(f)
	if f.Err != nil {
		return Unknown, f.Err
	}
	return end, err
}

// beginnings tell the formats of files whose ends FFmpeg may take for damage.
var beginnings = []struct{ head, format string }{
	{"\x1A\x45\xDF\xA3", "matroska"}, {"OggS", "ogg"}, {"FORM", "aiff"}, {"caff", "caf"}, {".snd", "au"}, {"riff\x2E\x91\xCF\x11", "w64"},
	{"FLV\x01", "flv"}, {asfHeader, "asf"}, {"#!AMR", "amr"}, {"DKIF", "ivf"}, {"wvpk", "wv"}, {"\x00\x00\x01\xBA", "mpeg"},
}

// Blame returns why a file could not be read: that it is cut off, if it is, by what it
// begins with, and else the error that there was.
func Blame(from io.ReaderAt, size int64, err error) error {
	if n, _ := from.ReadAt(make([]byte, 1), size-1); n == 0 { // it was made shorter meanwhile
		return err
	}
	if _, cut := Check(guess(from), from, size); errors.Is(cut, media.ErrTruncated) {
		return cut
	}
	return err
}

// IsLive reports whether a file in memory is a recording that states no end.
func IsLive(file []byte) bool {
	end, err := Check(guess(bytes.NewReader(file)), bytes.NewReader(file), int64(len(file)))
	return err == nil && end == Open
}

// guess is the format of a file by what it begins with.
func guess(from io.ReaderAt) (format string) {
	head := make([]byte, 16)
	n, _ := from.ReadAt(head, 0)
	for _, b := range beginnings {
		if strings.HasPrefix(string(head[:n]), b.head) {
			format = b.format
		}
	}
	if n >= 12 && string(head[:4]) == "RIFF" {
		format = map[string]string{"AVI ": "avi", "WAVE": "wav"}[string(head[8:12])]
	}
	return format
}
