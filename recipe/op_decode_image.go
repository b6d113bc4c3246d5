package recipe

import (
	"errors"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var decodeImageOp = NewOp[DecodeImage]("decode_image", Between, "Decode a compressed image to pixels, by default 'uint8 [height, width, 3]'.").Explained(`
JPEG, PNG, WebP, AVIF, GIF, BMP and TIFF are recognized by content, not by name. ICC profiles are ignored.`).
	Called("*, field, to, mode, orient, color, background, dtype, frame")

// DecodeImage are the arguments of the operation decode_image.
type DecodeImage struct {
	Field      string  `json:"field,omitempty" default:"bytes" doc:"the field with the compressed image, which is removed; by default where 'files' put it"`
	To         string  `json:"to,omitempty" default:"image" doc:"the field for the pixels"`
	Mode       string  `json:"mode,omitempty" choices:"exact,fast" default:"exact" doc:"exact: the pixels of Pillow and torchvision, to one level; fast: JPEGs shrunk to half or less are decoded at a smaller scale; docs/performance.md shows how far pixels differ"`
	Orient     *bool   `json:"orient,omitempty" default:"true" doc:"turn and mirror as EXIF says"`
	Color      string  `json:"color,omitempty" choices:"rgb,rgba,gray,mask" default:"rgb" doc:"rgb: without alpha, which is dropped as by Pillow if there is no background; gray: likewise; rgba: with it, other images are opaque; mask: the stored palette or gray values, such as classes, [height, width], never mixed; colour images are bad samples"`
	Background *[3]int `json:"background,omitempty" doc:"[red, green, blue], 0 to 255, shown through transparency; by default transparency is dropped or kept as 'color' says"`
	DType      string  `json:"dtype,omitempty" choices:"uint8,uint16" default:"uint8" doc:"uint8: the upper 8 of 16 bits; uint16: all bits, and an 8-bit v becomes 257·v, but not in a mask"`
	MaxPixels  *int    `json:"max_pixels,omitempty" doc:"largest image decoded, in pixels; by default 178,956,970, which is also the most. Larger ones are bad samples and allocate no memory"`
	Frame      *int    `json:"frame,omitempty" choices:"0" doc:"only 0: the first frame of an animation or page of a document"`
}

// Complete implements [Completer].
func (d DecodeImage) Complete() Args {
	if d.MaxPixels != nil && *d.MaxPixels == media.MaxPixels {
		d.MaxPixels = nil
	}
	if d.Frame != nil && *d.Frame == 0 {
		d.Frame = nil
	}
	return &d
}

// Identity implements [Identifier].
func (d DecodeImage) Identity(Recipe) Args {
	d.Color, d.DType = argument.Unless(d.Color, "rgb"), argument.Unless(d.DType, "uint8")
	return &d
}

// firstFrame is why arguments are refused that ask for others.
const firstFrame = "only the first frame is decoded"

// Refused implements [Refuser].
func (*DecodeImage) Refused() map[string]string {
	return map[string]string{"frames": firstFrame, "num_frames": firstFrame, "page": firstFrame, "pages": firstFrame, "index": firstFrame}
}

// Options are what the arguments, complete and checked, ask of a decoder.
func (d *DecodeImage) Options() media.Options {
	o := media.Options{Orient: *d.Orient}
	if d.Mode == "fast" {
		o.Mode = media.Fast
	}
	o.Color, _ = media.ParseColor(d.Color)
	if d.DType == "uint16" {
		o.DType = tensor.Uint16
	}
	if b := d.Background; b != nil {
		o.Background = &[3]uint8{uint8(b[0]), uint8(b[1]), uint8(b[2])}
	}
	if d.MaxPixels != nil {
		o.MaxPixels = *d.MaxPixels
	}
	return o
}

// Check implements [Args].
func (d *DecodeImage) Check(in sample.Schema) (sample.Schema, error) {
	errs := []error{argument.CheckTags(d)}
	if d.Frame != nil {
		errs = append(errs, Wrong("frame", "is %d: %s: must be 0", *d.Frame, firstFrame))
	}

	if b := d.Background; b != nil {
		if min(b[0], b[1], b[2]) < 0 || max(b[0], b[1], b[2]) > 255 {
			errs = append(errs, Wrong("background", "is %v: must be three numbers from 0 to 255", argument.Written(b)))
		}
		if d.Color == "rgba" {
			errs = append(errs, Wrong("background", `is %v, but color="rgba" keeps what is transparent`, argument.Written(b)))
		}
		if d.Color == "mask" {
			errs = append(errs, Wrong("background", `is %v, but color="mask" has no colours`, argument.Written(b)))
		}
	}
	if n := d.MaxPixels; n != nil && (*n < 1 || *n > media.MaxPixels) {
		errs = append(errs, Wrong("max_pixels", "is %d: must be from 1 to %d", *n, media.MaxPixels))
	}
	errs = append(errs, checkDecoding(in, d.Field, d.To, false))
	return in.Replace(d.Field, sample.Field{Name: d.To, Type: ImageType(d.Options().Form())}), errors.Join(errs...)
}

// checkDecoding says what is wrong with the field that an operation decodes, and with
// where the result goes. Some operations open a file themselves, by its path.
func checkDecoding(in sample.Schema, field, to string, opens bool) error {
	var errs []error
	takes := "a field of bytes"
	if opens {
		takes = "bytes, the content of a file, or text, its path"
	}
	i := in.Find(field)
	switch {
	case i < 0:
		errs = append(errs, Wrong("field", "is %q: the samples have the fields %s", field, words.List(in.Names())))
	case in[i].Type.Kind != sample.Bytes && (!opens || in[i].Type.Kind != sample.Text) || len(in[i].Type.Shape) > 0:
		errs = append(errs, Wrong("field", "is %q, which is %v: must be %s", field, in[i].Type, takes))
	}
	if to != field && in.Find(to) >= 0 {
		errs = append(errs, Wrong("to", "is %q: the samples have a field of this name already", to))
	}
	return errors.Join(errs...)
}

// Traits implements [Traited].
func (*DecodeImage) Traits() Traits { return Traits{Content: "image"} }

// Decoding implements [Decoder].
func (d *DecodeImage) Decoding(sample.Schema) Decoding {
	o := d.Options()
	return Decoding{Field: d.Field, To: d.To, Options: o, Form: o.Form()}
}
