//go:build cgo

package turbo

import (
	"headrace/internal/scratch"
	"headrace/media"
	"headrace/media/internal/samples"
	"headrace/tensor"
)

// others decodes images to other forms than RGB of 8 bits: whole, and a Runner does the
// rest.
var others = Whole(Decoder{})

// Whole makes a decoder for plans on any form of one for plans on RGB of 8 bits.
func Whole(d media.Decoder) media.Decoder { return media.Whole(pixels{d}) }

// pixels decodes whole images. It implements media.PixelDecoder.
type pixels struct{ d media.Decoder }

// Name returns that of the decoder.
func (p pixels) Name() string { return p.d.Name() }

// DecodePixels implements media.PixelDecoder.
func (p pixels) DecodePixels(dst media.Pixels, src []byte, info *media.Info) error {
	var stages [1]media.Stage
	whole := media.Rect{Width: info.Width, Height: info.Height}
	stages[0] = media.Stage{Crop: whole, Width: whole.Width, Height: whole.Height, Window: whole, Turn: 1}
	plan := media.Plan{Orientation: 1, Stages: stages[:], Width: whole.Width, Height: whole.Height, Output: media.Output{DType: tensor.Uint8}}
	if dst.Color == media.RGB && dst.DType == tensor.Uint8 {
		return p.d.DecodeInto(dst.Data, dst.Stride, src, info, &plan)
	}
	rgb, to := samples.Kind{Channels: 3}, samples.Kind{Channels: dst.Color.Channels(), Wide: dst.DType == tensor.Uint16}
	stride := whole.Width * rgb.PixelBytes()
	buffer := buffers.Take(stride * whole.Height)
	defer buffers.Give(buffer)
	if err := p.d.DecodeInto(*buffer, stride, src, info, &plan); err != nil {
		return err
	}
	for y := range whole.Height {
		samples.Convert(dst.Row(y), to, (*buffer)[y*stride:], rgb, whole.Width)
	}
	return nil
}

var buffers = scratch.Pool{Brief: true}
