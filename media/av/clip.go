package av

import (
	"errors"
	"fmt"
	"math"
)

// Clip says which frames of a video to take. The zero value of each field leaves that
// out.
//
// At most one of Stride, Rate and Segments is set. Without any of them, Frames are spread
// evenly from the first frame to the last; without Frames, too, every frame is taken.
// [Clip.Pick] has the formulas.
type Clip struct {
	Frames   int      // how many
	Stride   int      // from one frame to the next, in frames
	Rate     Rational // frames a second: the frame on screen at each step
	Segments int      // equal parts of the video, one frame of each
	Duration float64  // seconds that the clip lasts; the frames are taken from them

	Clips   int // how many clips; 0 is 1
	Start   Start
	Seconds float64 // for [At]

	// With Rate, and without Frames: that many frames a second, but not fewer than Min
	// nor more than Max, and a multiple of Multiple, spread over the video.
	Min, Max, Multiple int

	Short Short // what a video gives that is shorter than the clip
}

// Start says where a clip begins.
type Start int

// Random draws the place, Center has as much before the clip as after it, Begin is the
// first frame, and At is a time. Several clips divide what there is evenly, from the
// first frame to the last with Begin, in the middles of equal parts with Center.
const (
	Random Start = iota
	Center
	Begin
	At
)

// Short says which frames mean those after the last.
type Short int

// Repeat gives the last frame again, Loop begins again, Black gives [Blank], and Error
// refuses the video.
const (
	Repeat Short = iota
	Loop
	Black
	Error
)

// Blank is the number of a frame that is not in the video, and is to be black.
const Blank = -1

// ErrShort says that a video has fewer frames than a clip, which asked for an error then.
var ErrShort = errors.New("the video is shorter than the clip")

// ErrNoFrames says that a video has no frame at all.
var ErrNoFrames = errors.New("the video has no frames")

// most is how many frames a clip may have. A day of 120 frames a second has fewer.
const most = 1 << 24

// Check returns an error if no video can give such a clip.
func (c *Clip) Check() error {
	for _, n := range []struct {
		name  string
		value int
	}{
		{"frames", c.Frames}, {"stride", c.Stride}, {"segments", c.Segments}, {"clips", c.Clips},
		{"min_frames", c.Min}, {"max_frames", c.Max}, {"multiple", c.Multiple},
	} {
		if n.value < 0 || n.value > most {
			return fmt.Errorf("%s must be from 1 to %d, got %d", n.name, most, n.value)
		}
	}
	if c.Rate != (Rational{}) && !c.Rate.Positive() {
		return fmt.Errorf("fps must be above 0, got %v", c.Rate)
	}
	if !(c.Duration >= 0) || math.IsInf(c.Duration, 0) {
		return fmt.Errorf("duration must be above 0, got %v", c.Duration)
	}
	if !(c.Seconds >= 0) || math.IsInf(c.Seconds, 0) {
		return fmt.Errorf("start must be at least 0 s, got %v", c.Seconds)
	}
	return c.checkTogether()
}

func (c *Clip) checkTogether() error {
	rated, bounded := c.Rate.Positive(), c.Min > 0 || c.Max > 0 || c.Multiple > 0
	ways := 0
	for _, set := range []bool{c.Stride > 0, rated, c.Segments > 0} {
		if set {
			ways++
		}
	}

	switch {
	case ways > 1:
		return errors.New("stride, fps and segments exclude each other: give one of them")
	case c.Segments > 0 && c.Frames > 0 && c.Frames != c.Segments:
		return fmt.Errorf("segments=%d gives one frame of each: leave frames=%d out", c.Segments, c.Frames)
	case c.Segments > 0 && c.Duration > 0:
		return errors.New("segments are parts of the whole video: leave duration out")
	case c.Segments > 0 && c.Start == At:
		return errors.New("segments are parts of the whole video: start must be \"random\", \"center\" or \"begin\"")
	case bounded && !rated:
		return errors.New("min_frames, max_frames and multiple bound what fps gives: add fps")
	case bounded && (c.Frames > 0 || c.Duration > 0):
		return errors.New("min_frames, max_frames and multiple are for a number of frames that depends on the video: " +
			"leave frames and duration out")
	case c.Max > 0 && c.Max < max(c.Min, c.Multiple):
		return fmt.Errorf("max_frames=%d is below min_frames=%d or multiple=%d", c.Max, c.Min, c.Multiple)
	case rated && c.Frames > 0 && c.Duration > 0:
		return errors.New("fps with frames says how long the clip is: leave duration out")
	case c.Stride > 0 && c.Frames > 0 && c.Duration > 0:
		return errors.New("stride with frames says how long the clip is: leave duration out")
	case c.Clips > 1 && c.Start == At:
		return errors.New("several clips would all start at the same time: give one start each, or start=\"random\"")
	}
	return nil
}
