// Package wav reads recordings in WAV files: PCM of 8 to 32 bits, floating point, A-law
// and µ-law; with RF64 and BW64 (EBU Tech 3306) and Sony's W64 for files of more than
// 4 GiB.
package wav

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"headrace/media/sound"
)

// Format is WAV, for [sound.Register].
var Format = sound.Format{
	Name: "wav", Suffixes: []string{".wav", ".w64", ".rf64", ".bwf"},
	Is: Is,
	Open: func(file []byte, track int) (sound.Stream, error) {
		return openTrack(sound.InMemory(file), track)
	},
	OpenAt: func(file sound.File, track int) (sound.Stream, error) {
		return openTrack(sound.OnDisk(file, together), track)
	},
}

func openTrack(c *sound.Content, track int) (sound.Stream, error) {
	if track > 0 {
		return nil, fmt.Errorf("wav: there is no audio track %d: the file has one, number 0", track)
	}
	f, err := open(c)
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
	case "RIFF", "RF64", "BW64":
		return true
	}
	return false
}

// File is a recording in a WAV file.
type File struct {
	info    sound.Info
	coding  coding
	width   int // bytes of a sample of one channel
	content *sound.Content
	at      int64 // where the samples begin
}

// Info implements sound.Stream.
func (f *File) Info() sound.Info { return f.info }

// Close does nothing: a file, and memory, are somebody else's.
func (f *File) Close() {}

// mostChannels is more than any recording has.
const mostChannels = 256

var errWAV = errors.New("wav: the file is damaged")

// Open finds the recording in the memory of a file.
func Open(file []byte) (*File, error) { return open(sound.InMemory(file)) }

func open(file *sound.Content) (*File, error) {
	head, err := file.Bytes(0, len(w64Riff))
	if err != nil {
		return nil, err
	}
	chunks := riff(file)
	if bytes.Equal(head, w64Riff) {
		chunks = w64(file)
	}

	f := &File{content: file}
	described := false
	long := int64(-1) // bytes of samples, as ds64 says
	for {
		c, ok, err := chunks.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		switch c.name {
		case "ds64":
			b, err := file.Bytes(c.at, 24)
			if err != nil {
				return nil, err
			}
			if c.has() < 24 || len(b) < 24 {
				return nil, fmt.Errorf("%w: its chunk ds64 has %d bytes", errWAV, c.has())
			}
			long = int64(min(binary.LittleEndian.Uint64(b[8:]), math.MaxInt64))
		case "fmt ":
			b, err := file.Bytes(c.at, int(min(c.has(), 40)))
			if err != nil {
				return nil, err
			}
			if err := f.describe(b); err != nil {
				return nil, err
			}
			described = true
		case "data":
			if !described {
				return nil, fmt.Errorf("%w: its samples come before the chunk fmt, which says what they are", errWAV)
			}
			return f, f.take(c, long)
		}
	}
	if !described {
		return nil, fmt.Errorf("%w: it has no chunk fmt", errWAV)
	}
	return nil, fmt.Errorf("%w: it has no chunk data", errWAV)
}

// unsaid are sizes that programs write that do not know the size yet, and cannot go back.
const unsaid = 0xFFFFFFFF

// take finds the samples in the chunk data.
func (f *File) take(c chunk, long int64) error {
	size := c.size
	if size == unsaid && long >= 0 {
		size = long
	}
	if size == 0 || size == unsaid {
		size = c.left // a pipe wrote it: all until the end
	}

	frame := int64(f.width * f.info.Channels)
	if size > c.left {
		return fmt.Errorf("%w: it ends after %d of %d samples", errWAV, c.left/frame, size/frame)
	}
	f.info.Samples, f.at = size/frame, c.at
	return nil
}

// The codes of samples.
const (
	codePCM        = 1
	codeFloat      = 3
	codeALaw       = 6
	codeMuLaw      = 7
	codeExtensible = 0xFFFE
)

// rest is what follows the code in the identity of a format that is extensible.
var rest = []byte("\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71")

// describe reads the chunk fmt.
func (f *File) describe(b []byte) error {
	if len(b) < 16 {
		return fmt.Errorf("%w: its chunk fmt has %d bytes", errWAV, len(b))
	}
	number := func(at int) int { return int(binary.LittleEndian.Uint16(b[at:])) }
	code, channels, rate, frame, bits := number(0), number(2), binary.LittleEndian.Uint32(b[4:]), number(12), number(14)

	if code == codeExtensible {
		if len(b) < 40 {
			return fmt.Errorf("%w: its chunk fmt has %d bytes, and is extensible, which needs 40", errWAV, len(b))
		}
		if !bytes.Equal(b[26:40], rest) {
			return fmt.Errorf("wav: the samples have the unknown coding %x", b[24:40])
		}
		f.info.Mask, code = binary.LittleEndian.Uint32(b[20:]), number(24)
	}

	switch {
	case channels < 1 || channels > mostChannels:
		return fmt.Errorf("%w: it has %d channels", errWAV, channels)
	case rate < 1 || rate > math.MaxInt32:
		return fmt.Errorf("%w: it has %d samples a second", errWAV, rate)
	case frame%channels != 0 || frame == 0:
		return fmt.Errorf("%w: %d channels take %d bytes", errWAV, channels, frame)
	}

	f.info.Rate, f.info.Channels, f.width = int(rate), channels, frame/channels
	if f.coding = codings[code][f.width]; f.coding == nil || bits > 8*f.width {
		return fmt.Errorf("wav: the samples are of format 0x%04x with %d bits in %d bytes: must be PCM of 8 to 32 bits, float of 32 and 64, A-law and µ-law", code, bits, f.width)
	}
	return nil
}
