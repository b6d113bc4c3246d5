package media

import (
	"fmt"

	"github.com/headrace/headrace/tensor"
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

// Pass is the change as a pass of a stage.
func (a Adjust) Pass() Pass {
	if a.Kind > ToGray {
		return Pass{Effect: &Effect{Name: a.Kind.String(), Check: func(*Args, Form) error { return a.check(Form{}) }}}
	}
	return Pass{Effect: &adjustEffects[a.Kind], Args: Args{a.Factor}}
}

// Adjust returns the change of colours that a pass is, if it is one.
func (s *Pass) Adjust() (a Adjust, ok bool) {
	for kind := range adjustEffects {
		if s.Effect == &adjustEffects[kind] {
			return Adjust{AdjustKind(kind), s.Args[0]}, true
		}
	}
	return a, false
}

// Apply changes pixels in place and returns them: after ToGray, gray ones at the
// beginning of the same rows. Pixels of 16 bits can lose their colours and nothing
// else.
func (a Adjust) Apply(p Pixels) (Pixels, error) {
	s := a.Pass()
	return s.Apply(p)
}

// adjustEffects are those of the changes of colours. None depends on where a pixel is.
var adjustEffects [ToGray + 1]Effect

func init() {
	apply := [...]func(p Pixels, factor float32){
		Brightness: func(p Pixels, factor float32) { blendAll(p, 0, factor) },
		Contrast:   func(p Pixels, factor float32) { blendAll(p, meanLightness(p), factor) },
		Saturation: saturate,
		Hue:        turnHues,
		Grayscale:  func(p Pixels, _ float32) { grayOut(p) },
	}
	for i := range adjustEffects {
		kind := AdjustKind(i)
		e := &adjustEffects[i]
		e.Name = kind.String()
		e.Check = func(a *Args, f Form) error { return Adjust{kind, a[0]}.check(f) }
		if kind == ToGray {
			e.Color = func(Color) Color { return Gray }
			e.Apply = func(_ *Args, p Pixels) Pixels { return toGray(p) }
			continue
		}
		if kind == Brightness {
			e.Table = func(a *Args) Table { return blendTable(0, a[0]) }
		}
		e.Apply = func(a *Args, p Pixels) Pixels {
			apply[kind](p, a[0])
			return p
		}
	}
	adjustEffects[Contrast].Reach = func(*Args) int { return Everywhere } // it goes by the mean of all pixels
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

// adjust changes the colours of the image as it is so far. What changes nothing is
// left out.
func (p *Plan) adjust(a Adjust) {
	if p.Color == Gray && a.Kind >= Saturation || a.Factor == 1 && a.Kind <= Saturation {
		return
	}
	p.pass(a.Pass())
}
