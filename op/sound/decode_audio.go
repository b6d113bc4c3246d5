package sound

import (
	"cmp"
	"errors"
	"io"
	"math"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/sound"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[DecodeAudio]("decode_audio", recipe.Between,
	"Decode the audio of a file, or a window of it: WAV, FLAC, MP3, AAC, Opus, Vorbis, ALAC, AIFF, "+
		"and the audio of video files.").Explained(`
A window holds the same numbers as that slice of the whole recording, and costs the same in a file of any length.
After 'files(…, content=False)' little more than the window is read of WAV and FLAC. Encoder padding is cut off. The
resampler's passband ends at 0.913 of half the lower rate; from that half on it is 110 dB down.`,
	`words = hr.files("words")`,
	`words.decode_audio(16000, "mono", duration=1.0, start="random").batch(32)`).
	Called("rate, channels, duration, *, start, window, short, damaged, dtype, layout, stream").
	Begins(recipe.Beginning{Of: "recording", Steps: func(io.Reader) string {
		return `  - decode_audio: {rate: 16000, duration: 2.0, channels: 1}
  - log_mel
  - batch: {size: 64}
`
	}}))

// DecodeAudio are the arguments of the operation decode_audio.
type DecodeAudio struct {
	Field    string   `json:"field,omitempty"`
	To       string   `json:"to,omitempty" default:"audio" doc:"the field for the samples"`
	Stream   *int     `json:"stream,omitempty" min:"0" max:"255"`
	Rate     *int     `json:"rate,omitempty" min:"1" max:"1000000" example:"16000" doc:"samples per second; by default the file's"`
	Channels *int     `json:"channels,omitempty" min:"1" max:"256" example:"1"`
	Duration *float64 `json:"duration,omitempty" min:"0.000001" max:"1000000" example:"10" unit:"seconds"`
	Start    string   `json:"start,omitempty" choices:"begin,center,random" default:"begin" doc:"where the window is"`
	Offset   *float64 `json:"offset,omitempty" min:"0" max:"1000000" unit:"seconds" doc:"the second where it begins, instead of start"`
	Window   string   `json:"window,omitempty"`
	Short    string   `json:"short,omitempty" choices:"silence,repeat,error,keep" default:"silence"`
	Damaged  string   `json:"damaged,omitempty" choices:"error,keep" default:"error"`
	DType    string   `json:"dtype,omitempty" python:"a dtype" choices:"float32,int16" default:"float32"`
	Layout   string   `json:"layout,omitempty" choices:"T,TC,CT"`

	Format        string `json:"format,omitempty"`
	FormatOptions string `json:"format_options,omitempty" python:"options"`

	Filter         string `json:"filter,omitempty"`
	Decoder        string `json:"decoder,omitempty" doc:"FFmpeg's name of the decoder, as in 'libopus'; by default its usual one"`
	DecoderOptions string `json:"decoder_options,omitempty" python:"options" doc:"the decoder's options, as in 'drc_scale=0'"`
}

// Docs implements [argument.Documented].
func (*DecodeAudio) Docs() map[string]string {
	return map[string]string{
		"field":    "the field with the file's content or path, which is removed; by default where 'files' put it",
		"stream":   "which audio stream, from 0; by default the one marked as default, or the first",
		"channels": "1, in Python also '\"mono\"': the mean of all; 2: left and right; by default the file's",
		"duration": "length of the window in seconds; by default everything",
		"window": "instead of start: a field with the window's begin and end in seconds, float64 or float32 [2], " +
			"as 'decode_video(window=…)' writes it. With duration it has that length, wherever it ends. Time " +
			"counts from a video's first frame, or a recording's beginning; missing audio is silence",
		"short": "recordings shorter than the window: silence: appended; repeat: started again; error: bad " +
			"samples; keep: stay short, for 'bucket_batch' and 'pack'",
		"damaged": "error: a recording that is cut off or damaged makes a bad sample; keep: it has what is there, " +
			"and silence for packets that cannot be decoded; 'stats()[\"damaged_audio\"]' counts them",
		"dtype": "float32: from -1 to 1; int16: from -32768 to 32767",
		"format": "files are nothing but samples, of this format, by FFmpeg's name: 's16le', 'f32le', 'mulaw' and others; by " +
			"default the content tells",
		"format_options": "of raw samples: 'sample_rate=16000:channels=1'; by default rate and channels, 1 if that is not set",
		"filter": "a graph of FFmpeg filters for the window's samples, as in 'highpass=200,volume=2', before rate and channels are " +
			"made. With duration, what it makes is cut to that, and short is about less",
		"layout": "T: [time], the default with one channel; TC: [time, channels], the default otherwise; CT: " +
			"[channels, time]",
	}
}

// Complete implements [recipe.Completer].
func (d DecodeAudio) Complete() recipe.Args {
	if d.Layout == "" {
		d.Layout = "TC"
		if d.Channels != nil && *d.Channels == 1 {
			d.Layout = "T"
		}
	}
	return &d
}

// Choice is the decoder.
func (d *DecodeAudio) Choice() av.Choice {
	return av.Choice{Decoder: d.Decoder, Options: d.DecoderOptions}
}

// Samples returns the number of samples of a channel in a window, at a rate; -1: all of
// the recording.
func (d *DecodeAudio) Samples(rate int) int64 {
	if d.Duration == nil {
		return -1
	}
	return SamplesOf(*d.Duration, rate)
}

// SamplesOf returns the number of samples that begin within so many seconds, from the
// first on. Seconds are decimal numbers that people write, so almost a whole number of
// samples is one.
func SamplesOf(seconds float64, rate int) int64 {
	return int64(math.Floor(seconds*float64(rate) + 1e-6))
}

// Type returns the type of the samples. The arguments must be complete and checked.
func (d *DecodeAudio) Type() sample.Type {
	dtype, _ := tensor.ParseDType(d.DType)
	length, channels := tensor.Unknown, tensor.Unknown
	if d.Rate != nil && d.Duration != nil && d.Short != "keep" {
		length = int(d.Samples(*d.Rate))
	}
	if d.Channels != nil {
		channels = *d.Channels
	}
	if d.Layout == "CT" {
		return sample.TensorType(dtype, channels, length)
	}
	t := sample.TensorType(dtype, length)
	if d.Layout == "TC" {
		t = sample.TensorType(dtype, length, channels)
	}
	if d.Rate != nil {
		t.Rate = float64(*d.Rate)
	}
	return t
}

// Identity leaves out what recipes had no word for when states were saved with them.
func (d DecodeAudio) Identity(recipe.Recipe) recipe.Args {
	d.Damaged = argument.Unless(d.Damaged, "error")
	return &d
}

// Completed returns the arguments with their defaults, without those that name fields,
// for anyone who decodes outside of a recipe. It returns an error if they are wrong.
func (d *DecodeAudio) Completed() (*DecodeAudio, error) {
	full := recipe.Completed(d).(*DecodeAudio)
	return full, full.check()
}

// check checks what does not depend on the samples. The arguments must be complete.
func (d *DecodeAudio) check() error {
	errs := []error{argument.CheckTags(d)}
	if d.Offset != nil && d.Start != "begin" {
		errs = append(errs, errors.New("has both offset and start: give one of them"))
	}
	if d.Window != "" && (d.Offset != nil || d.Start != "begin" || d.Short != "silence") {
		errs = append(errs, recipe.Wrong("window", "says where the window is, and silence what is missing: leave out start and short"))
	}
	errs = append(errs, d.checkRaw())
	if d.Format != "" && d.Choice() != (av.Choice{}) {
		errs = append(errs, recipe.Wrong("decoder",
			"is for coded audio, but format is %q: leave decoder and decoder_options out", d.Format))
	}
	if d.Layout == "T" && (d.Channels == nil || *d.Channels != 1) {
		errs = append(errs, recipe.Wrong("layout", "is \"T\", which has one channel: set channels=1, or use \"TC\""))
	}
	if d.Duration == nil && (d.Start == "center" || d.Start == "random") {
		errs = append(errs, recipe.Wrong("start", "is %q, but all of the recording is read: set duration", d.Start))
	}
	return errors.Join(errs...)
}

// Check implements [recipe.Args].
func (d *DecodeAudio) Check(in sample.Schema) (sample.Schema, error) {
	full, err := d.Completed()
	field := full.FieldIn(in)
	if err := errors.Join(err, recipe.CheckDecoding(in, field, full.To, true), d.checkWindow(in)); err != nil {
		return nil, err
	}

	t := full.Type()
	if _, err := t.Shape.Bytes(t.DType); err != nil && t.Shape.Fixed() || t.Shape.Fixed() && t.Shape[0] == 0 {
		return nil, recipe.Wrong("duration", "is %v seconds, which are %v samples", *d.Duration, t.Shape)
	}
	return in.Replace(field, sample.Field{Name: full.To, Type: t}), nil
}

// checkWindow checks that the field with the window has two numbers.
func (d *DecodeAudio) checkWindow(in sample.Schema) error {
	if d.Window == "" {
		return nil
	}
	i := in.Find(d.Window)
	if i < 0 {
		return recipe.Wrong("window", "is %q: the samples have the fields %s", d.Window, words.List(in.Names()))
	}
	t := in[i].Type
	floats := t.Kind == sample.Tensor && (t.DType == tensor.Float32 || t.DType == tensor.Float64)
	if !floats || !t.Shape.Equal(tensor.Shape{2}) {
		return recipe.Wrong("window", "is %q, which is %v: must be float64 [2], begin and end in seconds; "+
			"where decode_video makes several clips, video_clips makes a sample of each", d.Window, t)
	}
	return nil
}

// FieldIn is the field that is decoded, of samples with these fields.
func (d *DecodeAudio) FieldIn(in sample.Schema) string {
	if d.Field == "" && in.Find("bytes") < 0 && in.Find("path") >= 0 {
		return "path"
	}
	return cmp.Or(d.Field, "bytes")
}

// Traits implements [recipe.Traited].
func (*DecodeAudio) Traits() recipe.Traits {
	return recipe.Traits{Content: "audio", Suffixes: sound.Suffixes()}
}

// Fills implements fuse.Filler.
func (d *DecodeAudio) Fills() bool { return d.Window == "" && d.Type().Fixed() }

// Opens implements [recipe.Opener].
func (d *DecodeAudio) Opens(in sample.Schema) bool {
	return in[in.Find(d.FieldIn(in))].Type.Kind == sample.Text
}
