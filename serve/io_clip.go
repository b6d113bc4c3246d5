package serve

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"

	"headrace/internal/ops"
	"headrace/media/recode"
	"headrace/recipe"
	"headrace/store"
)

// clipOf is a clip of a video, for which sound is wanted too.
type clipOf struct {
	video           *ops.VideoClip
	times           []float64 // of its frames
	start, duration float64
}

// osFile is a file as package video reads it.
type osFile struct {
	*os.File
	size int64
}

// Size implements video.File.
func (f osFile) Size() int64 { return f.size }

// Descriptor implements video.OpenFile.
func (f osFile) Descriptor() int { return int(f.Fd()) }

func openClipOf(f *os.File, e *errand) (*clipOf, error) {
	about, err := f.Stat()
	if err != nil {
		return nil, err
	}
	v, err := ops.OpenClip(osFile{f, about.Size()}, e.Video, ops.FrameList{}, e.steps)
	if err != nil {
		return nil, err
	}
	c := &clipOf{video: v}
	var end float64
	c.times, end = v.Times()
	c.start = c.times[0]
	if e.Video.Offset != nil {
		c.start = *e.Video.Offset
	}
	c.duration = end - c.start
	if e.Video.Duration != nil {
		c.duration = *e.Video.Duration
	}
	return c, nil
}

// margin is how much more sound is decoded on both sides, in seconds, so that a resampler
// hears what comes before and after.
const margin = 0.25

// sound decodes what is heard during the clip. Where there is none, there is silence.
func (c *clipOf) sound(ctx context.Context, f *os.File, a *recipe.DecodeAudio, most int64) (all []float32, rate, channels int, err error) {
	o := recode.SamplesOptions{}
	if a.Rate != nil {
		o.Rate = *a.Rate
	}
	if a.Channels != nil {
		o.Channels = *a.Channels
	}
	if a.Stream != nil {
		o.Streams = []string{fmt.Sprintf("a:%d", *a.Stream)}
	}
	o.Start = new(big.Rat).SetFloat64(math.Max(c.start-margin, -1e6))
	if c.start <= margin {
		o.Start = nil // sound may begin before the first frame
	}
	o.End = new(big.Rat).SetFloat64(c.start + c.duration + margin)

	s, err := recode.OpenSamples(f, o)
	if err != nil {
		// No sound in the window is silence of the form that is asked for.
		if rate, channels = o.Rate, max(o.Channels, 1); rate > 0 && recode.IsSilent(err) {
			return make([]float32, int(math.Round(c.duration*float64(rate)))*channels), rate, channels, nil
		}
		return nil, 0, 0, err
	}
	defer s.Close()
	rate, channels = s.Rate(), s.Channels()
	n := int(math.Round(c.duration * float64(rate)))
	if 4*int64(n)*int64(channels) > most {
		return nil, 0, 0, fmt.Errorf("%w: sound of more than %d bytes; take a shorter window, or raise max_bytes", store.ErrTooLarge, most)
	}
	all = make([]float32, n*channels)
	ahead := int(math.Round((c.start - s.Second()) * float64(rate))) // samples that come before the clip
	if ahead > 0 {
		if _, err := s.Next(ctx, make([]float32, ahead*channels)); err != nil {
			return nil, 0, 0, err
		}
	}
	silent := min(max(-ahead, 0), n)
	for at := silent * channels; at < len(all); {
		got, err := s.Next(ctx, all[at:min(len(all), at+channels<<16)])
		if err != nil && err != io.EOF {
			return nil, 0, 0, err
		}
		if got == 0 {
			break
		}
		at += got * channels
	}
	return all, rate, channels, nil
}
