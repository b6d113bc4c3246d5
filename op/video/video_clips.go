package video

import (
	"cmp"
	"errors"
	"slices"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/video"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[VideoClips]("video_clips", recipe.Between,
	"Cut a video into clips, each a sample: consecutive pieces, or clips from chosen places.").Explained(`
Clips keep their video's key and other fields. They are decoded one by one, so memory does not depend on a film's
length, and resuming decodes none again. Random steps draw for each clip. 'len(loader)' is exact with 'clips'; the
number of pieces is not known in advance.`,
	`films = hr.files("films/*.mp4", content=False)`,
	`every = films.video_clips(32, stride=2, step=64).resize(224, fit="crop")`,
	`some = films.shuffle().video_clips(16, stride=4, clips=4)`).
	Called("frames, *, stride, fps, step, clips, start, short, times, window, number, stream"))

// VideoClips are the arguments of the operation video_clips. Without Clips, the whole
// video comes in pieces, one after the other.
type VideoClips struct {
	Field     string      `json:"field,omitempty" doc:"as for decode_video"`
	To        string      `json:"to,omitempty" default:"video" doc:"the field for the clip"`
	Stream    *int        `json:"stream,omitempty" min:"0" max:"1000" doc:"as for decode_video"`
	Frames    *int        `json:"frames,omitempty" required:"true" min:"1" max:"1000000" example:"16" doc:"frames in a clip"`
	Stride    *int        `json:"stride,omitempty" min:"1" max:"1000000" doc:"from one frame to the next, in frames; by default 1"`
	FPS       *float64    `json:"fps,omitempty" min:"0.000001" max:"1000000"`
	Step      *int        `json:"step,omitempty" min:"1" max:"1000000000"`
	Clips     *int        `json:"clips,omitempty" min:"1" max:"10000" doc:"instead of pieces, this many clips per video"`
	Start     string      `json:"start,omitempty" choices:"begin,center,random"`
	Short     string      `json:"short,omitempty" choices:"repeat,loop,black,error,drop" default:"repeat"`
	Times     string      `json:"times,omitempty" doc:"as for decode_video"`
	Window    string      `json:"window,omitempty" doc:"as for decode_video, after 'files(…, content=False)'"`
	Number    string      `json:"number,omitempty" doc:"a field for the clip's number in its video, from 0; by default none"`
	Orient    *bool       `json:"orient,omitempty" default:"true" doc:"as for decode_video"`
	Aspect    string      `json:"aspect,omitempty" choices:"stored,square" default:"stored" doc:"as for decode_video"`
	Mode      string      `json:"mode,omitempty" choices:"exact,fast" default:"exact" doc:"as for decode_video"`
	DType     string      `json:"dtype,omitempty" python:"a dtype" choices:"uint8,uint16" default:"uint8" doc:"as for decode_video"`
	Color     string      `json:"color,omitempty" choices:"rgb,gray,rgba,yuv420,nv12,yuv422,yuv444" default:"rgb" doc:"as for decode_video"`
	Size      recipe.Size `json:"size,omitzero" doc:"as for decode_video"`
	Matrix    string      `json:"matrix,omitempty" doc:"as for decode_video"`
	Damaged   string      `json:"damaged,omitempty" choices:"error,keep" default:"error" doc:"as for decode_video"`
	Mask      string      `json:"mask,omitempty" doc:"as for decode_video"`
	MaxPixels *int        `json:"max_pixels,omitempty" min:"1" doc:"as for decode_video"`

	Filter         string `json:"filter,omitempty" doc:"as for decode_video: each clip goes through a graph of its own"`
	Decoder        string `json:"decoder,omitempty" doc:"as for decode_video"`
	DecoderOptions string `json:"decoder_options,omitempty" python:"options" doc:"as for decode_video"`

	Format        string `json:"format,omitempty" doc:"as for decode_video"`
	FormatOptions string `json:"format_options,omitempty" python:"options" doc:"as for decode_video"`
}

// Docs implements [argument.Documented].
func (*VideoClips) Docs() map[string]string {
	return map[string]string{
		"fps": "frames per second: those on screen at these times, even if a video's rate varies",
		"step": "from one piece's beginning to the next, in frames of the video, or at the rate fps; by default " +
			"without gaps",
		"start": "with clips: where they begin, by default 'random'; 'center' and 'begin' spread them evenly",
		"short": "clips with too few frames, such as the last piece: repeat: the last frame again; loop: start " +
			"again; black: black frames; error: a bad sample; drop: left out",
	}
}

// Complete implements [recipe.Completer].
func (v VideoClips) Complete() recipe.Args {
	v.MaxPixels, v.Size = v.One().MaxPixels, v.Size.Square()
	if v.Start == "" && v.Clips == nil {
		v.Start = "begin"
	}
	v.Start = cmp.Or(v.Start, "random")
	if v.Stride == nil && v.FPS == nil {
		v.Stride = new(1)
	}
	if v.Clips == nil && v.Step == nil && v.Frames != nil {
		v.Step = new(*v.Frames * argument.OrElse(v.Stride, 1))
	}
	return &v
}

// Refused implements [refusing].
func (*VideoClips) Refused() map[string]string { return (*DecodeVideo)(nil).Refused() }

// One is what decodes one clip, but for where it begins.
func (v *VideoClips) One() *DecodeVideo {
	d := DecodeVideo{
		Field: v.Field, To: v.To, Stream: v.Stream, Frames: v.Frames, Stride: v.Stride, FPS: v.FPS,
		Start: v.Start, Short: v.Short, Times: v.Times, Window: v.Window, Orient: v.Orient, Aspect: v.Aspect, Mode: v.Mode, DType: v.DType,
		Color: v.Color, Size: v.Size, Matrix: v.Matrix, Damaged: v.Damaged, Mask: v.Mask, MaxPixels: v.MaxPixels,
		Filter: v.Filter, Decoder: v.Decoder, DecoderOptions: v.DecoderOptions, Format: v.Format, FormatOptions: v.FormatOptions,
	}
	if d.Short == "drop" {
		d.Short = "error"
	}
	return recipe.Completed(&d).(*DecodeVideo)
}

// Sampling is how a video is taken apart.
func (v *VideoClips) Sampling() (s av.Sampling, err error) {
	if s.Clip, err = v.One().Clip(); err != nil {
		return s, err
	}
	s.Step, s.Clip.Clips, s.Drop = argument.OrElse(v.Step, 0), argument.OrElse(v.Clips, 0), v.Short == "drop"
	return s, nil
}

// Check implements [recipe.Args].
func (v *VideoClips) Check(in sample.Schema) (sample.Schema, error) {
	tagged := *v
	if v.Color == native {
		tagged.Color = "" // which One refuses
	}
	errs := []error{argument.CheckTags(recipe.Completed(&tagged))}
	switch {
	case v.Clips != nil && v.Step != nil:
		errs = append(errs, errors.New("has both step and clips: step is for the whole video in pieces, clips for some places of it"))
	case v.Clips == nil && v.Start != "" && v.Start != "begin":
		errs = append(errs, recipe.Wrong("start", "is %q: pieces of the whole video begin at its first frame: "+
			"set clips, or leave start out", v.Start))
	}
	if v.Number != "" {
		own := []string{cmp.Or(v.To, "video"), v.Times, v.Window, v.Matrix, v.Mask}
		if in.Find(v.Number) >= 0 || slices.Contains(own, v.Number) {
			errs = append(errs, recipe.Wrong("number", "is %q: the samples have a field of this name already: %s",
				v.Number, words.List(in.Names())))
		}
	}
	if i := in.Find(v.One().FieldIn(in)); v.Window != "" && i >= 0 && in[i].Type.Kind == sample.Bytes {
		errs = append(errs, recipe.Wrong("window", "needs the path of the file, copied into each clip: begin with files(…, content=False)"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	out, err := v.One().Check(in)
	if err == nil && v.Number != "" {
		out = out.With(v.Number, NumberType)
	}
	return out, err
}

// NumberType is that of the field Number.
var NumberType = sample.TensorType(tensor.Int64)

// Traits implements [recipe.Traited].
func (*VideoClips) Traits() recipe.Traits {
	return recipe.Traits{Count: recipe.Times, Content: "video", Suffixes: video.Suffixes()}
}

// Decoding implements [recipe.Decoder].
func (v *VideoClips) Decoding(in sample.Schema) recipe.Decoding { return v.One().Decoding(in) }
