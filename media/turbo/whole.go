//go:build cgo

package turbo

import (
	"encoding/binary"

	"headrace/media"
	"headrace/tensor"
)

// others decodes pictures to other forms than RGB of 8 bits: whole, and a Runner does the rest.
var others = media.Whole(pixels{})

// pixels decodes whole pictures. It implements media.PixelDecoder.
type pixels struct{}

// Name returns "libjpeg-turbo".
func (pixels) Name() string { return Decoder{}.Name() }

// DecodePixels implements media.PixelDecoder.
func (pixels) DecodePixels(dst media.Pixels, src []byte, info *media.Info) error {
	var stages [1]media.Stage
	whole := media.Rect{Width: info.Width, Height: info.Height}
	stages[0] = media.Stage{Crop: whole, Width: whole.Width, Height: whole.Height, Window: whole, Turn: 1}
	plan := media.Plan{Orientation: 1, Stages: stages[:], Width: whole.Width, Height: whole.Height, Output: media.Output{DType: tensor.Uint8}}
	if dst.Color == media.RGB && dst.DType == tensor.Uint8 {
		return Decoder{}.DecodeInto(dst.Data, dst.Stride, src, info, &plan)
	}
	rgb := make([]byte, whole.Width*3*whole.Height)
	if err := (Decoder{}).DecodeInto(rgb, whole.Width*3, src, info, &plan); err != nil {
		return err
	}
	for y := range whole.Height {
		row, from := dst.Row(y), rgb[y*whole.Width*3:][:whole.Width*3]
		convertRow(row, from, dst.Color)
		if dst.DType == tensor.Uint16 {
			widen(row)
		}
	}
	return nil
}

// convertRow writes RGB pixels as those of a colour, of 8 bits.
func convertRow(dst, rgb []byte, c media.Color) {
	for ; len(rgb) > 0; rgb = rgb[3:] {
		r, g, b := rgb[0], rgb[1], rgb[2]
		switch c {
		case media.Gray:
			dst[0] = byte((19595*uint32(r) + 38470*uint32(g) + 7471*uint32(b) + 1<<15) >> 16)
			dst = dst[1:]
		case media.RGBA:
			dst[0], dst[1], dst[2], dst[3] = r, g, b, 255
			dst = dst[4:]
		default:
			dst = dst[copy(dst, rgb[:3]):]
		}
	}
}

// widen makes numbers of 16 bits, in the machine's order, of the bytes in the first half of a row.
func widen(row []byte) {
	for i := len(row)/2 - 1; i >= 0; i-- {
		binary.NativeEndian.PutUint16(row[2*i:], 257*uint16(row[i]))
	}
}
