package ffmpeg

import (
	"math"

	"github.com/headrace/headrace/media/av"
)

// Untimed is no time.
const Untimed = math.MinInt64

// Port is what enters or leaves a graph, and what an encoder is given. Formats are
// FFmpeg's names: "rgb24", "fltp".
type Port struct {
	Label, Format  string
	Audio          bool
	Width, Height  int
	Aspect         av.Rational
	TimeBase       av.Rational
	FrameRate      av.Rational // 0/0: unknown
	Rate, Channels int
	Layout         uint64 // of channels, in the bits of WAV; 0: the usual one
	Matrix, Range  int    // numbers of ITU-T H.273; 0: unknown. 1 is limited, 2 full
}

// Encoding is what an encoder makes.
type Encoding struct {
	From         Port
	Codec        string  // an encoder's name, or that of a format
	BitRate      int64   // a second; negative: the encoder's own
	GOP          int     // frames from key frame to key frame, at most; negative: the encoder's own
	BFrames      int     // likewise
	Quality      float32 // FFmpeg's scale of the codec, 1 being the best; negative: the encoder's own
	HeadersApart bool    // the container has the codec's headers in its own
	Options      string  // "name=value:name=value"
}

// Takes is what an encoder takes. Empty lists take any.
type Takes struct {
	Audio   bool
	Formats string // divided by |
	Rates   []int
}
