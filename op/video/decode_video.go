package video

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/video"
	"github.com/headrace/headrace/media/yuv"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[DecodeVideo]("decode_video", recipe.Between,
	"Decode frames of a video to a clip, uint8 [frames, height, width, 3].").Explained(`
Frames are exact to the byte wherever decoding begins, and packets that no frame needs are not read. Image operations
that follow treat all frames of a clip alike. A damaged frame makes a bad sample, named with frame and time.`,
	`films = hr.files("kinetics/*/*.mp4", label="parent", content=False)`,
	`films.decode_video(16, stride=4).random_resized_crop(224).batch(8)`).
	Called("frames, *, stride, fps, segments, clips, start, duration, min_frames, max_frames, multiple, short, times, window, stream").
	Begins(recipe.Beginning{Of: "video", Paths: true, Steps: func(io.Reader) string {
		return `  - decode_video: {frames: 16, stride: 4}
  - resize: {size: 256}
  - center_crop: {size: 224}
  - batch: {size: 8}
`
	}}))

// DecodeVideo are the arguments of the operation decode_video. [av.Clip.Pick] has the
// formulas by which frames are taken.
type DecodeVideo struct {
	Field     string      `json:"field,omitempty"`
	To        string      `json:"to,omitempty" default:"video" doc:"the field for the clip"`
	Stream    *int        `json:"stream,omitempty" min:"0" max:"1000" doc:"which video stream; by default the one players show"`
	Frames    *int        `json:"frames,omitempty" min:"1" max:"1000000" example:"16"`
	Stride    *int        `json:"stride,omitempty" min:"1" max:"1000000" doc:"from one frame to the next, in frames"`
	FPS       *float64    `json:"fps,omitempty" min:"0.000001" max:"1000000"`
	Segments  *int        `json:"segments,omitempty" min:"1" max:"1000000" doc:"this many equal parts, one frame of each"`
	Clips     *int        `json:"clips,omitempty" min:"1" max:"10000"`
	Start     string      `json:"start,omitempty" choices:"begin,center,random" default:"random"`
	Offset    *float64    `json:"offset,omitempty" min:"0" max:"1000000000" unit:"seconds"`
	At        string      `json:"at,omitempty" doc:"a field with the second where it begins, instead of start"`
	Duration  *float64    `json:"duration,omitempty" min:"0.000001" max:"1000000000" unit:"seconds" doc:"length of a clip in seconds"`
	MinFrames *int        `json:"min_frames,omitempty" min:"1" max:"1000000" doc:"with fps, without frames: at least so many"`
	MaxFrames *int        `json:"max_frames,omitempty" min:"1" max:"1000000" doc:"likewise: at most so many"`
	Multiple  *int        `json:"multiple,omitempty" min:"1" max:"1000000" doc:"likewise: a multiple of this"`
	Short     string      `json:"short,omitempty" choices:"repeat,loop,black,error" default:"repeat"`
	Times     string      `json:"times,omitempty"`
	Window    string      `json:"window,omitempty"`
	Orient    *bool       `json:"orient,omitempty" default:"true" doc:"turn frames as the file says"`
	Aspect    string      `json:"aspect,omitempty" choices:"stored,square" default:"stored"`
	Mode      string      `json:"mode,omitempty" choices:"exact,fast" default:"exact"`
	DType     string      `json:"dtype,omitempty" python:"a dtype" choices:"uint8,uint16" default:"uint8"`
	Color     string      `json:"color,omitempty" choices:"rgb,gray,rgba,yuv420,nv12,yuv422,yuv444" default:"rgb"`
	Size      recipe.Size `json:"size,omitzero" doc:"with planes: resize frames to [height, width]; by default they keep their size"`
	Matrix    string      `json:"matrix,omitempty"`
	Damaged   string      `json:"damaged,omitempty" choices:"error,keep" default:"error"`
	Mask      string      `json:"mask,omitempty" doc:"with 'keep': a field for which frames are damaged, bool [frames]; by default none"`
	MaxPixels *int        `json:"max_pixels,omitempty" min:"1"`

	Filter         string `json:"filter,omitempty"`
	Decoder        string `json:"decoder,omitempty" doc:"FFmpeg's name of the decoder, as in 'libdav1d'; by default its usual one"`
	DecoderOptions string `json:"decoder_options,omitempty" python:"options"`

	Format        string `json:"format,omitempty"`
	FormatOptions string `json:"format_options,omitempty" python:"options"`
}

// Docs implements [argument.Documented].
func (*DecodeVideo) Docs() map[string]string {
	return map[string]string{
		"field": "the field with the file's path or content, which is removed; by default where 'files' put it",
		"frames": "frames in a clip; by default all. Without stride, fps and segments they are spread evenly from " +
			"the first to the last",
		"fps":    "frames per second: those on screen at these times, even if a video's rate varies",
		"clips":  "this many clips per video, along an axis of their own: [clips, frames, height, width, 3]",
		"start":  "where a clip begins, if frames are left over; with segments: which frame of each",
		"offset": "the second where it begins, instead of start",
		"short": "videos shorter than a clip: repeat: the last frame again; loop: start again; black: black " +
			"frames; error: a bad sample",
		"times": "a field for each frame's display time in seconds, from the first frame: float64 [frames]; by " +
			"default none",
		"window": "a field for the clip's begin and end in seconds, float64 [2]. The field with the file stays, " +
			"for 'decode_audio(window=…)'",
		"aspect": "stored: the file's pixels; square: non-square pixels, as on DVDs, are widened or narrowed " +
			"first",
		"mode": "exact: converts to RGB first; fast: may resize planes before converting, several times faster, a " +
			"few levels off",
		"dtype": "uint8: 8 bits; uint16: of full scale: 10-bit videos keep their bits. Planes keep the video's " +
			"own numbers",
		"color": "rgb, gray and rgba, [height, width, 3, 1 or 4], are for image operations: gray is luma of full " +
			"range, rgba is opaque where the video has no alpha. The others are planes for conversion on a device, " +
			"as by 'hr.torch.to_rgb', without image operations: luma, then Cb and Cr, one after the other or, with " +
			"'nv12', interleaved. A frame is [height + height / 2, width] with 'yuv420' and 'nv12', [2 · height, " +
			"width] with 'yuv422' and [3, height, width] with 'yuv444'; an odd width repeats luma's last column",
		"matrix": "with planes: a field for their colours, int64 [4]: the matrix's number in ITU-T H.273, 1 for " +
			"full range, chroma location (0 left, 1 centre, 2 top left), bits of a sample; by default none",
		"damaged": "error: a damaged frame makes a bad sample; keep: it stays as the decoder concealed it, or " +
			"black",
		"max_pixels": "largest frame decoded, in pixels; by default 178,956,970, which is also the most",
		"filter": "a graph of FFmpeg filters for the clip's frames, as in 'hqdn3d,scale=320:-2'. It gives as many frames " +
			"as enter it",
		"decoder_options": "the decoder's options, as in 'threads=4:framethreads=2'. One thread is the default, as a loader decodes " +
			"as many videos at once as there are cores",
		"format":         "'rawvideo': files are nothing but frames, which 'format_options' describes; by default the content tells",
		"format_options": "of raw frames: 'video_size=64x48:pixel_format=yuv420p:framerate=25'; 25 frames a second is the default",
	}
}

// Complete implements [recipe.Completer].
func (d DecodeVideo) Complete() recipe.Args {
	if d.MaxPixels != nil && *d.MaxPixels == media.MaxPixels {
		d.MaxPixels = nil
	}
	d.Size = d.Size.Square()
	return &d
}

// Refused names the arguments that other libraries have for what is called otherwise
// here.
func (*DecodeVideo) Refused() map[string]string {
	return map[string]string{
		"num_frames": "it is called frames", "clip_len": "it is called frames",
		"num_frames_per_clip": "it is called frames", "sequence_length": "it is called frames",
		"frame_interval": "it is called stride", "frame_rate": "it is called fps", "frames_per_clip": "it is called frames",
		"audio": "put decode_audio after it, and set window in both", "audio_rate": "put decode_audio after it, and set window in both",
		"num_clips": "it is called clips", "num_segments": "it is called segments",
		"seek_mode": "frames are always exact, at the cost of the packets that they need",
		"num_threads": "a decoder has one thread, and as many videos are decoded at once as there are cores: " +
			"decoder_options has threads=4",
	}
}

// Choice is the decoder.
func (d *DecodeVideo) Choice() av.Choice {
	return av.Choice{Decoder: d.Decoder, Options: d.DecoderOptions}
}

// FieldIn is the field that is decoded, of samples with these fields.
func (d *DecodeVideo) FieldIn(in sample.Schema) string {
	if d.Field == "" && in.Find("path") < 0 {
		return "bytes"
	}
	return cmp.Or(d.Field, "path")
}

// Clip says which frames are taken. The arguments must be complete; where At is given,
// the caller sets Seconds.
func (d *DecodeVideo) Clip() (c av.Clip, err error) {
	c = av.Clip{
		Frames: argument.OrElse(d.Frames, 0), Stride: argument.OrElse(d.Stride, 0),
		Segments: argument.OrElse(d.Segments, 0), Clips: argument.OrElse(d.Clips, 0),
		Duration: argument.OrElse(d.Duration, 0), Seconds: argument.OrElse(d.Offset, 0),
		Min: argument.OrElse(d.MinFrames, 0), Max: argument.OrElse(d.MaxFrames, 0), Multiple: argument.OrElse(d.Multiple, 0),
	}
	if d.FPS != nil {
		if c.Rate, err = av.Decimal(*d.FPS); err != nil {
			return c, err
		}
	}
	switch {
	case d.Offset != nil || d.At != "":
		c.Start = av.At
	case d.Start == "center":
		c.Start = av.Center
	case d.Start == "begin":
		c.Start = av.Begin
	}
	switch d.Short {
	case "loop":
		c.Short = av.Loop
	case "black":
		c.Short = av.Black
	case "error":
		c.Short = av.Error
	}
	return c, c.Check()
}

// Options returns the decoder's options. The arguments must be complete and checked.
func (d *DecodeVideo) Options() media.Options {
	o := media.Options{Orient: *d.Orient, Square: d.Aspect == "square", MaxPixels: argument.OrElse(d.MaxPixels, 0)}
	if d.Mode == "fast" {
		o.Mode = media.Fast
	}
	if d.DType == "uint16" {
		o.DType = tensor.Uint16
	}
	if !d.Planes() {
		o.Color, _ = media.ParseColor(d.Color)
	}
	return o
}

// Planes reports whether frames stay planes, as the decoder has them.
func (d *DecodeVideo) Planes() bool {
	_, is := video.PlanesOf[d.Color]
	return is
}

// PlanesOf are the planes of an upright frame of this size.
func (d *DecodeVideo) PlanesOf(width, height int) yuv.Planes {
	if h, w := d.Size.Both(); h != 0 {
		width, height = w, h
	}
	l := video.PlanesOf[d.Color]
	l.Width, l.Height, l.Wide = width, height, d.DType == "uint16"
	return l
}

// Form returns the form of clips.
func (d *DecodeVideo) Form() media.Form {
	f := d.Options().Form()
	raw, _ := d.Raw() // which says the size
	known := raw != nil && d.Filter == ""
	if known {
		f.Height, f.Width = raw.Height, raw.Width
	}
	if d.Planes() {
		width, height := 1, 1
		if known {
			width, height = raw.Width, raw.Height
		}
		f = video.PlanesForm(d.PlanesOf(width, height))
		if d.Size.Height == 0 && !known {
			f.Height, f.Width = media.Unknown, media.Unknown
		}
	}
	f.Frames = media.Unknown
	if c, err := d.Clip(); err == nil && c.Count() > 0 {
		f.Frames = c.Count()
	}
	if argument.OrElse(d.Clips, 1) > 1 {
		f.Clips = *d.Clips
	}
	return f
}

// Completed returns the arguments with all defaults filled in, or an error about those
// that do not depend on samples.
func (d *DecodeVideo) Completed() (*DecodeVideo, error) {
	tagged := *d
	var errs []error
	if d.Color == native {
		tagged.Color = ""
		errs = append(errs, recipe.Wrong("color", "is \"native\": the type of a sample must be known before its file is read: "+
			"name the format, as in color: yuv420 with dtype: uint16, which has the same numbers; "+
			"headrace.io.load_video gives native frames"))
	}
	errs = append(errs, argument.CheckTags(recipe.Completed(&tagged)))
	chosen := d.Start == "begin" || d.Start == "center"
	if placed := d.Offset != nil || d.At != ""; chosen && placed || d.Offset != nil && d.At != "" {
		errs = append(errs, errors.New("has more than one of start, offset and at: give one of them"))
	}
	if d.Aspect == "square" && d.Planes() {
		errs = append(errs, recipe.Wrong("aspect", "is \"square\": planes stay as they are stored, with color %q", d.Color))
	}
	if d.MaxPixels != nil && *d.MaxPixels > media.MaxPixels {
		errs = append(errs, recipe.Wrong("max_pixels", "is %d: must be from 1 to %d", *d.MaxPixels, media.MaxPixels))
	}

	switch sized := d.Size != (recipe.Size{}); {
	case sized && !d.Planes():
		errs = append(errs, recipe.Wrong("size", "is for planes, as of color \"nv12\": put resize after decode_video"))
	case sized && d.DType == "uint16":
		errs = append(errs, recipe.Wrong("size", "is for planes of bytes, but dtype is \"uint16\": leave one of them out"))
	case sized:
		h, w := d.Size.Both()
		if err := (media.ResizeExact{Height: h, Width: w}).Check(); err != nil {
			errs = append(errs, recipe.Wrong("size", "is not possible: %w", err))
		}
	}

	if d.Filter != "" {
		errs = append(errs, d.checkFilter())
	}
	_, err := d.Raw()
	errs = append(errs, err)
	if d.Matrix != "" && !d.Planes() {
		errs = append(errs, recipe.Wrong("matrix", "is for planes, as of color \"nv12\", but color is %q", d.Color))
	}
	if d.Mask != "" && d.Damaged != "keep" {
		errs = append(errs, recipe.Wrong("mask", "is for damaged \"keep\": damaged frames make bad samples"))
	}
	return recipe.Completed(d).(*DecodeVideo), errors.Join(errs...)
}

// native is a color that package headrace.io has.
const native = "native"

// checkFilter refuses arguments that have no meaning with a graph of filters.
func (d *DecodeVideo) checkFilter() error {
	var errs []error
	for _, wrong := range []struct {
		is   bool
		name string
		why  string
	}{
		{d.Damaged == "keep", "damaged", `is "keep", but a filter may look at several frames: leave one of them out`},
		{d.Aspect == "square", "aspect", `is "square", but a filter makes pixels of its own: end it with scale=iw*sar:ih,setsar=1`},
		{argument.OrElse(d.Clips, 1) > 1, "clips", "are several, but a filter may look at neighbours: video_clips makes a sample of each"},
	} {
		if wrong.is {
			errs = append(errs, recipe.Wrong(wrong.name, "%s", wrong.why))
		}
	}
	return errors.Join(errs...)
}

// Check implements [recipe.Args].
func (d *DecodeVideo) Check(in sample.Schema) (sample.Schema, error) {
	whole, err := d.Completed()
	if err != nil {
		return nil, err
	}
	var errs []error
	if _, err := whole.Clip(); err != nil {
		errs = append(errs, fmt.Errorf("is not possible: %w", err))
	}
	errs = append(errs, whole.checkFields(in))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}

	out := in.With(whole.To, whole.Type())
	// The clip takes the place of its file, unless a later step reads that, too.
	if !d.KeepsFile() {
		out = in.Replace(d.FieldIn(in), sample.Field{Name: whole.To, Type: whole.Type()})
	}
	if d.Times != "" {
		out = out.With(d.Times, whole.TimesType())
	}
	if d.Window != "" {
		out = out.With(d.Window, whole.WindowType())
	}
	if d.Matrix != "" {
		out = out.With(d.Matrix, MatrixType)
	}
	if d.Mask != "" {
		out = out.With(d.Mask, whole.MaskType())
	}
	return out, nil
}

// Type returns the type of the field with clips. Planes have no axes, as they are no
// image.
func (d *DecodeVideo) Type() sample.Type {
	f := d.Form()
	if !d.Planes() {
		return recipe.ImageType(f)
	}
	return sample.TensorType(f.DType, f.Shape()...)
}

// MatrixType is that of the field Matrix.
var MatrixType = sample.TensorType(tensor.Int64, 4)

// TimesType returns the type of the field Times.
func (d *DecodeVideo) TimesType() sample.Type { return d.ofFrames(tensor.Float64) }

// KeepsFile reports whether the field with the file stays.
func (d *DecodeVideo) KeepsFile() bool { return d.Window != "" }

// WindowType returns the type of the field Window.
func (d *DecodeVideo) WindowType() sample.Type {
	if f := d.Form(); f.Clips != 0 {
		return sample.TensorType(tensor.Float64, f.Clips, 2)
	}
	return sample.TensorType(tensor.Float64, 2)
}

// MaskType returns the type of the field Mask.
func (d *DecodeVideo) MaskType() sample.Type { return d.ofFrames(tensor.Bool) }

// ofFrames is the type of a field with a value for each frame.
func (d *DecodeVideo) ofFrames(is tensor.DType) sample.Type {
	f := d.Form()
	if f.Clips != 0 {
		return sample.TensorType(is, f.Clips, f.Frames)
	}
	return sample.TensorType(is, f.Frames)
}

// seconds tells whether numbers of a type can be times.
func seconds(d tensor.DType) bool {
	switch d {
	case tensor.Bool, tensor.Float16, tensor.BFloat16:
		return false
	}
	return true
}

func (d *DecodeVideo) checkFields(in sample.Schema) error {
	var errs []error
	field := d.FieldIn(in)
	switch i := in.Find(field); {
	case i < 0 && d.Field == "":
		errs = append(errs, fmt.Errorf("has no file to decode, only %v: begin with files(…, content=False), or set field", in))
	case i < 0:
		errs = append(errs, recipe.Wrong("field", "is %q: the samples have the fields %s", field, words.List(in.Names())))
	case in[i].Type.Kind != sample.Text && in[i].Type.Kind != sample.Bytes || len(in[i].Type.Shape) > 0:
		errs = append(errs, recipe.Wrong("field", "is %q, which is %v: must be text, the path of a file, "+
			"or bytes, its content", field, in[i].Type))
	}
	if d.At != "" {
		i := in.Find(d.At)
		switch {
		case i < 0:
			errs = append(errs, recipe.Wrong("at", "is %q: the samples have the fields %s", d.At, words.List(in.Names())))
		case in[i].Type.Kind != sample.Tensor || len(in[i].Type.Shape) > 0 || !seconds(in[i].Type.DType):
			errs = append(errs, recipe.Wrong("at", "is %q, which is %v: must be a field with one number of seconds", d.At, in[i].Type))
		}
	}
	var taken []string
	for _, name := range []struct{ argument, is string }{
		{"to", d.To}, {"times", d.Times}, {"window", d.Window}, {"matrix", d.Matrix}, {"mask", d.Mask},
	} {
		switch {
		case name.is == "":
		case in.Find(name.is) >= 0 && (name.is != field || d.KeepsFile()):
			errs = append(errs, recipe.Wrong(name.argument, "is %q: the samples have a field of this name already", name.is))
		case slices.Contains(taken, name.is):
			errs = append(errs, recipe.Wrong(name.argument, "is %q, the name of another field", name.is))
		}
		taken = append(taken, name.is)
	}
	return errors.Join(errs...)
}

// Traits implements [recipe.Traited].
func (*DecodeVideo) Traits() recipe.Traits {
	return recipe.Traits{Content: "video", Suffixes: video.Suffixes()}
}

// Decoding implements [recipe.Decoder].
func (d *DecodeVideo) Decoding(in sample.Schema) recipe.Decoding {
	return recipe.Decoding{Field: d.FieldIn(in), To: d.To, Options: d.Options(), Form: d.Form(), Besides: true}
}
