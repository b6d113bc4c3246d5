package recode

import (
	"fmt"
	"io"
	"math/big"
	"os"
	"strconv"
	"strings"

	"headrace/media"
	"headrace/media/av"
	"headrace/media/sound"
	"headrace/media/sound/coded"
)

// openParts opens a recording whose samples are found without FFmpeg, as package sound
// does for windows: so both have the same. It returns nil of other files.
func openParts(file *os.File, o *SamplesOptions) (*Samples, error) {
	track, ok := o.track()
	if err := o.Check(); err != nil || !ok {
		return nil, err
	}
	about, err := file.Stat()
	if err != nil {
		return nil, err
	}
	from := io.NewSectionReader(file, 0, about.Size())
	if parts, err := sound.InParts(from); err != nil || !parts {
		return nil, err
	}

	stream, err := sound.OpenAt(from, sound.Options{Track: track, Keep: o.Keep})
	if err != nil {
		return nil, err
	}
	return within(stream, new(big.Rat), o)
}

// track is the one that is asked for, if it is one of sound.
func (o *SamplesOptions) track() (track int, ok bool) {
	if len(o.Streams) != 1 || o.Streams[0] == "audio" {
		return -1, len(o.Streams) == 1
	}
	n, err := strconv.Atoi(strings.TrimPrefix(o.Streams[0], "a:"))
	return n, err == nil && strings.HasPrefix(o.Streams[0], "a:")
}

// within is the window of a recording that begins at a second of its file.
func within(stream sound.Stream, begins Second, o *SamplesOptions) (*Samples, error) {
	w, err := sound.NewWindow(stream, o.Rate, o.Channels)
	if err != nil {
		stream.Close()
		return nil, err
	}
	s := &Samples{window: w, end: w.Samples()}
	s.begins, _ = begins.Float64()
	unit := av.Rational{Num: 1, Den: int32(w.Rate())}
	at := func(t Second) int64 { return max(ticks(new(big.Rat).Sub(t, begins), unit), 0) }
	if o.Start != nil {
		s.first = min(at(o.Start), s.end)
	}
	if o.End != nil {
		s.end = min(max(at(o.End), s.first), s.end)
	}
	return s, nil
}

// mostKept is how large a file may be that is damaged, and read to memory.
const mostKept = 1 << 30

// KeptBytes is how many bytes of memory a file takes that is opened with
// [SamplesOptions.Keep]: of most formats no more than what is decoded of it.
func KeptBytes(file *os.File) (int64, error) {
	about, err := file.Stat()
	if err != nil {
		return 0, err
	}
	from := sized{file, about.Size()}
	parts, err := sound.InParts(from)
	if err == nil && !parts {
		parts, err = coded.InPlace(from)
	}
	if parts || err != nil {
		return 0, err
	}
	return min(from.size, mostKept), nil
}

// openKept opens a recording as package sound does, which keeps what is there of a file
// that is cut off or damaged.
func openKept(file *os.File, o *SamplesOptions) (*Samples, error) {
	track, ok := o.track()
	if !ok {
		return nil, fmt.Errorf("%w: a damaged file is read of which one stream of sound is wanted", media.ErrUnsupported)
	}
	about, err := file.Stat()
	if err != nil {
		return nil, err
	}
	stream, err := streamKept(sized{file, about.Size()}, track)
	if err != nil {
		return nil, err
	}

	begins := new(big.Rat)
	if p, err := pull(file, &Window{Streams: o.Streams}); err == nil { // or it is a recording alone
		if first := p.clock.First[0]; first != nil && p.clock.Zero != nil {
			begins.Sub(first, p.clock.Zero)
		}
		p.close()
	}
	return within(stream, begins, o)
}

// sized implements [sound.File], with what FFmpeg reads it by.
type sized struct {
	*os.File
	size int64
}

func (s sized) Size() int64 { return s.size }

func (s sized) Descriptor() int { return int(s.Fd()) }

// streamKept opens a track of a file, in memory only if it has to be there.
func streamKept(file sized, track int) (sound.Stream, error) {
	in, err := coded.InPlace(file)
	if err != nil {
		return nil, err
	}
	if in {
		r, err := coded.OpenKept(file, track)
		if err != nil {
			return nil, err // no Recording that is nil
		}
		return r, nil
	}
	if file.size > mostKept {
		return nil, fmt.Errorf("%w: damaged=\"keep\" reads such a file whole, and it has %d bytes, of at most %d", media.ErrUnsupported, file.size, mostKept)
	}
	data := make([]byte, file.size)
	n, err := file.ReadAt(data, 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	return sound.OpenWith(data[:n], sound.Options{Track: track, Keep: true})
}
