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

	Short bool // frames are missing, of a file opened by [OpenKept]
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

// mostJunk is how far into a file its first frame is looked for.
const mostJunk = 1 << 16

// archives begin files that have others in them, which are not to be taken for one.
var archives = []string{"PK\x03\x04", "\x1F\x8B", "BZh", "\xFD7zXZ", "\x28\xB5\x2F\xFD", "7z\xBC\xAF", "Rar!"}

// Within reports whether frames come after other bytes, as in a recording that was cut
// out of a stream.
func Within(file []byte) bool {
	for _, mark := range archives {
		if bytes.HasPrefix(file, []byte(mark)) {
			return false
		}
	}
	if len(file) > 262 && string(file[257:262]) == "ustar" {
		return false
	}
	const enough = 4 // frames, which nothing else has by chance
	file = file[:min(len(file), mostJunk)]
	at, n := next(file, nil)
	return n >= enough || n > 1 && at < len(file)/2
}

// Open finds the frames of a file in memory. What comes before the first and after the
// last is left out.
func Open(file []byte) (*File, error) { return open(file, false) }

// OpenKept is Open that finds the frames that are there of a file that is cut off, and
// those before and after damage.
func OpenKept(file []byte) (*File, error) { return open(file, true) }

func open(file []byte, keep bool) (*File, error) {
	at, err := begin(file)
	if err != nil {
		return nil, err
	}
	end := tailed(file[at:]) + at
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

	f.Frames = make([]Frame, 0, max(end-at, 0)/f.First.Size+1)
	for at < end {
		h, ok := Parse(file[at:end])
		if !ok || !h.follows(f.First) {
			next, err := f.gap(file[:end], at, declared)
			if err != nil && keep {
				f.Short = true
				next, err = f.resume(file[:end], at), nil
			}
			if err != nil {
				return nil, err
			}
			at = next
			continue
		}
		if h.Size > end-at {
			if declared > 0 && len(f.Frames) >= declared {
				break
			}
			if f.Short = keep; keep {
				break
			}
			return nil, fmt.Errorf("%w: it ends after %d of the %d bytes of frame %d", ErrFormat, end-at, h.Size, len(f.Frames))
		}
		f.Frames = append(f.Frames, Frame{int64(at), int32(h.Size)})
		at += h.Size
	}

	switch n := len(f.Frames); {
	case n == 0:
		return nil, fmt.Errorf("%w: it has no frames", ErrFormat)
	case declared > n+1 && keep:
		f.Short, f.After = true, 0
	case declared > n+1: // some count the frame of the tag as well
		return nil, fmt.Errorf("%w: it ends after %d of %d frames", ErrFormat, n, declared)
	case declared > 0 && declared < n:
		f.After = 0 // what follows was joined to it
	}
	return f, nil
}

// resume returns where frames like those before go on after damage, or the end.
func (f *File) resume(file []byte, at int) int {
	for at++; at < len(file); at++ {
		i := bytes.IndexByte(file[at:], 0xFF)
		if i < 0 {
			break
		}
		at += i
		h, ok := Parse(file[at:])
		if !ok || !h.follows(f.First) {
			continue
		}
		if at+h.Size == len(file) {
			return at
		}
		if next, ok := Parse(file[min(at+h.Size, len(file)):]); ok && next.follows(f.First) {
			return at
		}
	}
	return len(file)
}

// Lead is what comes before the sound of a file.
type Lead struct {
	Junk   int   // bytes before the first frame, besides tags of ID3
	Frames int   // that follow, as the tag in the first frame says; 0: it does not; -1: there is none
	After  int64 // samples at the end that are not part of the recording
}

// LeadOf returns the lead of a file, by its first bytes after tags of ID3. It reports
// whether there are frames.
func LeadOf(file []byte) (Lead, bool) {
	at, err := begin(file)
	if err != nil {
		return Lead{}, false
	}
	h, _ := Parse(file[at:])
	l := Lead{Junk: at, Frames: -1}
	if h.Codec == "mp3" {
		l.Frames, _, l.After = info(file[at:min(at+h.Size, len(file))], h)
	}
	return l, true
}

// gap returns where frames go on after bytes that are none: after a tag, in a file that
// was joined from parts. It returns the end of the file if nothing follows that is a
// recording. Declared is how many frames there should be.
func (f *File) gap(file []byte, at, declared int) (int, error) {
	n := len(f.Frames)
	ended := declared > 0 && n >= declared
	from := at + tag(file[at:])
	tagged := from > at && file[at] != 0
	if from == len(file) {
		return from, nil
	}
	after, frames := next(file[from:], &f.First)
	if frames > 0 {
		h, _ := Parse(file[from+after:])
		switch {
		case !h.follows(f.First):
			return 0, fmt.Errorf("%w: at frame %d, byte %d, %s at %d samples a second becomes %s at %d: "+
				"the file was joined from parts: convert them to one rate", ErrFormat, n, from+after,
				f.First.Codec, f.First.Rate, h.Codec, h.Rate)
		case ended || tagged && after == 0:
			return from + after, nil
		}
	}
	switch {
	case frames == 0 && ended: // nothing of a recording
		return len(file), nil
	case frames == 0 && declared <= 0 && len(file)-at <= mostJunk && !cut(file[at:]): // nor here
		return len(file), nil
	case len(file)-at < Need && file[at] == 0xFF:
		return 0, fmt.Errorf("%w: it ends within frame %d", ErrFormat, n)
	}
	return 0, fmt.Errorf("%w: byte %d should begin frame %d, and does not", ErrFormat, at, n)
}

// cut reports whether a file ends within the header of a frame.
func cut(rest []byte) bool {
	return len(rest) < Need && rest[0] == 0xFF && (len(rest) < 2 || rest[1]&0xE0 == 0xE0)
}

// begin finds the first frame, after tags.
func begin(file []byte) (int, error) {
	at := 0
	for bytes.HasPrefix(file[at:], []byte("ID3")) && len(file)-at >= 10 {
		if at += ID3Size(file[at:]); at >= len(file) {
			return 0, fmt.Errorf("%w: it ends within its tag of ID3", ErrFormat)
		}
	}
	after, n := next(file[at:min(len(file), at+2*mostJunk)], nil)
	if n == 0 || after >= mostJunk {
		return 0, fmt.Errorf("%w: no frame is found", ErrFormat)
	}
	return at + after, nil
}

// enough is how many frames that follow each other are looked at.
const enough = 4

// next returns where frames begin, and how many of them follow each other there, up to
// enough; 0: there are none. The last may be cut off, or be followed by a tag. Of frames
// that are not like those before, at least three have to follow each other.
func next(file []byte, like *Header) (at, n int) {
	for ; at < len(file); at++ {
		i := bytes.IndexByte(file[at:], 0xFF)
		if i < 0 {
			break
		}
		at += i
		first, ok := Parse(file[at:])
		if !ok {
			continue
		}

		n, end := 0, at
		for n < enough {
			h, ok := Parse(file[end:])
			if !ok || !h.follows(first) {
				break
			}
			n++
			if end += h.Size; end >= len(file) {
				break
			}
		}

		closed := end >= len(file) || tag(file[end:]) > 0
		same := like == nil || first.follows(*like)
		switch {
		case n > 2,
			n > 1 && (closed || same),
			closed && (at == 0 || same):
			return at, n
		}
	}
	return at, 0
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
