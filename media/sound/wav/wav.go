// Package wav reads recordings whose samples are not compressed.
//
// They are WAV files with PCM of 8 to 32 bits, floating point, A-law and µ-law; RF64 and
// BW64 (EBU Tech 3306) and Sony's W64 for files of more than 4 GiB; RIFX; NIST SPHERE;
// AIFF and AIFF-C, AU and CAF. Files with other codings are left to other formats.
package wav

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/headrace/headrace/media/sound"
)

// Format is WAV, for [sound.Register].
var Format = sound.Format{
	Name: "wav", Suffixes: []string{".wav", ".w64", ".rf64", ".bwf"},
	Is: Is,
	Open: func(file []byte, o sound.Options) (sound.Stream, error) {
		return openTrack(open, sound.InMemory(file), o)
	},
	OpenAt: func(file sound.File, o sound.Options) (sound.Stream, error) {
		return openTrack(open, sound.OnDisk(file, together), o)
	},
	Parts: inParts,
}

func openTrack(open func(*sound.Content, bool) (*File, error), c *sound.Content, o sound.Options) (sound.Stream, error) {
	if o.Track > 0 {
		return nil, fmt.Errorf("wav: there is no audio track %d: the file has one, number 0", o.Track)
	}
	f, err := open(c, o.Keep)
	if err != nil {
		return nil, err // no File that is nil
	}
	return f, nil
}

// Is tells whether a file begins as a WAV file does.
func Is(file []byte) bool {
	if len(file) >= 40 && bytes.Equal(file[:16], w64Riff) {
		return bytes.Equal(file[24:40], w64Wave)
	}
	if len(file) < 12 || string(file[8:12]) != "WAVE" {
		return false
	}
	switch string(file[:4]) {
	case "RIFF", "RIFX", "RF64", "BW64":
		return true
	}
	return false
}

// inParts reports whether the samples of a file have a coding that is known here. Most
// files say it in their first bytes.
func inParts(head []byte, file sound.File) (bool, error) {
	usual := len(head) >= 36 && string(head[:4]) == "RIFF" && string(head[12:16]) == "fmt "
	if usual && head[20] == codePCM && head[21] == 0 && head[34] <= 32 {
		return true, nil
	}
	_, err := open(sound.OnDisk(file, together), true)
	return !errors.Is(err, sound.ErrCoded), nil // other errors come when it is opened
}

// File is a recording in a file.
type File struct {
	info    sound.Info
	coding  coding
	width   int // bytes of a sample of one channel
	content *sound.Content
	parts   []part // where the samples are
	keep    bool   // of a file that is cut off, what is there is read
	short   bool   // it is cut off
}

// part is samples that follow each other in a file.
type part struct {
	at      int64 // of the first byte
	samples int64 // of each channel
}

// Info implements sound.Stream.
func (f *File) Info() sound.Info { return f.info }

// Damaged implements sound.Patched.
func (f *File) Damaged() bool { return f.short }

// Close does nothing: a file, and memory, are somebody else's.
func (f *File) Close() {}

// mostChannels is more than any recording has, mostChunks than any file.
const (
	mostChannels = 256
	mostChunks   = 4096
)

var errWAV = errors.New("wav: the file is damaged")

func open(file *sound.Content, keep bool) (*File, error) {
	head, err := file.Bytes(0, len(w64Riff))
	if err != nil {
		return nil, err
	}
	r := &reader{chunks: chunksOf(file, head), file: &File{content: file, keep: keep}, long: -1}
	for n := 0; ; n++ {
		c, ok, err := r.next()
		if err == nil && n == mostChunks {
			err = fmt.Errorf("%w: it has more than %d chunks", errWAV, mostChunks)
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if err := r.take(c); err != nil {
			return nil, err
		}
	}

	if !r.found {
		lacks := "data"
		if r.form == nil {
			lacks = "fmt"
		}
		return nil, fmt.Errorf("%w: it has no chunk %s", errWAV, lacks)
	}
	return r.file, nil
}

// reader is on its way through the chunks of a file.
type reader struct {
	chunks
	file  *File
	form  []byte // the chunk fmt; nil: it has not come
	long  int64  // bytes of samples, as ds64 says; -1: it does not
	count int64  // samples, as ds64 says
	found bool   // samples
	other bool   // a chunk fmt has come after samples that says something else
}

func (r *reader) take(c chunk) error {
	switch c.name {
	case "ds64":
		b, err := r.Bytes(c.at, 24)
		if err != nil {
			return err
		}
		if c.has() < 24 || len(b) < 24 {
			return fmt.Errorf("%w: its chunk ds64 has %d bytes", errWAV, c.has())
		}
		r.long = int64(min(binary.LittleEndian.Uint64(b[8:]), math.MaxInt64))
		r.count = int64(min(binary.LittleEndian.Uint64(b[16:]), math.MaxInt32))

	case "fmt ":
		b, err := r.Bytes(c.at, int(min(c.has(), 40)))
		if err != nil {
			return err
		}
		if r.found {
			r.other = r.other || !bytes.Equal(b, r.form)
			return nil
		}
		if len(b) < leastForm {
			return fmt.Errorf("%w: its chunk fmt has %d bytes", errWAV, len(b))
		}
		r.form = bytes.Clone(b)

	case "data":
		if r.form == nil {
			return fmt.Errorf("%w: its samples come before the chunk fmt, which says what they are", errWAV)
		}
		if r.other {
			return fmt.Errorf("%w: it has samples of two forms", errWAV)
		}
		return r.samples(c)
	}
	return nil
}

// samples takes those of a chunk. A file should have one such chunk; those of several
// follow each other.
func (r *reader) samples(c chunk) error {
	f := r.file
	size := c.size
	switch {
	case r.long >= 0 && size >= placeholder && r.long > 0 && r.long < math.MaxInt64:
		size = r.long
	case size == 0 && r.lead(): // there are none
	case size == 0 || size > c.left && placeholds(size):
		size = c.left // a pipe wrote it: all until the end
	}
	if r.at = min(c.at+size+size%2, r.Size()); r.wide {
		r.at = min(c.at+(size+7)/8*8, r.Size())
	}

	if !r.found {
		if err := f.describe(r.form, r.order, c.at, min(size, c.left)); err != nil {
			return err
		}
	}
	r.found = true
	frame := int64(f.width * f.info.Channels)
	if size > c.left {
		if err := f.ends("wav", f.info.Samples+c.left/frame, f.info.Samples+size/frame); err != nil {
			return err
		}
		size = c.left
	}
	if size == r.long && frame == 1 && r.count == size-1 { // FFmpeg counts the byte that pads the chunk
		size--
	}
	if n := size / frame; n > 0 {
		f.parts = append(f.parts, part{c.at, n})
		f.info.Samples += n
	}
	return nil
}

// ends is the error of a file that ends too early, unless what is there is to be read.
func (f *File) ends(format string, has, of int64) error {
	if f.keep {
		f.short = true
		return nil
	}
	return fmt.Errorf("%s: the file is damaged: it ends after %d of %d samples: %s", format, has, of, sound.Remedy)
}

// placeholder is the least size that programs write that do not know it yet, and then
// cannot go back. They are near the largest that 31 bits have, or 32.
const placeholder = 0x7FFF0000

func placeholds(size int64) bool {
	signed := size >= placeholder && size < 0x80010000
	unsigned := size >= 0xFFFF0000 && size <= math.MaxUint32
	return signed || unsigned || size >= math.MaxInt64-64
}
