package media

import "fmt"

// Elastic moves each pixel by a smooth random distance, as torchvision's ElasticTransform
// does.
type Elastic struct {
	Alpha  [2]float64 `json:"alpha"` // how far, across and down
	Sigma  [2]float64 `json:"sigma"` // how smooth, across and down, in pixels
	Filter Filter     `json:"filter,omitzero"`
	Fill   [4]uint16  `json:"fill,omitzero"`
}

// mostWave is the greatest sigma: a curve of so many pixels each way still is exact
// enough in weights of 15 bits.
const mostWave = 100

// Check refuses parameters beyond their bounds.
func (o Elastic) Check() error {
	for k := range o.Alpha {
		if !(o.Alpha[k] >= 0 && o.Alpha[k] <= maxSide) {
			return fmt.Errorf("%w: elastic with an alpha of %v: must be from 0 to %d", ErrGeometry, o.Alpha[k], maxSide)
		}
		if !(o.Sigma[k] >= 0 && o.Sigma[k] <= mostWave) {
			return fmt.Errorf("%w: elastic with a sigma of %v: must be from 0 to %d", ErrGeometry, o.Sigma[k], mostWave)
		}
	}
	return o.Filter.checkWarp("elastic")
}

// Result tells the form after the operation.
func (o Elastic) Result(in Form) (Form, error) {
	if err := checkFill("elastic", in, o.Fill); err != nil {
		return in, err
	}
	return in, in.checkPixels("elastic")
}

func (o Elastic) name() string { return "elastic" }

// place uses draws 0 and 1 for the numbers with which the noise begins.
func (o Elastic) place(p *Plan, id uint64, r Rand) error {
	const half = 1 << 32
	seed := uint64(r.Float64(id, 0)*half)<<32 | uint64(r.Float64(id, 1)*half)
	if p.tells() {
		p.tell(map[string]any{"seed": fmt.Sprintf("%016x", seed)})
	}
	if o.Alpha == [2]float64{} {
		return nil
	}
	is := Size{p.Height, p.Width}
	const unit = 2 << 15 // half of alpha is the distance that noise of 1 is
	w := Waves{Seed: seed, Sigma: o.Sigma, X: o.Alpha[0] / unit, Y: o.Alpha[1] / unit}
	p.warp(Warp{Map: Map{1, 0, 0, 0, 1, 0, 0, 0, 1}, Filter: o.Filter, Waves: w}, is, o.Fill)
	return nil
}
