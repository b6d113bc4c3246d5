package video

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/numbers"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/video"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/tensor"
)

// Video is the part of decode_video that runs before memory is reserved: it finds the
// packets of a file and says which frames are taken. Steps on the clip go on from there.
type Video struct {
	env    *core.Env
	name   string // of the step
	drawID uint64
	args   *DecodeVideo
	clip   av.Clip
	from   record.Column // text, a path; or bytes
	at     record.Column // a number, the second at which clips begin; the zero Column: the arguments say it
	atType tensor.DType
	Times  record.Column // for times; the zero Column: nobody wants to know
	Window record.Column // for when a clip begins and ends; likewise
	Matrix record.Column // for how colours come from planes; likewise
	Mask   record.Column // for which frames are damaged; likewise
}

// OpensVideo reports whether steps on images begin with a video, for which [NewVideo]
// makes what comes before them.
func OpensVideo(p *fuse.Images) bool { return videoOf(p) != nil }

// videoOf is how a video is decoded, with which steps on images begin; nil: it is none.
func videoOf(p *fuse.Images) *DecodeVideo {
	switch args := p.Decoder.(type) {
	case *DecodeVideo:
		return args
	case *VideoClips:
		return args.One()
	}
	return nil
}

// NewVideo makes what finds the frames that steps on images begin with.
func NewVideo(w *core.Env, name string, p *fuse.Images, t *core.Scope) *Video {
	args := videoOf(p)
	clip, _ := args.Clip() // checked with the recipe
	v := &Video{env: w, name: name, drawID: order.OpID(name), args: args, clip: clip, from: t.Columns.Of[p.Field]}
	if args.At != "" {
		v.at, v.atType = t.Columns.Of[args.At], t.Schema[t.Schema.Find(args.At)].Type.DType
	}
	return v
}

// Link implements [image.Frames].
func (v *Video) Link(t *core.Scope) {
	v.Times = t.Add(v.args.Times, v.args.TimesType())
	v.Window = t.Add(v.args.Window, v.args.WindowType())
	v.Matrix = t.Add(v.args.Matrix, MatrixType)
	v.Mask = t.Add(v.args.Mask, v.args.MaskType())
}

// opened is a video with the frames that are taken, in the order of the clip.
type opened struct {
	file   *store.File // nil: its content is in memory
	reel   *reel       // of which this is a clip; nil: it is a video by itself
	video  *video.Video
	clip   *video.Clip
	frames []int // of all clips; av.Blank for those that are black
	each   int   // of one clip

	filtered media.Size // of frames after a filter; 0: there is none
	at       float64    // seconds: where a filter's times begin; NaN: with the first frame
}

// Load implements [record.Opened].
func (o *opened) Load() (int64, error) { return o.clip.Bytes(), o.clip.Load() }

// Close implements [record.Opened].
func (o *opened) Close() {
	if o.clip != nil {
		o.clip.Close()
	}
	if o.file != nil {
		o.file.Close()
		o.file = nil
	}
	if o.reel != nil {
		o.reel.leave()
		o.reel = nil
	}
}

// short says of an error about the length of a video how long that is.
func short(err error, o *opened) error {
	if !errors.Is(err, av.ErrShort) && !errors.Is(err, av.ErrNoFrames) {
		return err
	}
	line := &o.video.Table.Line
	return fmt.Errorf("headrace: %w: it has %d frames in %.3f s", err, line.Len(), line.Seconds(line.End))
}

// Index is an operation of its own. What is wrong with the file is for the decoder to
// report, so that statistics blame the stage in which people look.
func (v *Video) Index(ctx context.Context, it *record.Record) error {
	it.Shut()
	t := v.env.Tool(it)
	defer v.env.Done(t)
	o := new(opened)
	err := v.env.Watched(ctx, it, func() error { // some containers are read by C code
		return machine.Patiently(ctx, func() error {
			o.Close()
			return v.open(ctx, it, o)
		})
	})
	if err == nil {
		err = v.pick(it, t, o)
	}
	if err != nil {
		o.Close()
		it.HeaderErr = err
		return nil
	}
	it.HeaderErr, it.Opened = nil, o
	return nil
}

// open finds the packets of a file.
func (v *Video) open(ctx context.Context, it *record.Record, o *opened) (err error) {
	var file video.File
	if v.from.Kind == record.Bytes {
		file = video.Bytes(it.Values.Bytes[v.from.At])
	} else {
		path := it.Values.Texts[v.from.At]
		f, err := v.env.OpenNamed(ctx, it, path)
		if err != nil {
			return err
		}
		o.file, file = &f, IndexedVideo(f, f.Name(), v.env.Doubt)
	}
	o.video, err = openVideo(file, v.args)
	return err
}

// pick says which frames are taken.
func (v *Video) pick(it *record.Record, t *core.Tool, o *opened) (err error) {
	clip, at := v.clip, math.NaN()
	if v.at.Kind == record.Numbers {
		if at, err = v.seconds(it); err != nil {
			return err
		}
		clip.Seconds = at
	}
	draws := uint32(0)
	line := &o.video.Table.Line
	clips, err := clip.Pick(line, func(n int) int {
		draws++
		return t.Chance.Intn(v.drawID, draws-1, n)
	})
	if err != nil {
		return short(err, o)
	}
	o.frames, o.each = clips[0], len(clips[0])
	// The clips of a video are one array, so all have as many frames.
	for _, c := range clips[1:] {
		if len(c) != o.each {
			return fmt.Errorf("headrace: clips of %d and of %d frames fit into the same time: set frames", o.each, len(c))
		}
		o.frames = append(o.frames, c...)
	}
	if len(o.frames) == 0 {
		return fmt.Errorf("headrace: no frame of the video is in the clip: it has %d frames in %.3f s", line.Len(), line.Seconds(line.End))
	}
	if v.env.Ledger && draws > 0 {
		it.Drew(v.name, map[string]any{"frames": o.frames})
	}
	o.clip, err = o.clipOf(v.args, at)
	return err
}

// clipOf is the clip of the frames that are taken, which begins at a second that a field
// has; NaN: none has it.
func (o *opened) clipOf(args *DecodeVideo, at float64) (_ *video.Clip, err error) {
	if args.Filter != "" {
		if o.at = at; args.Offset != nil {
			o.at = *args.Offset
		}
		if o.filtered.Width, o.filtered.Height, err = o.video.FilteredSize(args.Filter); err != nil {
			return nil, media.About("video", err)
		}
	}
	if args.Damaged == "keep" {
		return o.video.ClipKept(o.frames)
	}
	return o.video.Clip(o.frames)
}

// seconds is where the clip of a record begins, by a field of it.
func (v *Video) seconds(it *record.Record) (float64, error) {
	s := numbers.Reader(v.atType)(it.Values.Numbers[v.at.At:], 0)
	if !(s >= 0) || math.IsInf(s, 0) {
		return 0, fmt.Errorf("headrace: the clip begins at %v s, by the field %q: must be at least 0", s, v.args.At)
	}
	return s, nil
}

// info describes the frames, as the header of an image does.
func (o *opened) info() media.Info {
	i := video.Info(&o.video.Stream.Stream)
	if o.filtered.Width > 0 {
		i.Width, i.Height = o.filtered.Width, o.filtered.Height
	}
	return i
}

// working is what decoding takes, besides what the plan of a frame does: packets, the
// decoder, a frame of this form, and the table.
func (o *opened) working(f media.Form) int64 {
	f.Width, f.Height = max(o.video.Stream.Width, o.filtered.Width), max(o.video.Stream.Height, o.filtered.Height)
	held := int64(0)
	if o.filtered.Width > 0 { // a filter such as reverse keeps all
		held = int64(len(o.frames)) * 2 * int64(f.Width) * int64(f.Height)
	}
	held += o.clip.Bytes() + o.video.WorkingBytes() + record.StoredBytes(f)
	return held + 80*int64(len(o.video.Table.Packets)) + 16*int64(len(o.frames))
}

// times gives a record the time of each frame; that of a black one is NaN.
func (v *Video) times(it *record.Record, o *opened) {
	if v.Times.Kind != record.Arrays {
		return
	}
	data := *it.Values.Borrow(&v.env.Images, 8*len(o.frames))
	for i, n := range o.frames {
		seconds := math.NaN()
		if n != av.Blank {
			seconds = o.video.Seconds(n)
		}
		binary.NativeEndian.PutUint64(data[8*i:], math.Float64bits(seconds))
	}
	it.Values.Arrays[v.Times.At] = record.Array{Shape: v.ofFrames(o), Data: data}
}

// ofFrames is the shape of what has a value for each frame.
func (v *Video) ofFrames(o *opened) tensor.Shape {
	if n := v.args.Form().Clips; n != 0 {
		return tensor.Shape{n, o.each}
	}
	return tensor.Shape{o.each}
}

// mask tells a record which of its frames are damaged, and counts them.
func (v *Video) mask(it *record.Record, o *opened, damaged map[int]bool) {
	count := int64(0)
	for _, n := range o.frames {
		if damaged[n] {
			count++
		}
	}
	if count > 0 {
		atomic.AddInt64(&v.env.Counts.DamagedFrames, count)
	}
	if v.Mask.Kind != record.Arrays {
		return
	}
	data := *it.Values.Borrow(&v.env.Images, len(o.frames))
	for i, n := range o.frames {
		if data[i] = 0; damaged[n] {
			data[i] = 1
		}
	}
	it.Values.Arrays[v.Mask.At] = record.Array{Shape: v.ofFrames(o), Data: data}
}

// KeepsFile implements [image.Frames].
func (v *Video) KeepsFile() bool { return v.args.KeepsFile() }

// Planes implements [image.Frames].
func (v *Video) Planes() bool { return v.args.Planes() }

// Type implements [image.Frames].
func (v *Video) Type() sample.Type { return v.args.Type() }

// PlanesForm implements [image.Frames].
func (v *Video) PlanesForm(f media.Form) media.Form { return planesForm(v.args, f) }

// Info implements [image.Frames].
func (v *Video) Info(it *record.Record) media.Info { return it.Opened.(*opened).info() }

// Each implements [image.Frames].
func (v *Video) Each(it *record.Record) int { return it.Opened.(*opened).each }

// Working implements [image.Frames].
func (v *Video) Working(it *record.Record, f media.Form) int64 {
	return it.Opened.(*opened).working(f)
}

// Note implements [image.Frames].
func (v *Video) Note(it *record.Record) {
	v.times(it, it.Opened.(*opened))
	v.window(it, it.Opened.(*opened))
}
