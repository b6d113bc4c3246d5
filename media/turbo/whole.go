//go:build cgo

package turbo

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/samples"
	"github.com/headrace/headrace/tensor"
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
	plan := media.Plan{Orientation: 1, Stages: stages[:], Width: whole.Width, Height: whole.Height,
		Output: media.Output{DType: tensor.Uint8}}
	return samples.Decode(dst, samples.Kind{Channels: 3}, func(to []byte, stride int) error {
		return p.d.DecodeInto(to, stride, src, info, &plan)
	})
}
