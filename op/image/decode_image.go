package image

import (
	"errors"
	"io"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[DecodeImage]("decode_image", recipe.Between,
	"Decode a compressed image to pixels, by default 'uint8 [height, width, 3]'.").Explained(`
JPEG, PNG, WebP, AVIF, GIF, BMP and TIFF are recognized by content, not by name. ICC profiles are ignored.`).
	Called("*, field, to, mode, orient, color, background, dtype, frame").
	Begins(recipe.Beginning{Of: "image", Steps: func(io.Reader) string {
		return `  - decode_image
  - random_resized_crop: {size: 224}
  - random_flip
  - normalize: {mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}
  - layout: {layout: NCHW}
  - batch: {size: 64}
`
	}}))

// DecodeImage are the arguments of the operation decode_image.
type DecodeImage struct {
	Field      string  `json:"field,omitempty" default:"bytes"`
	To         string  `json:"to,omitempty" default:"image" doc:"the field for the pixels"`
	Mode       string  `json:"mode,omitempty" choices:"exact,fast" default:"exact"`
	Orient     *bool   `json:"orient,omitempty" default:"true" doc:"turn and mirror as EXIF says"`
	Color      string  `json:"color,omitempty" choices:"rgb,rgba,gray,mask" default:"rgb"`
	Background *[3]int `json:"background,omitempty"`
	DType      string  `json:"dtype,omitempty" choices:"uint8,uint16" default:"uint8"`
	MaxPixels  *int    `json:"max_pixels,omitempty"`
	Frame      *int    `json:"frame,omitempty" choices:"0" doc:"only 0: the first frame of an animation or page of a document"`
}

// Docs implements [argument.Documented].
func (*DecodeImage) Docs() map[string]string {
	return map[string]string{
		"field": "the field with the compressed image, which is removed; by default where 'files' put it",
		"mode": "exact: the pixels of Pillow and torchvision, to one level; fast: JPEGs shrunk to half or less " +
			"are decoded at a smaller scale; docs/performance.md shows how far pixels differ",
		"color": "rgb: without alpha, which is dropped as by Pillow if there is no background; gray: likewise; " +
			"rgba: with it, other images are opaque; mask: the stored palette or gray values, such as classes, " +
			"[height, width], never mixed; colour images are bad samples",
		"background": "[red, green, blue], 0 to 255, shown through transparency; by default transparency is " +
			"dropped or kept as 'color' says",
		"dtype": "uint8: the upper 8 of 16 bits; uint16: all bits, and an 8-bit v becomes 257·v, but not in a " +
			"mask",
		"max_pixels": "largest image decoded, in pixels; by default 178,956,970, which is also the most. Larger " +
			"ones are bad samples and allocate no memory",
	}
}

// Complete implements [recipe.Completer].
func (d DecodeImage) Complete() recipe.Args {
	if d.MaxPixels != nil && *d.MaxPixels == media.MaxPixels {
		d.MaxPixels = nil
	}
	if d.Frame != nil && *d.Frame == 0 {
		d.Frame = nil
	}
	return &d
}

// Identity implements [recipe.Identifier].
func (d DecodeImage) Identity(recipe.Recipe) recipe.Args {
	d.Color, d.DType = argument.Unless(d.Color, "rgb"), argument.Unless(d.DType, "uint8")
	return &d
}

// firstFrame is why arguments are refused that ask for others.
const firstFrame = "only the first frame is decoded"

// Refused implements [recipe.Refuser].
func (*DecodeImage) Refused() map[string]string {
	return map[string]string{"frames": firstFrame, "num_frames": firstFrame, "page": firstFrame, "pages": firstFrame, "index": firstFrame}
}

// Options returns the decoder's options. The arguments must be complete and checked.
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

// Check implements [recipe.Args].
func (d *DecodeImage) Check(in sample.Schema) (sample.Schema, error) {
	errs := []error{argument.CheckTags(d)}
	if d.Frame != nil {
		errs = append(errs, recipe.Wrong("frame", "is %d: %s: must be 0", *d.Frame, firstFrame))
	}

	if b := d.Background; b != nil {
		if min(b[0], b[1], b[2]) < 0 || max(b[0], b[1], b[2]) > 255 {
			errs = append(errs, recipe.Wrong("background", "is %v: must be three numbers from 0 to 255", argument.Written(b)))
		}
		if d.Color == "rgba" {
			errs = append(errs, recipe.Wrong("background", `is %v, but color="rgba" keeps what is transparent`, argument.Written(b)))
		}
		if d.Color == "mask" {
			errs = append(errs, recipe.Wrong("background", `is %v, but color="mask" has no colours`, argument.Written(b)))
		}
	}
	if n := d.MaxPixels; n != nil && (*n < 1 || *n > media.MaxPixels) {
		errs = append(errs, recipe.Wrong("max_pixels", "is %d: must be from 1 to %d", *n, media.MaxPixels))
	}
	errs = append(errs, recipe.CheckDecoding(in, d.Field, d.To, false))
	return in.Replace(d.Field, sample.Field{Name: d.To, Type: recipe.ImageType(d.Options().Form())}), errors.Join(errs...)
}

// Traits implements [recipe.Traited].
func (*DecodeImage) Traits() recipe.Traits {
	return recipe.Traits{Content: "image", Suffixes: media.Suffixes()}
}

// Decoding implements [recipe.Decoder].
func (d *DecodeImage) Decoding(sample.Schema) recipe.Decoding {
	o := d.Options()
	return recipe.Decoding{Field: d.Field, To: d.To, Options: o, Form: o.Form()}
}
