package av

import (
	"runtime"
	"strconv"
	"strings"
)

// Kind is what a stream is made of.
type Kind int

// The kinds of streams. Other are those that nobody decodes here: subtitles, time codes.
const (
	Other Kind = iota
	Video
	Audio
)

func (k Kind) String() string {
	return [...]string{"other", "video", "audio"}[k]
}

// Stream is what a container says of one of its streams.
type Stream struct {
	Index    int    // among all streams of the file, from 0 on, as ffprobe counts them
	ID       int    // as the container has it
	Kind     Kind   //
	Codec    string // FFmpeg's name of the codec: h264, hevc, aac; "" if it is unknown
	Tag      string // the container's name of it: avc1
	Config   []byte // what the decoder needs before the first packet: libavcodec's extradata
	TimeBase Rational
	Language string // ISO 639-2: "eng"; "" if not said
	Default  bool   // the stream is enabled: it is shown if nobody chooses

	// Of video.
	Width, Height int         // of a frame, as stored
	Depth         int         // bits of a sample; 0 if the container does not say
	Aspect        Rational    // of a sample: width to height; 1/1 if not said
	Orientation   Orientation // how stored frames are turned for display
	Color         Color

	// Of audio.
	Rate, Channels int
}

// Choice names a decoder, and gives it options. The zero value leaves both to FFmpeg.
type Choice struct {
	Decoder string // as FFmpeg calls it: libdav1d
	Options string // name=value:name=value
}

// Threads returns how many threads the options ask for; 1 if they do not say it.
func (c Choice) Threads() int {
	for option := range strings.SplitSeq(c.Options, ":") {
		text, ok := strings.CutPrefix(option, "threads=")
		if !ok {
			continue
		}
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			return n
		}
		return runtime.NumCPU() // auto, or 0
	}
	return 1
}

// Orientation is one of the eight ways to turn and mirror, numbered as in EXIF.
type Orientation int

// Upright frames are displayed as they are stored.
const Upright Orientation = 1

// The others, by what is done to a stored frame to display it. Angles are clockwise.
const (
	MirrorHorizontal Orientation = iota + 2
	Rotate180
	MirrorVertical
	Transpose
	Rotate90
	Transverse
	Rotate270
)

// OrientationOf returns the turn or mirror that is nearest to a display matrix:
// x' = a·x + c·y, y' = b·x + d·y. One that maps everything to a line turns nothing.
func OrientationOf(a, b, c, d int64) Orientation {
	abs := func(n int64) int64 { return max(n, -n) }
	if abs(a)+abs(d) >= abs(b)+abs(c) {
		switch {
		case a < 0 && d < 0:
			return Rotate180
		case a < 0 && d > 0:
			return MirrorHorizontal
		case a > 0 && d < 0:
			return MirrorVertical
		}
		return Upright
	}
	switch {
	case b > 0 && c < 0:
		return Rotate90
	case b < 0 && c > 0:
		return Rotate270
	case b > 0 && c > 0:
		return Transpose
	case b < 0 && c < 0:
		return Transverse
	}
	return Upright
}

// Swaps reports whether width and height change places.
func (o Orientation) Swaps() bool { return o >= Transpose }

// Color says what the numbers of a frame mean, by the code points of ITU-T H.273. 0
// means what the container does not say: the stream itself may.
type Color struct {
	Primaries, Transfer, Matrix uint8
	Range                       Range
}

// Range is which numbers black and white are.
type Range uint8

// Limited is 16 to 235 of 8 bits, Full 0 to 255.
const (
	UnknownRange Range = iota
	Limited
	Full
)
