package recipe

import (
	"cmp"
	"errors"
	"math"

	"headrace/recipe/internal/argument"
	"headrace/sample"
	"headrace/tensor"
)

var decodeAudioOp = operation[DecodeAudio]("decode_audio", Between, "Decodes a recording (WAV), or a window of it, at any rate.")

// DecodeAudio are the arguments of the operation decode_audio.
type DecodeAudio struct {
	Field    string   `json:"field,omitempty" doc:"the field with the file, which it takes the place of; by default \"bytes\""`
	To       string   `json:"to,omitempty" doc:"the field with the samples; by default \"audio\""`
	Rate     *int     `json:"rate,omitempty" min:"1" max:"1000000" example:"16000" doc:"samples a second; by default as many as the file has"`
	Channels *int     `json:"channels,omitempty" min:"1" max:"256" example:"1" doc:"1: the mean of all channels; 2: left and right; by default the file's"`
	Duration *float64 `json:"duration,omitempty" min:"0.000001" max:"1000000" example:"10" doc:"the seconds of a window; by default all"`
	Start    string   `json:"start,omitempty" choices:"begin,center,random" doc:"where the window lies: \"begin\", the default, \"center\", or \"random\""`
	Offset   *float64 `json:"offset,omitempty" min:"0" max:"1000000" doc:"the second at which it begins, instead of start"`
	Short    string   `json:"short,omitempty" choices:"silence,repeat,error,keep" doc:"what becomes of recordings that are shorter than the window: \"silence\", the default, behind them; \"repeat\": they begin anew; \"error\": they are bad samples; \"keep\": they stay short"`
	DType    string   `json:"dtype,omitempty" choices:"float32,int16" doc:"\"float32\", the default, from -1 to 1, or \"int16\""`
	Layout   string   `json:"layout,omitempty" choices:"T,TC,CT" doc:"\"T\": one channel, the default where channels is 1; \"TC\", the default otherwise: the channels of a moment side by side; \"CT\": one channel behind the other"`
}

func (d DecodeAudio) complete() Args {
	d.Field, d.To = cmp.Or(d.Field, "bytes"), cmp.Or(d.To, "audio")
	d.Start, d.Short, d.DType = cmp.Or(d.Start, "begin"), cmp.Or(d.Short, "silence"), cmp.Or(d.DType, "float32")
	if d.Layout == "" {
		d.Layout = "TC"
		if d.Channels != nil && *d.Channels == 1 {
			d.Layout = "T"
		}
	}
	return &d
}

// Samples is how many of a channel a window has at a rate; -1: all that there are.
func (d *DecodeAudio) Samples(rate int) int64 {
	if d.Duration == nil {
		return -1
	}
	return SamplesOf(*d.Duration, rate)
}

// SamplesOf is how many samples begin within so many seconds, from the first on. Seconds
// are decimal numbers for people, so what is almost a whole number of samples is one.
func SamplesOf(seconds float64, rate int) int64 {
	return int64(math.Floor(seconds*float64(rate) + 1e-6))
}

// Type is that of the samples. The arguments must be complete and checked.
func (d *DecodeAudio) Type() sample.Type {
	dtype, _ := tensor.ParseDType(d.DType)
	length, channels := tensor.Unknown, tensor.Unknown
	if d.Rate != nil && d.Duration != nil && d.Short != "keep" {
		length = int(d.Samples(*d.Rate))
	}
	if d.Channels != nil {
		channels = *d.Channels
	}
	switch d.Layout {
	case "T":
		return sample.TensorType(dtype, length)
	case "CT":
		return sample.TensorType(dtype, channels, length)
	}
	return sample.TensorType(dtype, length, channels)
}

// Check implements [Args].
func (d *DecodeAudio) Check(in sample.Schema) (sample.Schema, error) {
	errs := []error{
		argument.Choice(d, "start", cmp.Or(d.Start, "begin")), argument.Choice(d, "short", cmp.Or(d.Short, "silence")),
		argument.Choice(d, "dtype", cmp.Or(d.DType, "float32")), argument.Choice(d, "layout", cmp.Or(d.Layout, "TC")),
		checkNumber("rate", d.Rate, 1, 1_000_000), checkNumber("channels", d.Channels, 1, 256),
		checkNumber("duration", d.Duration, 1e-6, 1e6), checkNumber("offset", d.Offset, 0, 1e6),
	}
	if d.Offset != nil && d.Start != "" && d.Start != "begin" {
		errs = append(errs, errors.New("has both offset and start: takes one of them"))
	}
	if d.Layout == "T" && (d.Channels == nil || *d.Channels != 1) {
		errs = append(errs, Wrong("layout", "is \"T\", which has one channel: say channels 1, or take \"TC\""))
	}
	if d.Duration == nil && (d.Start == "center" || d.Start == "random") {
		errs = append(errs, Wrong("start", "is %q, and all of the recording is taken: say duration", d.Start))
	}
	errs = append(errs, checkDecoding(in, d.Field, d.To))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}

	t := d.Type()
	if _, err := t.Shape.Bytes(t.DType); err != nil && t.Shape.Fixed() || t.Shape.Fixed() && t.Shape[0] == 0 {
		return nil, Wrong("duration", "is %v seconds, which are %v samples", *d.Duration, t.Shape)
	}
	return in.Replace(d.Field, sample.Field{Name: d.To, Type: t}), nil
}

// checkNumber refuses a number out of its bounds.
func checkNumber[T int | float64](name string, n *T, least, most T) error {
	if n != nil && !(*n >= least && *n <= most) {
		return Wrong(name, "is %v: takes a number from %v to %v", *n, least, most)
	}
	return nil
}
