package media

import (
	"fmt"

	"headrace/tensor"
)

// Adjust is one change of colours. What each computes is what Pillow's ImageEnhance and
// torchvision's functions for Pillow images compute, with 8 bits after every one. An
// alpha channel stays as it is.
type Adjust struct {
	Kind   AdjustKind
	Factor float32
}

// AdjustKind is what a change of colours does.
type AdjustKind uint8

// The changes of colours.
const (
	Brightness AdjustKind = iota // times Factor
	Contrast                     // away from the image's mean lightness by Factor
	Saturation                   // away from the pixel's own lightness by Factor
	Hue                          // round the circle of hues by Factor, of which 1 is the whole
	Grayscale                    // all channels become the lightness; there are as many as before
	ToGray                       // the lightness is the only channel left
)

var adjusts = [...]string{"brightness", "contrast", "saturation", "hue", "grayscale", "to gray"}

func (k AdjustKind) String() string {
	if int(k) >= len(adjusts) {
		return fmt.Sprintf("adjust(%d)", uint8(k))
	}
	return adjusts[k]
}

// Apply changes pixels in place and returns them: after ToGray, gray ones at the
// beginning of the same rows. Pixels of 16 bits can lose their colours and nothing
// else. It is the definition of what each change computes.
func (a Adjust) Apply(p Pixels) (Pixels, error) {
	if err := p.Check(); err != nil {
		return p, err
	}
	if err := a.check(p.Form()); err != nil {
		return p, err
	}
	switch a.Kind {
	case Brightness:
		blendAll(p, 0, a.Factor)
	case Contrast:
		blendAll(p, meanLightness(p), a.Factor)
	case Saturation:
		saturate(p, a.Factor)
	case Hue:
		turnHues(p, a.Factor)
	case Grayscale:
		grayOut(p)
	case ToGray:
		return toGray(p), nil
	}
	return p, nil
}

// check returns why pixels of this form cannot be changed so.
func (a Adjust) check(f Form) error {
	switch {
	case a.Kind > ToGray:
		return fmt.Errorf("%w: %v", ErrUnsupported, a.Kind)
	case f.DType != tensor.Uint8 && a.Kind < Grayscale:
		return fmt.Errorf("%w: %v of %v: must be uint8", ErrUnsupported, a.Kind, f.DType)
	case a.Factor-a.Factor != 0, a.Kind == Hue && (a.Factor < -0.5 || a.Factor > 0.5):
		return fmt.Errorf("%w: %v by %v", ErrGeometry, a.Kind, a.Factor)
	}
	return nil
}

// checkColors returns why the plan's changes of colour and its output do not fit each
// other: MakePlan makes no such plan, but C trusts what it is given.
func (p *Plan) checkColors() error {
	f := p.Options.Form()
	for i := range p.Stages {
		for _, a := range p.Stages[i].Adjust {
			if err := a.check(f); err != nil {
				return err
			}
			if a.Kind == ToGray {
				f.Color = Gray
			}
		}
	}
	if f.Color != p.Color {
		return fmt.Errorf("%w: a plan for %v whose stages leave %v", ErrGeometry, p.Color, f.Color)
	}
	return p.Output.check(f.Color, f.DType)
}

// adjust changes the colours of the image as it is so far. What changes nothing is
// left out.
func (p *Plan) adjust(a Adjust) {
	if p.Color == Gray && a.Kind >= Saturation || a.Factor == 1 && a.Kind <= Saturation {
		return
	}
	if a.Kind == ToGray {
		p.Color = Gray
	}
	s := p.last()
	s.Adjust = append(s.Adjust, a)
}
