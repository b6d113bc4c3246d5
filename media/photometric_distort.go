package media

import (
	"fmt"
	"math"
)

// RandomPhotometricDistort changes brightness, contrast, saturation and hue, and has
// colours change places, each with probability P. A factor is drawn between two bounds.
// Contrast comes before saturation and hue, or after them, as likely.
type RandomPhotometricDistort struct {
	Brightness [2]float64 `json:"brightness"` // of numbers from 0 on; 1 changes nothing
	Contrast   [2]float64 `json:"contrast"`   // the same
	Saturation [2]float64 `json:"saturation"` // the same
	Hue        [2]float64 `json:"hue"`        // of turns round the circle of hues, from -0.5 to 0.5
	P          float64    `json:"p"`
}

// Check refuses parameters beyond their bounds.
func (o RandomPhotometricDistort) Check() error {
	for kind, bounds := range o.bounds() {
		lowest, highest := 0.0, math.MaxFloat32
		if AdjustKind(kind) == Hue {
			lowest, highest = -0.5, 0.5
		}
		if !(lowest <= bounds[0] && bounds[0] <= bounds[1] && bounds[1] <= highest) {
			return fmt.Errorf("%w: random_photometric_distort: %v %v must be two rising numbers in [%g,%g]",
				ErrGeometry, AdjustKind(kind), bounds, lowest, highest)
		}
	}
	return checkChance("random_photometric_distort", o.P)
}

func (o RandomPhotometricDistort) bounds() [4][2]float64 {
	return [...][2]float64{Brightness: o.Brightness, Contrast: o.Contrast, Saturation: o.Saturation, Hue: o.Hue}
}

// Result tells the form after the operation.
func (o RandomPhotometricDistort) Result(in Form) (Form, error) {
	return in, in.checkByteColors("random_photometric_distort")
}

func (o RandomPhotometricDistort) name() string { return "random_photometric_distort" }

// place uses two draws for each of brightness, contrast, saturation and hue: whether, and
// the factor. 8 is for when contrast comes, 9 for whether colours change places, and 10
// for how.
func (o RandomPhotometricDistort) place(p *Plan, id uint64, r Rand) error {
	var told map[string]any
	if p.tells() {
		told = map[string]any{"order": []string{}}
		p.tell(told)
	}
	order := [4]AdjustKind{Brightness, Contrast, Saturation, Hue}
	if r.Float64(id, 8) >= 0.5 {
		order = [4]AdjustKind{Brightness, Saturation, Hue, Contrast}
	}

	bounds := o.bounds()
	for _, kind := range order {
		if r.Float64(id, 2*uint32(kind)) >= o.P {
			continue
		}
		b := bounds[kind]
		// The conversion keeps the compiler from fusing operations, as in ColorJitter.
		factor := float32(b[0] + float64((b[1]-b[0])*r.Float64(id, 2*uint32(kind)+1)))
		p.adjust(Adjust{kind, factor})
		if told != nil {
			told[kind.String()] = float64(factor)
			told["order"] = append(told["order"].([]string), kind.String())
		}
	}
	if r.Float64(id, 9) < o.P {
		places := channelOrders[below(r.Float64(id, 10), len(channelOrders))]
		if told != nil {
			told["channels"] = channelNames(places)
		}
		p.permute(places)
	}
	return nil
}
