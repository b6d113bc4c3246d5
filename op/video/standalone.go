package video

import (
	"errors"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/video"
	"github.com/headrace/headrace/media/yuv"
	"github.com/headrace/headrace/recipe"
)

// Standalone decodes clips of videos that belong to no sample.
type Standalone struct {
	args   *DecodeVideo
	native *video.Native // nil: frames are as args say
}

// StandaloneArgs are arguments for [NewStandalone], into which JSON may be decoded.
func StandaloneArgs() recipe.Args { return new(DecodeVideo) }

// NewStandalone decodes by such arguments, or by their defaults if they are nil.
// [Standalone.Complete] must follow.
func NewStandalone(args recipe.Args) Standalone {
	if args == nil {
		args = StandaloneArgs()
	}
	return Standalone{args: args.(*DecodeVideo)}
}

// HasFields reports whether any argument names a field, which only samples have.
func (s Standalone) HasFields() bool {
	read := s.args.Field != "" || s.args.At != ""
	made := s.args.To != "" || s.args.Times != "" || s.args.Matrix != "" || s.args.Mask != ""
	return read || made
}

// Random reports whether a clip begins anywhere, which has to be drawn.
func (s Standalone) Random() bool { return s.args.Start == "random" }

// Complete fills in the defaults, with which clips begin where their videos do. It
// returns an error if the arguments are wrong.
func (s *Standalone) Complete() (err error) {
	if s.args.Start == "" && s.args.Offset == nil {
		s.args.Start = "begin"
	}
	if s.args, err = s.args.Completed(); err != nil {
		return err
	}
	_, err = s.args.Clip()
	return err
}

// Planes reports whether frames stay planes, as the decoder has them.
func (s Standalone) Planes() bool { return s.args.Planes() }

// CheckNative returns why frames cannot keep the decoder's numbers.
func (s Standalone) CheckNative() error {
	if s.args.Color != "rgb" || s.args.DType != "uint8" || s.args.Aspect != "stored" {
		return errors.New("headrace: color \"native\" keeps the video's own numbers and pixels: leave out dtype and aspect")
	}
	return nil
}

// SetNative has frames keep the decoder's numbers.
func (s *Standalone) SetNative(n video.Native) { s.native = &n }

// ResizePlanes gives planes a size.
func (s *Standalone) ResizePlanes(height, width int) (err error) {
	s.args.Size = recipe.Size{Height: height, Width: width}
	s.args, err = s.args.Completed()
	return err
}

// PlanesAsked returns the layout of frames that stay planes, without a size if they keep
// their own; nil: they become images.
func (s Standalone) PlanesAsked() *yuv.Planes {
	if !s.args.Planes() {
		return nil
	}
	return new(s.args.PlanesOf(0, 0))
}

// Options returns the options of the pixels.
func (s Standalone) Options() media.Options { return s.args.Options() }

// Filter returns the graph that frames go through; "": none.
func (s Standalone) Filter() string { return s.args.Filter }

// Choice returns the decoder.
func (s Standalone) Choice() av.Choice { return s.args.Choice() }

// Raw returns how frames are stored in a file that has nothing else; nil: it has a
// container. The arguments must be checked.
func (s Standalone) Raw() *video.Raw {
	raw, _ := s.args.Raw()
	return raw
}

// Describe describes a video.
func (s Standalone) Describe(file video.File) (VideoInfo, error) {
	v, err := openVideo(file, s.args)
	if err != nil {
		return VideoInfo{}, err
	}
	return DescribeVideo(v), nil
}

// Open finds the packets of a clip, as [OpenClip] does.
func (s Standalone) Open(file video.File, list FrameList, steps []media.Step) (*VideoClip, error) {
	return openClip(file, s.args, s.native, list, steps)
}
