package media

import (
	"fmt"
	"math"

	"github.com/headrace/headrace/tensor"
)

// Normalize turns values into floating point: of 8 bits v becomes (v/255 - Mean) / Std,
// of 16 bits (v/65535 - Mean) / Std. Mean and Std are rounded to float32, and so is the
// result of each of the three operations; these are torchvision's numbers, bit for bit.
// Float16 and BFloat16 are rounded from them to the nearest, halves to even.
//
// Of a gray image all three means must be equal, and all three deviations: it has one
// channel.
type Normalize struct {
	Mean  [3]float64   `json:"mean"`
	Std   [3]float64   `json:"std"`
	DType tensor.DType `json:"dtype,omitzero"` // Float32, which Invalid means, Float16 or BFloat16
}

// Check returns what is wrong with the parameters.
func (o Normalize) Check() error {
	out := o.output(HWC)
	if d := out.DType; d != tensor.Float32 && d != tensor.Float16 && d != tensor.BFloat16 {
		return fmt.Errorf("%w: normalize to %v: must be float32, float16 or bfloat16", ErrGeometry, o.DType)
	}
	for c := range 3 {
		if !(o.Std[c] > 0 && o.Std[c] <= math.MaxFloat32) || math.IsNaN(o.Mean[c]) {
			return fmt.Errorf("%w: normalize: mean %v, std %v must be numbers, and std above 0", ErrGeometry, o.Mean, o.Std)
		}
		if !out.finite(c) {
			return fmt.Errorf("%w: normalize: mean %v, std %v make numbers that %v cannot hold", ErrGeometry, o.Mean, o.Std, out.DType)
		}
	}
	return nil
}

// Result tells the form after the operation.
func (o Normalize) Result(in Form) (Form, error) {
	switch {
	case in.DType != tensor.Uint8 && in.DType != tensor.Uint16:
		return in, fmt.Errorf("%w: normalize of %v: only layout may follow normalize", ErrGeometry, in)
	case in.Color == Mask:
		return in, in.checkColors("normalize")
	case in.Color == RGBA:
		return in, fmt.Errorf("%w: normalize of rgba: there is no mean for alpha", ErrUnsupported)
	case in.Color == Gray && (o.Mean != [3]float64{o.Mean[0], o.Mean[0], o.Mean[0]} || o.Std != [3]float64{o.Std[0], o.Std[0], o.Std[0]}):
		return in, fmt.Errorf("%w: normalize of gray with mean %v, std %v: has one channel", ErrUnsupported, o.Mean, o.Std)
	}
	in.DType = o.output(HWC).DType
	return in, nil
}

func (o Normalize) name() string { return "normalize" }

func (o Normalize) place(p *Plan, _ uint64, _ Rand) error {
	p.Output = o.output(p.Output.Layout)
	return nil
}

func (o Normalize) output(l Layout) Output {
	out := Output{DType: o.DType, Layout: l}
	if out.DType == tensor.Invalid {
		out.DType = tensor.Float32
	}
	for c := range 3 {
		out.Mean[c], out.Std[c] = float32(o.Mean[c]), float32(o.Std[c])
	}
	return out
}
