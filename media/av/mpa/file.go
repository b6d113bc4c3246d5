package mpa

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Frame is where a frame is.
type Frame struct {
	Offset int64
	Size   int32
}

// File is the frames of a file.
type File struct {
	First  Header // of the first frame
	Frames []Frame

	// Before and After are samples that the encoder has added, which are not part of the
	// recording: those of the decoder's own delay included.
	Before, After int64
}

// ErrFormat marks a file that is damaged, or is none of these.
var ErrFormat = errors.New("damaged MPEG audio")

// decoderDelay is how late the samples of MP3 come out of any decoder.
const decoderDelay = 529

// Probe reports whether a file begins as one of these does: with two frames, or with a
// tag of ID3.
func Probe(file []byte) bool {
	if bytes.HasPrefix(file, []byte("ID3")) {
		return true
	}
	h, ok := Parse(file)
	if !ok {
		return false
	}
	if h.Size >= len(file) {
		return true
	}
	next, ok := Parse(file[h.Size:])
	return ok && next.follows(h) || bytes.HasPrefix(file[h.Size:], []byte("TAG"))
}

// Open finds the frames of a file in memory.
func Open(file []byte) (*File, error) {
	at, err := begin(file)
	if err != nil {
		return nil, err
	}
	f := new(File)
	f.First, _ = Parse(file[at:])
	declared := -1
	if f.First.Codec == "mp3" {
		var frames int
		if frames, f.Before, f.After = info(file[at:min(at+f.First.Size, len(file))], f.First); frames >= 0 {
			declared = frames
			at += f.First.Size // it has no sound
			if at < len(file) {
				if h, ok := Parse(file[at:]); ok && h.follows(f.First) {
					f.First = h
				}
			}
		}
	}

	f.Frames = make([]Frame, 0, (len(file)-at)/f.First.Size+1)
	for at < len(file) {
		h, ok := Parse(file[at:])
		if !ok || !h.follows(f.First) {
			if tail(file[at:]) {
				break
			}
			if len(file)-at < Need && file[at] == 0xFF {
				return nil, fmt.Errorf("%w: it ends within frame %d", ErrFormat, len(f.Frames))
			}
			return nil, fmt.Errorf("%w: byte %d should begin frame %d, and does not", ErrFormat, at, len(f.Frames))
		}
		if h.Size > len(file)-at {
			return nil, fmt.Errorf("%w: it ends after %d of the %d bytes of frame %d", ErrFormat, len(file)-at, h.Size, len(f.Frames))
		}
		f.Frames = append(f.Frames, Frame{int64(at), int32(h.Size)})
		at += h.Size
	}

	switch n := len(f.Frames); {
	case n == 0:
		return nil, fmt.Errorf("%w: it has no frames", ErrFormat)
	case declared > n+1: // some count the frame of the tag as well
		return nil, fmt.Errorf("%w: it ends after %d of %d frames", ErrFormat, n, declared)
	case declared > 0 && declared < n:
		f.After = 0 // what follows was joined to it
	}
	return f, nil
}

// mostJunk is how far into a file its first frame is looked for.
const mostJunk = 1 << 16

// begin finds the first frame, after tags.
func begin(file []byte) (int, error) {
	at := 0
	for bytes.HasPrefix(file[at:], []byte("ID3")) && len(file)-at >= 10 {
		b := file[at:]
		size := int(b[6]&127)<<21 | int(b[7]&127)<<14 | int(b[8]&127)<<7 | int(b[9]&127)
		if b[5]&0x10 != 0 {
			size += 10 // a footer
		}
		if at += 10 + size; at >= len(file) {
			return 0, fmt.Errorf("%w: it ends within its tag of ID3", ErrFormat)
		}
	}
	for end := min(len(file), at+mostJunk); at < end; at++ {
		h, ok := Parse(file[at:])
		if !ok {
			continue
		}
		if at+h.Size >= len(file) {
			return at, nil
		}
		if next, ok := Parse(file[at+h.Size:]); ok && next.follows(h) || tail(file[at+h.Size:]) {
			return at, nil
		}
	}
	return 0, fmt.Errorf("%w: no frame is found", ErrFormat)
}

// tail reports whether nothing but tags and zeros can follow.
func tail(rest []byte) bool {
	for _, tag := range []string{"TAG", "APETAGEX", "LYRICSBEGIN", "ID3"} {
		if bytes.HasPrefix(rest, []byte(tag)) {
			return true
		}
	}
	return len(bytes.TrimLeft(rest, "\x00")) == 0
}

// info reads the tag of Xing, Info or VBRI in the first frame. Frames is how many follow,
// 0 if it does not say; -1: there is no tag.
func info(frame []byte, h Header) (frames int, before, after int64) {
	sides := [2][2]int{{17, 32}, {9, 17}} // bytes between header and tag, by version and channels
	later := 0
	if h.version != 3 {
		later = 1
	}
	if at := 4 + sides[later][h.Channels-1]; len(frame) >= at+8 {
		if name := string(frame[at : at+4]); name == "Xing" || name == "Info" {
			return xing(frame[at+4:])
		}
	}
	if len(frame) >= 36+18 && string(frame[36:40]) == "VBRI" {
		return int(binary.BigEndian.Uint32(frame[36+14:])), 0, 0
	}
	return -1, 0, 0
}

func xing(b []byte) (frames int, before, after int64) {
	flags := binary.BigEndian.Uint32(b)
	b = b[4:]
	size := 0
	for bit, bytes := range [4]int{4, 4, 100, 4} {
		if flags&(1<<bit) == 0 {
			continue
		}
		if len(b) < bytes {
			return -1, 0, 0
		}
		switch bit {
		case 0:
			frames = int(binary.BigEndian.Uint32(b))
		case 1:
			size = int(binary.BigEndian.Uint32(b))
		}
		b = b[bytes:]
	}
	if frames == 0 && size == 0 {
		return -1, 0, 0
	}
	if len(b) < 24 {
		return frames, 0, 0
	}
	switch string(b[:4]) {
	case "LAME", "Lavf", "Lavc":
		pads := int64(b[21])<<16 | int64(b[22])<<8 | int64(b[23])
		before = pads>>12 + decoderDelay
		if frames > 0 {
			after = max(0, pads&4095-decoderDelay)
		}
	}
	return frames, before, after
}
