package media

import (
	"fmt"
	"math"
)

// ColorJitter changes brightness, contrast, saturation and hue of an image, each by a
// factor between two bounds, in random order. What has zero bounds is left out, as is
// what has bounds that change nothing: two ones, for hue two zeros. (A factor that is
// always 0 has the bounds 0 and [math.SmallestNonzeroFloat64].)
//
// With P, an image is changed with that probability, and otherwise left as it is. The
// changes are those that are made without P.
//
// Of a gray image only brightness and contrast change; one of 16 bits is refused.
type ColorJitter struct {
	Brightness [2]float64 `json:"brightness,omitzero"` // of numbers from 0 on; 1 changes nothing
	Contrast   [2]float64 `json:"contrast,omitzero"`   // the same
	Saturation [2]float64 `json:"saturation,omitzero"` // the same
	Hue        [2]float64 `json:"hue,omitzero"`        // of turns round the circle of hues, from -0.5 to 0.5
	P          *float64   `json:"p,omitempty"`         // nil: always
}

// JitterAround are the bounds that a single number means, as torchvision reads it:
// from 1-x to 1+x, but not below 0.
func JitterAround(x float64) [2]float64 { return [2]float64{max(0, 1-x), 1 + x} }

// Check returns what is wrong with the parameters.
func (o ColorJitter) Check() error {
	for _, c := range []struct {
		name            string
		bounds          [2]float64
		lowest, highest float64
	}{
		{"brightness", o.Brightness, 0, math.MaxFloat32},
		{"contrast", o.Contrast, 0, math.MaxFloat32},
		{"saturation", o.Saturation, 0, math.MaxFloat32},
		{"hue", o.Hue, -0.5, 0.5},
	} {
		if !(c.lowest <= c.bounds[0] && c.bounds[0] <= c.bounds[1] && c.bounds[1] <= c.highest) {
			return fmt.Errorf("%w: color_jitter: %s %v must be two rising numbers in [%g,%g]",
				ErrGeometry, c.name, c.bounds, c.lowest, c.highest)
		}
	}
	if o.P != nil {
		return checkChance("color_jitter", *o.P)
	}
	return nil
}

// Result tells the form after the operation.
func (o ColorJitter) Result(in Form) (Form, error) {
	return in, in.checkByteColors("color_jitter")
}

// place uses draws 0 to 2 for the order and 3 to 6 for brightness, contrast, saturation
// and hue, whichever are left out; with P also draw 7, for whether to change anything.
func (o ColorJitter) name() string { return "color_jitter" }

func (o ColorJitter) place(p *Plan, id uint64, r Rand) error {
	bounds := [4][2]float64{Brightness: o.Brightness, Contrast: o.Contrast, Saturation: o.Saturation, Hue: o.Hue}
	var told map[string]any
	if p.tells() {
		told = map[string]any{"order": []string{}}
		p.tell(told)
	}
	if o.P != nil {
		applied := r.Float64(id, 7) < *o.P
		if told != nil {
			told["applied"] = applied
		}
		if !applied {
			return nil
		}
	}
	for _, kind := range jitterOrder(id, r) {
		b := bounds[kind]
		if b == [2]float64{} || kind != Hue && b == [2]float64{1, 1} {
			continue
		}
		// The conversion keeps the compiler from fusing the multiplication with the
		// addition, which would give other numbers elsewhere.
		factor := b[0] + float64((b[1]-b[0])*r.Float64(id, 3+uint32(kind)))
		p.adjust(Adjust{kind, float32(factor)})
		if told != nil {
			told[kind.String()] = float64(float32(factor))
			told["order"] = append(told["order"].([]string), kind.String())
		}
	}
	return nil
}

// jitterOrder draws one of the 24 orders.
func jitterOrder(id uint64, r Rand) [4]AdjustKind {
	order := [4]AdjustKind{Brightness, Contrast, Saturation, Hue}
	for i := range 3 {
		j := i + below(r.Float64(id, uint32(i)), 4-i)
		order[i], order[j] = order[j], order[i]
	}
	return order
}
