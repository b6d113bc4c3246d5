package media

import (
	"fmt"
	"math"
)

// Affine turns, shears, scales and moves an image at once, as torchvision's affine does:
// about its middle or Center, first sheared, then turned clockwise, and moved last.
type Affine struct {
	Angle     float64     `json:"angle,omitempty"`    // in degrees, clockwise
	Translate [2]float64  `json:"translate,omitzero"` // across and down, in pixels
	Scale     float64     `json:"scale,omitempty"`    // above 0; 0 stands for 1
	Shear     [2]float64  `json:"shear,omitzero"`     // along x and along y, in degrees
	Filter    Filter      `json:"filter,omitzero"`    // Nearest, Bilinear or Bicubic
	Center    *[2]float64 `json:"center,omitempty"`
	Fill      [4]uint16   `json:"fill,omitzero"`
}

// Check refuses parameters beyond their bounds.
func (o Affine) Check() error {
	o = o.withDefaults()
	for _, v := range o.Translate {
		if !(math.Abs(v) <= MaxPixels) {
			return fmt.Errorf("%w: affine: translate %v must be in pixels", ErrGeometry, o.Translate)
		}
	}
	x, y := [2]float64{o.Shear[0], o.Shear[0]}, [2]float64{o.Shear[1], o.Shear[1]}
	return checkAffine("affine", [2]float64{o.Angle, o.Angle}, [2]float64{o.Scale, o.Scale}, x, y, o.Center, o.Filter)
}

func (o Affine) withDefaults() Affine {
	if o.Scale == 0 {
		o.Scale = 1
	}
	return o
}

func checkAffine(name string, degrees, scale, shearX, shearY [2]float64, center *[2]float64, f Filter) error {
	if err := checkAngles(name, degrees); err != nil {
		return err
	}
	if !(scale[0] >= leastScale && scale[0] <= scale[1] && scale[1] <= 1/leastScale) {
		return fmt.Errorf("%w: %s: scale %v must be two rising numbers from %v to %v", ErrGeometry, name, scale, leastScale, 1/leastScale)
	}
	for _, s := range [...][2]float64{shearX, shearY} {
		if !(s[0] > -90 && s[0] <= s[1] && s[1] < 90) {
			return fmt.Errorf("%w: %s: shear %v must be two rising numbers between -90 and 90 degrees", ErrGeometry, name, s)
		}
	}
	if err := checkCenter(name, center); err != nil {
		return err
	}
	return f.checkWarp(name)
}

// leastScale keeps points of the result within the range of whole numbers.
const leastScale = 1e-4

// Result tells the form after the operation.
func (o Affine) Result(in Form) (Form, error) {
	if err := checkFill("affine", in, o.Fill); err != nil {
		return in, err
	}
	return in, in.checkPixels("affine")
}

func (o Affine) name() string { return "affine" }

func (o Affine) place(p *Plan, _ uint64, _ Rand) error {
	o = o.withDefaults()
	is := Size{p.Height, p.Width}
	p.warp(Warp{Map: o.back(is), Filter: o.Filter}, is, o.Fill)
	return nil
}

// back returns the map from the result, as torchvision computes it: of the product
// T·C·R·Shear·Scale·C⁻¹ the inverse.
func (o Affine) back(of Size) Map {
	cx, cy := float64(of.Width)*.5, float64(of.Height)*.5
	if o.Center != nil {
		cx, cy = o.Center[0], o.Center[1]
	}
	sin, cos := sinCos(o.Angle)
	sinX, cosX := sinCos(o.Shear[0])
	_, cosY := sinCos(o.Shear[1])
	sinOf, cosOf := sinCos(o.Angle - o.Shear[1])
	tan := sinX / cosX
	a := cosOf / cosY
	b := float64(-cosOf*tan/cosY) - sin
	c := sinOf / cosY
	d := float64(-sinOf*tan/cosY) + cos
	m := Map{d / o.Scale, -b / o.Scale, 0, -c / o.Scale, a / o.Scale, 0, 0, 0, 1}
	m[2], m[5] = m.At(-cx-o.Translate[0], -cy-o.Translate[1])
	m[2], m[5] = m[2]+cx, m[5]+cy
	return m
}

// RandomAffine is Affine with numbers that are drawn evenly between bounds. A translation
// is of whole pixels, up to shares of the width and height both ways.
type RandomAffine struct {
	Degrees   [2]float64    `json:"degrees"`
	Translate [2]float64    `json:"translate,omitzero"` // of the width and of the height, from 0 to 1
	Scale     [2]float64    `json:"scale,omitzero"`     // zero bounds stand for 1
	Shear     [2][2]float64 `json:"shear,omitzero"`     // along x and along y
	Filter    Filter        `json:"filter,omitzero"`
	Center    *[2]float64   `json:"center,omitempty"`
	Fill      [4]uint16     `json:"fill,omitzero"`
}

// Check refuses parameters beyond their bounds.
func (o RandomAffine) Check() error {
	o = o.withDefaults()
	for _, v := range o.Translate {
		if !(v >= 0 && v <= 1) {
			return fmt.Errorf("%w: random_affine: translate %v must be shares from 0 to 1", ErrGeometry, o.Translate)
		}
	}
	return checkAffine("random_affine", o.Degrees, o.Scale, o.Shear[0], o.Shear[1], o.Center, o.Filter)
}

func (o RandomAffine) withDefaults() RandomAffine {
	if o.Scale == [2]float64{} {
		o.Scale = [2]float64{1, 1}
	}
	return o
}

// Result tells the form after the operation.
func (o RandomAffine) Result(in Form) (Form, error) {
	if err := checkFill("random_affine", in, o.Fill); err != nil {
		return in, err
	}
	return in, in.checkPixels("random_affine")
}

func (o RandomAffine) name() string { return "random_affine" }

// place uses draw 0 for the angle, 1 and 2 for the translation, 3 for the scale, and 4
// and 5 for the shear.
func (o RandomAffine) place(p *Plan, id uint64, r Rand) error {
	o = o.withDefaults()
	does := Affine{Angle: evenly(o.Degrees, id, r, 0), Scale: evenly(o.Scale, id, r, 3), Filter: o.Filter, Center: o.Center, Fill: o.Fill}
	for k, side := range [...]int{p.Width, p.Height} {
		most := float64(o.Translate[k] * float64(side))
		does.Translate[k] = math.RoundToEven(evenly([2]float64{-most, most}, id, r, uint32(1+k)))
		does.Shear[k] = evenly(o.Shear[k], id, r, uint32(4+k))
	}
	if p.tells() {
		p.tell(map[string]any{"angle": does.Angle, "dx": int(does.Translate[0]), "dy": int(does.Translate[1]),
			"scale": does.Scale, "shear_x": does.Shear[0], "shear_y": does.Shear[1]})
	}
	return does.place(p, id, r)
}
