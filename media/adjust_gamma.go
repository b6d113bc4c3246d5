package media

import (
	"fmt"
	"math"
)

// AdjustGamma raises every value but alpha, as a share of 255, to a power, and multiplies
// it: above 1, Gamma makes an image darker.
type AdjustGamma struct {
	Gamma float64 `json:"gamma"` // at least 0
	Gain  float64 `json:"gain"`  // likewise
}

// Check refuses parameters beyond their bounds.
func (o AdjustGamma) Check() error {
	if !(o.Gamma >= 0 && o.Gamma <= math.MaxFloat32) || !(o.Gain >= 0 && o.Gain <= math.MaxFloat32) {
		return fmt.Errorf("%w: adjust_gamma by %v with a gain of %v: must be numbers from 0 on", ErrGeometry, o.Gamma, o.Gain)
	}
	return nil
}

// Result tells the form after the operation.
func (o AdjustGamma) Result(in Form) (Form, error) { return in, in.checkByteColors("adjust_gamma") }

func (o AdjustGamma) name() string { return "adjust_gamma" }

func (o AdjustGamma) place(p *Plan, _ uint64, _ Rand) error {
	p.pass(Pass{Effect: &adjustGamma, Args: Args{float32(o.Gamma), float32(o.Gain)}})
	return nil
}

// adjustGamma has the power and the factor as its numbers, and is the table of
// torchvision's for Pillow images.
var adjustGamma = tableEffect("adjust_gamma",
	func(a *Args) error { return AdjustGamma{float64(a[0]), float64(a[1])}.Check() },
	func(a *Args) (t Table) {
		for v := range t {
			x := 255.999 * float64(a[1]) * math.Pow(float64(v)/255, float64(a[0]))
			t[v] = uint8(min(x, 255))
		}
		return t
	})
