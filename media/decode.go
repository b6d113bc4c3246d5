package media

import (
	"fmt"

	"github.com/headrace/headrace/tensor"
)

// Decode decodes an image of any format, carries out the steps, and returns what
// becomes of it, in new memory: for those who have one image, or few. The random
// operations among the steps ask r, which may be nil where there are none. Steps that
// make anything but whole numbers side by side are refused; MakePlan and a Decoder
// write those.
func Decode(data []byte, o Options, steps []Step, r Rand) (Pixels, error) {
	info, err := Probe(data)
	if err != nil {
		return Pixels{}, err
	}
	d, err := o.Decoder(info.Format)
	if err != nil {
		return Pixels{}, err
	}
	var plan Plan
	if err := MakePlan(info, o, steps, r, &plan); err != nil {
		return Pixels{}, err
	}
	f := plan.Form()
	if f.Layout != HWC || f.DType != tensor.Uint8 && f.DType != tensor.Uint16 {
		return Pixels{}, fmt.Errorf("%w: Decode of steps that make %v: they must make pixels", ErrGeometry, f)
	}
	p := Pixels{Data: make([]byte, f.RowBytes()*f.Height), Stride: f.RowBytes(), Width: f.Width,
		Height: f.Height, Color: f.Color, DType: f.DType}
	if err := d.DecodeInto(p.Data, p.Stride, data, &info, &plan); err != nil {
		return Pixels{}, err
	}
	return p, nil
}
