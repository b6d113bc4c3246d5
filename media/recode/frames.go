package recode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/packets"
	headers "github.com/headrace/headrace/media/av/slices"
	"github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/media/video"
	"github.com/headrace/headrace/media/yuv"
)

// FramesOptions say which frames are wanted, and how they come out.
type FramesOptions struct {
	Window               // of one stream of video; none is that which players show
	Stride int           // every so many frames; 0 is 1
	Pixels media.Options // how they are decoded
	Steps  []media.Step  // what is done to them; nothing that draws
	Choice av.Choice
	Filter string     // a graph that frames go through; "": none
	Raw    *video.Raw // the file is nothing but frames; nil: it has a container
	// Planes are the layout of frames that stay planes, without a size if they keep
	// their own; nil: they become images.
	Planes *yuv.Planes
}

// Frames decodes a video from its beginning to its end, with memory for one decoder. It
// has to be closed.
type Frames struct {
	decoding
	file    *os.File
	options FramesOptions
	opens   ffmpeg.Stream // the decoder

	recent    [512]fed // packets by their number
	fed       int
	key       int64 // PTS of the first packet
	wanted    int   // frames that must come
	first     int64 // PTS of the earliest of them
	came      int
	waiting   int64 // PTS of the frame that comes next, which is decoded
	waits     bool  // it is there
	shown     int   // frames that came before this began again, up to that which waited
	failed    error // there is none, since a packet is damaged
	end       int64 // PTS at which the last of the frames that came leaves the screen
	droppable func([]byte) bool
	lost      func([]byte) bool

	frame  ffmpeg.Frame
	plan   media.Plan
	planes *video.PlanesWriter // nil: frames become images
	form   media.Form          // of a frame
	format string              // of the decoder, where its numbers stay
	rgb    []byte
}

// fed is a packet that the decoder was given.
type fed struct {
	number        int
	pts, duration int64
}

// OpenFrames begins with a file, which has to stay open.
func OpenFrames(file *os.File, o FramesOptions) (*Frames, error) {
	if len(o.Streams) == 0 {
		o.Streams = []string{"video"}
	}
	o.remedy, o.raw = video.Remedy, o.Raw
	p, err := pull(file, &o.Window)
	if err != nil {
		return nil, err
	}
	f := &Frames{decoding: decoding{packets: p}, file: file, options: o}
	if err := f.open(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// OpenNative is OpenFrames for frames that keep the decoder's numbers, of which it
// decodes the first.
func OpenNative(ctx context.Context, file *os.File, o FramesOptions) (*Frames, error) {
	f, err := OpenFrames(file, o)
	if err != nil {
		return nil, err
	}

	there, err := f.await(ctx)
	if err == nil && there {
		var n video.Native
		if n, err = video.NativeOf(&video.Frame{Picture: f.frame.Image.Picture, Format: f.frame.Format}); err == nil {
			f.planes = video.NewNativeWriter(n, &f.plan)
			f.form, f.format = f.planes.Form(), n.Format
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Format returns the decoder's name of the format, of frames that keep its numbers.
func (f *Frames) Format() string { return f.format }

func (f *Frames) open() (err error) {
	if err := f.choose(av.Video, "video"); err != nil {
		return err
	}
	s := f.stream
	// See package video: the container has no times of display.
	if f.packets.format == "avi" && s.Reorder > 0 && (s.Codec == "h264" || s.Codec == "hevc") {
		return fmt.Errorf("%w: AVI stores no display times, which %s with B-frames needs: "+
			"convert it, ffmpeg -i old.avi new.mp4", media.ErrUnsupported, s.Codec)
	}
	t := ffmpeg.Track{Stream: s.Stream, Reorder: s.Reorder, Siting: s.Siting, Bits: s.Bits}
	f.opens = t.Decoding()
	f.opens.Choice, f.choice = f.options.Choice, f.options.Choice
	if f.decoder, err = ffmpeg.NewDecoder(f.opens); err != nil {
		return err
	}
	f.droppable, f.lost = headers.Droppable(s.Codec, s.Config), headers.Lost(s.Codec, s.Config)
	return f.shape(s.Width, s.Height)
}

// shape makes the plan and the form of frames of this size.
func (f *Frames) shape(width, height int) error {
	if err := f.planFor(width, height, &f.plan); err != nil {
		return err
	}
	f.form = f.plan.Form()
	if l := f.options.Planes; l != nil {
		sized := *l
		if sized.Width == 0 {
			sized.Width, sized.Height = f.plan.Width, f.plan.Height
		}
		f.planes, f.form = video.NewPlanesWriter(sized, &f.plan), video.PlanesForm(sized)
	}
	return nil
}

func (f *Frames) planFor(width, height int, plan *media.Plan) error {
	info := video.Info(&f.stream.Stream)
	info.Width, info.Height = width, height
	return media.MakePlan(info, f.options.Pixels, f.options.Steps, nil, plan)
}

// Form is that of a frame.
func (f *Frames) Form() media.Form { return f.form }

// Size returns that of the image that a frame shows.
func (f *Frames) Size() (width, height int) {
	if l := f.options.Planes; l != nil && l.Width != 0 {
		return l.Width, l.Height
	}
	return f.plan.Width, f.plan.Height
}

// Next decodes frames, as many as times has room for, side by side to memory, and says
// when they are displayed. It returns fewer at the end, and none after it.
func (f *Frames) Next(ctx context.Context, to []byte, times []float64) (n int, err error) {
	size := int(f.Form().Bytes())
	for n < len(times) {
		if ok, err := f.await(ctx); !ok {
			return n, err
		}
		f.waits = false
		if err := f.draw(to[n*size:][:size], f.waiting); err != nil {
			return n, err
		}
		times[n] = f.second(f.waiting)
		n++
	}
	return n, nil
}

// await decodes up to the frame that comes next; false: there is none.
func (f *Frames) await(ctx context.Context) (bool, error) {
	for !f.waits {
		if f.failed != nil {
			return false, f.failed
		}
		pts, err := f.decode(ctx)
		withheld := errors.Is(err, errWithheld) || err == nil && f.came == 0 && pts > f.first
		if withheld && f.options.Start != nil && !f.packets.clock.widest {
			if f.failed = f.widen(); f.failed == nil {
				continue
			}
			return false, f.failed
		}
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			f.failed = err
			return false, err
		}
		f.came++
		if f.came < f.shown {
			continue
		}
		if f.came == f.shown {
			if pts != f.waiting {
				f.failed = fmt.Errorf("%w: frames before that at %.3f s did not come: %w",
					media.ErrCorrupt, f.second(f.waiting), errWithheld)
			}
			continue
		}
		f.waiting, f.waits = pts, f.options.Stride <= 1 || (f.came-1)%f.options.Stride == 0
	}
	return true, nil
}

// upcoming implements pictures.
func (f *Frames) upcoming(ctx context.Context) (second float64, ok bool, err error) {
	ok, err = f.await(ctx)
	return f.second(f.waiting), ok, err
}

// ends implements pictures.
func (f *Frames) ends() float64 { return f.second(f.end) }

// errWithheld says that frames did not come.
var errWithheld = errors.New("the decoder withholds them")

// widen begins again with an earlier key packet: what is marked as one is not always
// enough, as in open groups of H.264. Each try begins twice as many earlier as the one
// before, so that all of them cost no more than twice the last.
func (f *Frames) widen() error {
	o := f.options
	o.wider = max(1, 2*o.wider)
	f.Close()
	again, err := OpenFrames(f.file, o)
	if err != nil {
		f.ended = true
		return err
	}
	again.shown, again.waiting = max(f.shown, f.came), f.waiting
	again.plan, again.planes, again.form, again.format = f.plan, f.planes, f.form, f.format
	*f = *again
	return nil
}

// second is when a frame is displayed, counted from the file's first.
func (f *Frames) second(pts int64) float64 {
	t := seconds(pts, f.stream.TimeBase)
	s, _ := new(big.Rat).Sub(t, f.packets.clock.Zero).Float64()
	return s
}

// decode decodes until a wanted frame comes.
func (f *Frames) decode(ctx context.Context) (pts int64, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return 0, context.Cause(ctx)
		}
		err := f.decoder.Next(&f.frame)
		switch bad := (*ffmpeg.PacketError)(nil); {
		case err == nil:
			r := f.recent[max(f.frame.Packet, 0)%len(f.recent)]
			if f.frame.Packet < 0 || r.number != f.frame.Packet {
				return 0, fmt.Errorf("%w: a frame came from no packet", media.ErrCorrupt)
			}
			if f.frame.Corrupt && r.pts < f.key {
				continue
			}
			if f.frame.Corrupt {
				return 0, f.damaged(r.pts, errors.New("the decoder has concealed damage"))
			}
			f.end = max(f.end, r.pts+r.duration)
			return r.pts, nil
		case errors.Is(err, ffmpeg.ErrNeeds):
			if err := f.feed(); err != nil {
				return 0, err
			}
		case err == io.EOF:
			if f.came < f.wanted {
				return 0, fmt.Errorf("%w: %d of %d frames did not come: %w", media.ErrCorrupt, f.wanted-f.came, f.wanted, errWithheld)
			}
			p, ok, err := f.another(f.opens)
			if err != nil {
				return 0, err
			}
			if !ok {
				return 0, io.EOF
			}
			f.fed = 0
			if err := f.give(&p); err != nil {
				return 0, err
			}
		case errors.As(err, &bad) && bad.Packet >= 0:
			r := f.recent[bad.Packet%len(f.recent)]
			if r.pts < f.key { // it may refer to what comes before the first key frame
				continue
			}
			return 0, f.damaged(r.pts, bad.Err)
		default:
			return 0, err
		}
	}
}

func (f *Frames) damaged(pts int64, err error) error {
	if errors.Is(err, media.ErrCorrupt) {
		return fmt.Errorf("the frame at %.3f s is damaged: %w", f.second(pts), err)
	}
	return fmt.Errorf("%w: the frame at %.3f s is damaged: %w", media.ErrCorrupt, f.second(pts), err)
}

var errLost = errors.New("an image that it refers to is missing")

// feed gives the decoder the next packet.
func (f *Frames) feed() error {
	p, ok, err := f.packet()
	if !ok {
		return err
	}
	return f.give(&p)
}

// give gives the decoder a packet.
func (f *Frames) give(p *packets.Packet) error {
	if f.fed == 0 {
		f.key = p.PTS
	}
	leading := p.PTS < f.key
	if f.lost != nil && f.lost(p.Data) && !leading && f.fed > 0 {
		return f.damaged(p.PTS, errLost)
	}
	if len(p.Data) == 0 || p.Discard && f.droppable != nil && f.droppable(p.Data) {
		return nil
	}
	if !p.Discard && !leading {
		if f.wanted == 0 {
			f.first = p.PTS
		}
		f.first = min(f.first, p.PTS)
		f.wanted++
	}
	f.recent[f.fed%len(f.recent)] = fed{f.fed, p.PTS, f.lasts(p)}
	f.fed++
	return f.decoder.Feed(p.Data, []ffmpeg.Packet{{Size: len(p.Data), Key: p.Key, Unwanted: p.Discard}}, false)
}

// lasts is how long a frame is on screen.
func (f *Frames) lasts(p *packets.Packet) int64 {
	rate := f.stream.FrameRate
	if p.Duration > 0 || !rate.Positive() {
		return p.Duration
	}
	return av.Rescale(1, av.Rational{Num: rate.Den, Den: rate.Num}, f.stream.TimeBase, av.Nearest)
}

// draw writes the frame.
func (f *Frames) draw(to []byte, pts int64) error {
	p, plan := &f.frame.Image.Picture, &f.plan
	if f.planes != nil {
		return f.planes.Draw(to, &video.Frame{Picture: *p, Format: f.frame.Format})
	}
	if p.Kind == 0 {
		return fmt.Errorf("%w: frames of the format %s", media.ErrUnsupported, f.frame.Format)
	}
	if p.Width != f.stream.Width || p.Height != f.stream.Height {
		plan = new(media.Plan)
		if err := f.planFor(p.Width, p.Height, plan); err != nil {
			return err
		}
		if plan.Form() != f.plan.Form() {
			return fmt.Errorf("headrace: the frame at %.3f s has %d×%d pixels, but the video has %d×%d: "+
				"give width and height", f.second(pts), p.Width, p.Height, f.stream.Width, f.stream.Height)
		}
	}
	return video.Draw(to, f.plan.Form().RowBytes(), p, plan, f.options.Pixels, f.pixels)
}

// pixels is memory for a frame, of which there is one at a time.
func (f *Frames) pixels(full media.Form) media.Pixels {
	if n := full.RowBytes() * full.Height; len(f.rgb) < n {
		f.rgb = make([]byte, n)
	}
	return media.Pixels{Data: f.rgb, Stride: full.RowBytes(), Width: full.Width, Height: full.Height, Color: full.Color, DType: full.DType}
}

// Close gives back the decoder's memory.
func (f *Frames) Close() { f.close() }
