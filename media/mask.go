package media

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/headrace/headrace/tensor"
)

// Decoder returns what decodes an image of this format as the options ask.
func (o Options) Decoder(format string) (Decoder, error) {
	d, err := DecoderFor(format)
	if own, ok := d.(interface{ InPlaceOf() Decoder }); ok && o.Library {
		d = own.InPlaceOf()
	}
	if o.Color == Mask && err == nil {
		d = maskDecoder{d}
	}
	return d, err
}

// OfferPalettes makes d what decodes the numbers of palettes of a format: into pixels
// whose colour is [Mask]. Packages in plain Go call it.
func OfferPalettes(format string, d PixelDecoder) { palettes.Store(format, d) }

var palettes sync.Map // of PixelDecoder, by format

// maskDecoder decodes masks, with what decodes the format otherwise.
type maskDecoder struct{ Decoder }

// DecodeInto implements Decoder. The whole mask is decoded, and the steps work on that.
func (d maskDecoder) DecodeInto(dst []byte, stride int, src []byte, info *Info, plan *Plan) error {
	if err := CheckTarget(dst, stride, plan); err != nil {
		return err
	}
	if err := plan.checkSource(info.Width, info.Height); err != nil {
		return err
	}
	wide := plan.Options.DType == tensor.Uint16
	switch {
	case info.Components != 1:
		return fmt.Errorf("%w: the mask is a %s of %d channels: must be gray or have a palette",
			ErrUnsupported, info.Format, info.Components)
	case info.Bits > 8 && !info.Palette && !wide:
		return fmt.Errorf(`%w: the mask has numbers of %d bits: decode it with dtype="uint16"`, ErrUnsupported, info.Bits)
	}

	mask := Pixels{Width: info.Width, Height: info.Height, Color: Mask, DType: tensor.Uint8}
	if info.Bits > 8 && !info.Palette {
		mask.DType = tensor.Uint16
	}
	mask.Stride = mask.Width * mask.PixelBytes()
	buffer := wholes.Take(2 * mask.Width * mask.Height) // as many as uint16 takes
	defer wholes.Give(buffer)
	mask.Data = (*buffer)[:mask.Stride*mask.Height]
	if err := d.numbers(mask, src, info); err != nil {
		return err
	}
	if wide && mask.DType == tensor.Uint8 {
		mask = widened(mask, *buffer)
	}
	return goRun(dst, stride, mask, plan, true)
}

// numbers decodes the mask as it is stored.
func (d maskDecoder) numbers(mask Pixels, src []byte, info *Info) error {
	// Gray of 12 bits is scaled in images, and is not in masks.
	if info.Palette || info.Format == TIFF {
		p, ok := palettes.Load(info.Format)
		if !ok {
			return fmt.Errorf("%w: the palette of a %s as a mask", ErrUnsupported, info.Format)
		}
		return p.(PixelDecoder).DecodePixels(mask, src, info)
	}
	var plan Plan
	if err := MakePlan(*info, Options{Color: Gray, DType: mask.DType}, nil, nil, &plan); err != nil {
		return err
	}
	return d.Decoder.DecodeInto(mask.Data, mask.Stride, src, info, &plan)
}

// widened makes numbers of 16 bits of those of 8, from the last one on, in memory that
// they begin.
func widened(mask Pixels, memory []byte) Pixels {
	n := mask.Width * mask.Height
	for i := n - 1; i >= 0; i-- {
		binary.NativeEndian.PutUint16(memory[2*i:], uint16(memory[i]))
	}
	mask.Data, mask.Stride, mask.DType = memory[:2*n], 2*mask.Width, tensor.Uint16
	return mask
}
