package media

// Adjust is one change of colours. What each computes is what Pillow's ImageEnhance and torchvision's functions for Pillow images compute, with
// 8 bits after every one. An alpha channel stays as it is.
type Adjust struct {
	Kind   AdjustKind
	Factor float32
}

// AdjustKind is what a change of colours does.
type AdjustKind uint8

// The changes of colours.
const (
	Brightness AdjustKind = iota // times Factor
	Contrast                     // away from the picture's mean lightness by Factor
	Saturation                   // away from the pixel's own lightness by Factor
	Hue                          // round the circle of hues by Factor, of which 1 is the whole
	Grayscale                    // all channels become the lightness; there are as many as before
	ToGray                       // the lightness is the only channel left
)

// adjust changes the colours of the picture as it is so far. What changes nothing is left out.
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

// accept returns why the operation cannot come next in the plan.
func (p *Plan) accept(o Op) error {
	if err := o.Check(); err != nil {
		return err
	}
	_, err := o.Result(p.Form())
	return err
}
