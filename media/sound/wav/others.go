package wav

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av/whole"
	"github.com/headrace/headrace/media/sound"
)

// These are formats besides WAV whose samples are most often not compressed, for
// [sound.Register]. Files with other codings are left to other formats.
var (
	AIFF = other("aiff", []string{".aiff", ".aif", ".aifc"}, isAIFF, openAIFF)
	AU   = other("au", []string{".au"}, isAU, openAU)
	CAF  = other("caf", []string{".caf"}, isCAF, openCAF)
)

// other makes a format of a name that package whole knows.
func other(name string, suffixes []string, is func([]byte) bool, open func(*sound.Content) (*File, error)) sound.Format {
	checked := func(from io.ReaderAt, c *sound.Content, o sound.Options) (sound.Stream, error) {
		if o.Track > 0 {
			return nil, fmt.Errorf("%s: there is no audio track %d: the file has one, number 0", name, o.Track)
		}
		f, err := open(c)
		if err != nil && errors.Is(err, sound.ErrCoded) {
			return nil, err
		}
		_, cut := whole.Check(name, from, c.Size())
		short := errors.Is(cut, media.ErrTruncated)
		if cut != nil && !(short && o.Keep) {
			return nil, &cutOff{name, cut, short && err == nil}
		}
		if err != nil {
			return nil, err // no File that is nil
		}
		f.short = short
		return f, nil
	}
	return sound.Format{
		Name: name, Suffixes: suffixes, Is: is,
		Open: func(file []byte, o sound.Options) (sound.Stream, error) {
			return checked(bytes.NewReader(file), sound.InMemory(file), o)
		},
		OpenAt: func(file sound.File, o sound.Options) (sound.Stream, error) {
			return checked(file, sound.OnDisk(file, together), o)
		},
		Parts: func(_ []byte, file sound.File) (bool, error) {
			_, err := open(sound.OnDisk(file, together))
			return !errors.Is(err, sound.ErrCoded), nil // other errors come when it is opened
		},
	}
}

// cutOff is the error of a file that is, in words that do not speak of images.
type cutOff struct {
	format string
	err    error
	keeps  bool // what is there can be read
}

func (e *cutOff) Error() string {
	text := e.format + ": " + strings.TrimPrefix(e.err.Error(), media.ErrTruncated.Error()+": ")
	if e.keeps {
		text += ": " + sound.Remedy
	}
	return text
}

func (e *cutOff) Unwrap() error { return e.err }

// finish says what samples are and where: so many bytes from a place on, as far as the
// file has them, and no more samples than most.
func (f *File) finish(name string, channels int, rate float64, at, size, most int64) error {
	switch {
	case channels < 1 || channels > mostChannels:
		return fmt.Errorf("%s: the file is damaged: it has %d channels", name, channels)
	case !(rate >= 1 && rate <= math.MaxInt32):
		return fmt.Errorf("%s: the file is damaged: it has %v samples a second", name, rate)
	}
	f.info.Channels, f.info.Rate = channels, int(math.Round(rate))
	size = max(0, min(size, f.content.Size()-at))
	if n := min(size/int64(f.width*channels), most); n > 0 {
		f.info.Samples, f.parts = n, []part{{at, n}}
	}
	return nil
}

// codedAs is the error of samples that other formats may know.
func codedAs(name, how string) error {
	return fmt.Errorf("%s: the samples are %w: %s", name, sound.ErrCoded, how)
}

// pcmOf returns how PCM of so many bytes is decoded, of which one byte has a sign; nil if
// it is not known.
func pcmOf(width int, big bool) coding {
	if width == 1 {
		return signed8
	}
	return codingOf(codePCM, width, big)
}

// layouts are the speakers of Apple's numbers of layouts whose channels are in the order
// of a mask.
var layouts = map[uint32]uint32{
	108<<16 | 4: 0x33,  // L R Ls Rs
	113<<16 | 3: 0x07,  // L R C
	115<<16 | 4: 0x107, // L R C Cs
	117<<16 | 5: 0x37,  // L R C Ls Rs
	121<<16 | 6: 0x3F,  // L R C LFE Ls Rs
	133<<16 | 3: 0x0B,  // L R LFE
}

// layoutByMask is the number of a layout that is followed by a mask.
const layoutByMask = 1 << 16

// speakers takes the chunk that says where channels are; false: it is one that is not
// known, and matters.
func (f *File) speakers(layout, mask uint32, channels int) bool {
	switch {
	case channels <= 2 || layout == 0 && mask == 0:
		return true
	case layout != layoutByMask:
		f.info.Mask = layouts[layout]
		return f.info.Mask != 0
	}
	f.info.Mask = mask
	return true
}
