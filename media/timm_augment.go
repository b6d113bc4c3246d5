package media

import (
	"fmt"
	"math"
	"slices"
)

// TimmAugment carries out Layers changes of a list of timm's, each with probability P.
// Their magnitude is drawn around one, from 0 to Most.
type TimmAugment struct {
	Layers     int       `json:"layers"`
	P          float64   `json:"p"`
	Magnitude  float64   `json:"magnitude"`
	Deviation  float64   `json:"deviation"` // above 100: evenly from 0 to Magnitude
	Most       float64   `json:"most"`
	Increasing bool      `json:"increasing"` // a greater magnitude always changes more
	Set        string    `json:"set"`        // "weights", "3a" or "3aw", which are increasing; "": the 15
	Filter     Filter    `json:"filter,omitzero"`
	Fill       [4]uint16 `json:"fill,omitzero"`
}

// Check refuses parameters beyond their bounds.
func (o TimmAugment) Check() error {
	if o.Layers < 0 || o.Layers > 8 {
		return fmt.Errorf("%w: rand_augment with n%d: must be from 0 to 8", ErrGeometry, o.Layers)
	}
	if _, known := timmSets[o.Set]; !known {
		return fmt.Errorf("%w: rand_augment with t%s", ErrGeometry, o.Set)
	}
	within := o.Magnitude >= 0 && o.Magnitude <= 1000 && o.Deviation >= 0
	if !(o.Most >= 0 && o.Most <= 10) || !within {
		return fmt.Errorf("%w: rand_augment with m%v, mstd%v and mmax%v", ErrGeometry, o.Magnitude, o.Deviation, o.Most)
	}
	if err := checkChance("rand_augment", o.P); err != nil {
		return err
	}
	return o.Filter.checkWarp("rand_augment")
}

// Result tells the form after the operation.
func (o TimmAugment) Result(in Form) (Form, error) { return policed("rand_augment", in, o.Fill) }

func (o TimmAugment) name() string { return "rand_augment" }

// timmChange is one of a list, and how likely it is.
type timmChange struct {
	change change
	weight float64
}

// timmSets are timm's lists, by the ends of their names. Of one with weights no change is
// carried out twice.
var timmSets = map[string][]timmChange{
	"": {
		{autoContrast, 0}, {equalizes, 0}, {inverts, 0}, {rotate, 0}, {posterizes, 0}, {solarizes, 0}, {solarizeAdds, 0}, {colored, 0},
		{contrast, 0}, {brightness, 0}, {sharpness, 0}, {shearX, 0}, {shearY, 0}, {translateX, 0}, {translateY, 0},
	},
	"3a": {{solarizes, 0}, {desaturates, 0}, {blurs, 0}},
	"3aw": {
		{solarizes, 6}, {desaturates, 6}, {blurs, 6}, {rotate, 3}, {shearX, 2}, {shearY, 2}, {posterizes, 1}, {autoContrast, 1},
		{colored, 1}, {sharpness, 1}, {contrast, 1}, {brightness, 1}, {equalizes, 1}, {inverts, 1},
	},
	"weights": {
		{rotate, 3}, {shearX, 2}, {shearY, 2}, {translateX, 1}, {translateY, 1}, {colored, 0.25}, {sharpness, 0.25}, {autoContrast, 0.25},
		{solarizes, 0.05}, {solarizeAdds, 0.05}, {contrast, 0.05}, {brightness, 0.05}, {equalizes, 0.05}, {posterizes, 0.05},
		{inverts, 0.05},
	},
}

// drawTimm draws a change by a number in [0,1), and takes it out of a list with weights.
func drawTimm(list []timmChange, u float64) (change, []timmChange) {
	if list[0].weight == 0 {
		return list[below(u, len(list))].change, list
	}
	weights := make([]float64, len(list))
	for i, c := range list {
		weights[i] = c.weight
	}
	i := weighted(weights, u)
	return list[i].change, slices.Delete(slices.Clone(list), i, i+1)
}

// place uses four draws for each change: which, whether, its magnitude, its sign.
func (o TimmAugment) place(p *Plan, id uint64, r Rand) error {
	told, list := []string{}, timmSets[o.Set]
	for i := range uint32(o.Layers) {
		var c change
		c, list = drawTimm(list, r.Float64(id, 4*i))
		if r.Float64(id, 4*i+1) >= o.P {
			continue
		}
		x := o.Magnitude
		if u := r.Float64(id, 4*i+2); o.Deviation > 100 {
			x = float64(x * u)
		} else if o.Deviation > 0 {
			x += float64(o.Deviation * normals()[below(u, 1<<noiseBits)])
		}
		x = min(max(x, 0), o.Most)
		by := o.amount(c, x, r.Float64(id, 4*i+3) < 0.5, Size{p.Height, p.Width})
		did, err := p.change(c, by, policy{o.Filter, o.Fill})
		if err != nil {
			return err
		}
		told = append(told, did)
	}
	if p.tells() {
		p.tell(map[string]any{"steps": told})
	}
	return nil
}

// amount returns the strength of a change at a magnitude from 0 to 10.
func (o TimmAugment) amount(c change, x float64, negative bool, is Size) float64 {
	sign, increasing := 1.0, o.Increasing || o.Set != ""
	if negative {
		sign = -1
	}
	switch c {
	case rotate:
		return sign * float64(3*x)
	case shearX, shearY:
		return sign * float64(0.03*x)
	case translateX:
		return sign * float64(float64(0.045*x)*float64(is.Width))
	case translateY:
		return sign * float64(float64(0.045*x)*float64(is.Height))
	case posterizes:
		if increasing {
			return 4 - math.Trunc(float64(0.4*x))
		}
		return math.Trunc(float64(0.4 * x))
	case solarizes:
		if increasing {
			return 256 - math.Trunc(float64(25.6*x))
		}
		return math.Trunc(float64(25.6 * x))
	case solarizeAdds:
		return min(128, math.Trunc(float64(11*x)))
	case brightness, colored, contrast, sharpness:
		if increasing {
			return max(0.1, 1+sign*float64(0.09*x))
		}
		return 0.1 + float64(0.18*x)
	case desaturates:
		return 0.5 - float64(0.05*x)
	case blurs:
		return 0.1 + float64(0.19*x)
	}
	return 0
}
