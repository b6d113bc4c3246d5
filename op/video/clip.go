package video

import (
	"fmt"
	"math"
	"slices"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/video"
	"github.com/headrace/headrace/media/video/index"
	"github.com/headrace/headrace/tensor"
)

// FrameList says which frames a clip has, in this order and with repeats: by number, of
// which negative ones count from the end, or those on screen at times in seconds. The
// zero value leaves it to other arguments.
type FrameList struct {
	Indices []int
	Times   []float64
}

// VideoClip is a clip of a video in a file that is open. It must be closed; the file is
// the caller's.
type VideoClip struct {
	opened
	args   *DecodeVideo
	decode media.Options
	steps  []media.Step
	plan   media.Plan
	form   media.Form
	planes *video.PlanesWriter // nil: frames are images
}

// OpenClip finds the packets of a file, and those of a clip, to whose frames steps are
// done that draw nothing. The arguments must be complete and checked, and draw nothing.
// Nothing but what tells of packets is read.
func OpenClip(file video.File, args *DecodeVideo, list FrameList, steps []media.Step) (*VideoClip, error) {
	return openClip(file, args, nil, list, steps)
}

// openClip is OpenClip, of frames that keep the decoder's numbers, unless native is nil.
func openClip(file video.File, args *DecodeVideo, native *video.Native, list FrameList, steps []media.Step) (*VideoClip, error) {
	v, err := openVideo(file, args)
	if err != nil {
		return nil, err
	}
	c := &VideoClip{opened: opened{video: v}, args: args, decode: args.Options(), steps: steps}
	if err := c.pick(args, list); err != nil {
		return nil, err
	}
	if c.clip, err = c.clipOf(args, math.NaN()); err != nil {
		return nil, err
	}
	if err := media.MakePlan(c.info(), c.decode, steps, nil, &c.plan); err != nil {
		return nil, err
	}
	c.form = c.plan.Form()
	switch {
	case native != nil:
		c.planes = video.NewNativeWriter(*native, &c.plan)
	case args.Planes():
		c.planes = newPlanesWriter(args, &c.plan)
	}
	if c.planes != nil {
		c.form = c.planes.Form()
	}
	c.form.Frames = c.each
	if n := argument.OrElse(args.Clips, 1); n > 1 {
		c.form.Clips = n
	}
	if n := c.form.Bytes(); n < 0 || n > math.MaxInt32*int64(16) {
		return nil, fmt.Errorf("headrace: a clip of %d frames of %d×%d pixels is too large for one array: "+
			"use fewer frames, or resize it", c.form.Pictures(), c.form.Width, c.form.Height)
	}
	return c, nil
}

// IndexedVideo is a file at a path, which must be absolute, with the index of its packets
// that somebody has kept, if that fits. Warn is told of one that is not believed.
func IndexedVideo(file video.File, path string, warn func(message string)) video.File {
	return index.Of(file, path, warn)
}

// openVideo opens the stream that the arguments name, to be decoded as they say: that
// which players show, if they name none. If damaged frames are kept, the file may be cut
// off.
func openVideo(file video.File, args *DecodeVideo) (*video.Video, error) {
	keeps, stream := args.Damaged == "keep", argument.OrElse(args.Stream, -1)
	v, err := open(file, args, keeps, stream)
	if err == nil {
		v.Stream.Choice = args.Choice()
	}
	return v, err
}

func open(file video.File, args *DecodeVideo, keeps bool, stream int) (*video.Video, error) {
	raw, _ := args.Raw() // checked
	switch {
	case raw != nil && keeps:
		return video.OpenRawKept(file, *raw, stream)
	case raw != nil:
		return video.OpenRaw(file, *raw, stream)
	case keeps:
		return video.OpenKept(file, stream)
	}
	return video.Open(file, stream)
}

func (c *VideoClip) pick(args *DecodeVideo, list FrameList) error {
	line := &c.video.Table.Line
	switch {
	case len(list.Indices) > 0:
		for _, i := range list.Indices {
			n := i
			if n < 0 {
				n += line.Len()
			}
			if n < 0 || n >= line.Len() {
				return fmt.Errorf("headrace: there is no frame %d: the video has %d frames", i, line.Len())
			}
			c.frames = append(c.frames, n)
		}
		c.each = len(c.frames)
		return nil
	case len(list.Times) > 0:
		for _, t := range list.Times {
			n := line.At(line.Tick(t))
			if n < 0 || math.IsNaN(t) || line.Tick(t) >= line.End {
				return fmt.Errorf("headrace: there is no frame at %v s: the video has %d frames in %.3f s",
					t, line.Len(), line.Seconds(line.End))
			}
			c.frames = append(c.frames, n)
		}
		c.each = len(c.frames)
		return nil
	}
	nothing := fmt.Errorf("headrace: no frame of the video is in the clip: it has %d frames in %.3f s", line.Len(), line.Seconds(line.End))
	if args.Offset != nil && line.Tick(*args.Offset) >= line.End {
		return nothing
	}
	clip, err := args.Clip()
	if err != nil {
		return err
	}
	// Callers have checked that the arguments draw nothing.
	clips, err := clip.Pick(line, func(int) int { return 0 })
	if err != nil {
		return fmt.Errorf("headrace: %w: it has %d frames in %.3f s", err, line.Len(), line.Seconds(line.End))
	}
	c.frames, c.each = slices.Concat(clips...), len(clips[0])
	if len(c.frames) == 0 || len(c.frames) != c.each*len(clips) {
		return nothing
	}
	return nil
}

// Times returns when each frame is displayed, in seconds from the video's first.
func (c *VideoClip) Times() (times []float64) {
	for _, n := range c.frames {
		if n < 0 { // a black one
			n = c.video.Table.Line.Len() - 1
		}
		times = append(times, c.video.Seconds(n))
	}
	return times
}

// Span is when the clip begins and ends.
func (c *VideoClip) Span() (begin, end float64) {
	return c.span(c.args, c.frames, math.NaN())
}

// Form returns the form of the clip. Planes are rows of gray images.
func (c *VideoClip) Form() media.Form { return c.form }

// Shape returns the shape of the array with the clip.
func (c *VideoClip) Shape() tensor.Shape {
	return c.form.Shape()
}

// VideoInfo describes a video.
type VideoInfo struct {
	Width       int       `json:"width"` // and height, of frames as they are displayed: turned
	Height      int       `json:"height"`
	Frames      int       `json:"frames"`
	Duration    float64   `json:"duration"` // seconds
	FPS         float64   `json:"fps"`      // on average
	Codec       string    `json:"codec"`
	Orientation int       `json:"orientation"` // EXIF's number of how frames are stored
	KeyFrames   []int     `json:"key_frames"`  // frames with which decoding may begin
	FrameTimes  []float64 `json:"seconds"`     // when each frame is displayed, from the first on
	Color       ColorInfo `json:"color"`
	PixelFormat string    `json:"pixel_format"` // the decoder's name of it; "": no frame was decoded
}

// DescribeVideo returns the description of a video.
func DescribeVideo(v *video.Video) VideoInfo {
	line, s := &v.Table.Line, &v.Stream
	i := VideoInfo{
		Width: s.Width, Height: s.Height, Frames: line.Len(), Duration: line.Seconds(line.End), FPS: line.FPS(), Codec: s.Codec,
		Orientation: max(int(s.Orientation), 1), KeyFrames: []int{}, FrameTimes: make([]float64, line.Len()),
		Color: describeColor(s.Color),
	}
	if i.Orientation >= 5 {
		i.Width, i.Height = i.Height, i.Width
	}
	for n := range i.FrameTimes {
		i.FrameTimes[n] = v.Seconds(n)
		if v.Table.Packets[v.Table.Frames[n]].Key {
			i.KeyFrames = append(i.KeyFrames, n)
		}
	}
	return i
}
