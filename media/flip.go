package media

import "fmt"

// RandomFlip mirrors a picture, left to right, with probability P.
type RandomFlip struct {
	P float64 `json:"p"`
}

// Check returns what is wrong with the parameters.
func (o RandomFlip) Check() error {
	if !(o.P >= 0 && o.P <= 1) {
		return fmt.Errorf("%w: random_flip with a probability of %v", ErrGeometry, o.P)
	}
	return nil
}

// Result tells the form after the operation.
func (o RandomFlip) Result(in Form) (Form, error) { return in, in.checkPixels("random_flip") }

func (o RandomFlip) place(p *Plan, id uint64, r Rand) error {
	if err := o.Check(); err != nil {
		return err
	}
	if r.Float64(id, 0) < o.P {
		p.flip()
	}
	return nil
}
