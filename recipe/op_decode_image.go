package recipe

import (
	"errors"

	"headrace/sample"
	"headrace/tensor"
)

var decodeImageOp = Op{
	Name: "decode_image",
	Doc:  "Decodes a compressed image to RGB, uint8 [height, width, 3].",
	New:  func() Args { return new(DecodeImage) },
}

// DecodeImage are the arguments of the operation decode_image.
type DecodeImage struct {
	Field  string `json:"field,omitempty" doc:"the field with the compressed image, which it takes the place of; by default \"bytes\""`
	To     string `json:"to,omitempty" doc:"the field with the pixels; by default \"image\""`
	Mode   string `json:"mode,omitempty" doc:"\"exact\", the default: the pixels that Pillow and torchvision give, to one level"`
	Orient *bool  `json:"orient,omitempty" doc:"whether to turn and mirror the image as its EXIF orientation says; by default true"`
}

func (d DecodeImage) complete() Args {
	if d.Field == "" {
		d.Field = "bytes"
	}
	if d.To == "" {
		d.To = "image"
	}
	if d.Mode == "" {
		d.Mode = "exact"
	}
	if d.Orient == nil {
		d.Orient = new(true)
	}
	return &d
}

// Check implements [Args].
func (d *DecodeImage) Check(in sample.Schema) (sample.Schema, error) {
	var errs []error
	if d.Mode != "exact" {
		errs = append(errs, arg("mode", `is %q: takes "exact"`, d.Mode))
	}
	i := in.Find(d.Field)
	switch {
	case i < 0:
		errs = append(errs, arg("field", "is %q: the samples have the fields %s", d.Field, list(in.Names())))
	case in[i].Type.Kind != sample.Bytes:
		errs = append(errs, arg("field", "is %q, which is %v: takes a field of bytes", d.Field, in[i].Type))
	}
	if d.To != d.Field && in.Find(d.To) >= 0 {
		errs = append(errs, arg("to", "is %q: the samples have a field of this name already", d.To))
	}
	image := sample.TensorType(tensor.Uint8, tensor.Unknown, tensor.Unknown, 3)
	return in.Replace(d.Field, sample.Field{Name: d.To, Type: image}), errors.Join(errs...)
}
