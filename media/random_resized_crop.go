package media

import (
	"fmt"
	"math"
)

// RandomResizedCrop cuts a random part out of an image, of random area and
// proportions, and scales it to one size. Up to ten times it draws an area between the
// bounds of Scale (as a share of the image's), and a ratio of width to height, evenly
// distributed in its logarithm between the bounds of Ratio; the first part that fits is
// taken, at a random place. If none fits, it is the largest part in the middle whose
// ratio is within bounds. Zero bounds mean the usual ones: 0.08 to 1, and 3/4 to 4/3.
type RandomResizedCrop struct {
	Height int        `json:"height"`
	Width  int        `json:"width"`
	Scale  [2]float64 `json:"scale,omitzero"`
	Ratio  [2]float64 `json:"ratio,omitzero"`
	Filter Filter     `json:"filter,omitzero"`
}

// Check returns what is wrong with the parameters.
func (o RandomResizedCrop) Check() error {
	if err := checkSide("random_resized_crop", o.Height, o.Width); err != nil {
		return err
	}
	o = o.withDefaults()
	if !(o.Scale[0] > 0 && o.Scale[0] <= o.Scale[1] && o.Scale[1] <= 1) {
		return fmt.Errorf("%w: random_resized_crop: scale %v must be two rising shares in (0,1]", ErrGeometry, o.Scale)
	}
	if !(o.Ratio[0] >= 1e-3 && o.Ratio[0] <= o.Ratio[1] && o.Ratio[1] <= 1e3) {
		return fmt.Errorf("%w: random_resized_crop: ratio %v must be two rising numbers in [0.001,1000]", ErrGeometry, o.Ratio)
	}
	return o.Filter.check("random_resized_crop")
}

// Result tells the form after the operation.
func (o RandomResizedCrop) Result(in Form) (Form, error) {
	return in.sized("random_resized_crop", Size{o.Height, o.Width})
}

func (o RandomResizedCrop) name() string { return "random_resized_crop" }

func (o RandomResizedCrop) place(p *Plan, id uint64, r Rand) error {
	part := o.withDefaults().draw(p.Width, p.Height, id, r)
	if p.tells() {
		p.tellRect(part)
	}
	p.window(part, [4]uint16{})
	p.resize(o.Width, o.Height, o.Filter)
	return nil
}

func (o RandomResizedCrop) withDefaults() RandomResizedCrop {
	if o.Scale == [2]float64{} {
		o.Scale = [2]float64{0.08, 1}
	}
	if o.Ratio == [2]float64{} {
		o.Ratio = [2]float64{3. / 4, 4. / 3}
	}
	return o
}

const tries = 10

// draw chooses the part. Try t uses draws 2t and 2t+1; the place uses the two after the
// last try's, whichever try it was.
func (o RandomResizedCrop) draw(width, height int, id uint64, r Rand) Rect {
	area := float64(width * height)
	for t := range uint32(tries) {
		share := o.Scale[0] + float64((o.Scale[1]-o.Scale[0])*r.Float64(id, 2*t))
		ratio := between(o.Ratio[0], o.Ratio[1], r.Float64(id, 2*t+1))
		target := float64(area * share)
		w := int(math.RoundToEven(math.Sqrt(float64(target * ratio))))
		h := int(math.RoundToEven(math.Sqrt(target / ratio)))
		if w > 0 && w <= width && h > 0 && h <= height {
			y := below(r.Float64(id, 2*tries), height-h+1)
			x := below(r.Float64(id, 2*tries+1), width-w+1)
			return Rect{x, y, w, h}
		}
	}
	return o.fallback(width, height)
}

func (o RandomResizedCrop) fallback(width, height int) Rect {
	w, h := width, height
	switch ratio := float64(width) / float64(height); {
	case ratio < o.Ratio[0]:
		h = max(int(math.RoundToEven(float64(w)/o.Ratio[0])), 1)
	case ratio > o.Ratio[1]:
		w = max(int(math.RoundToEven(float64(h)*o.Ratio[1])), 1)
	}
	return Rect{(width - w) / 2, (height - h) / 2, w, h}
}

// between is lo·(hi/lo)^u, for u in [0,1). It uses nothing but multiplication, division
// and square roots, which IEEE 754 rounds the same on every machine: logarithms and
// powers of the math package differ by architecture in their last bit, and so would
// some crops by a pixel. Conversions to float64 keep the compiler from fusing a
// multiplication with an addition, for the same reason.
func between(lo, hi, u float64) float64 {
	root := hi / lo
	power := lo
	for bit := uint64(u * (1 << 53)); bit != 0; bit = bit << 1 & (1<<53 - 1) {
		root = math.Sqrt(root)
		if bit>>52 != 0 {
			power *= root
		}
	}
	return power
}
