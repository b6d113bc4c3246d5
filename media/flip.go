package media

import "fmt"

// RandomFlip mirrors an image, left to right, with probability P.
type RandomFlip struct {
	P float64 `json:"p"`
}

// Check returns what is wrong with the parameters.
func (o RandomFlip) Check() error { return checkChance("random_flip", o.P) }

// Result tells the form after the operation.
func (o RandomFlip) Result(in Form) (Form, error) { return in, in.checkPixels("random_flip") }

// place uses draw 0.
func (o RandomFlip) name() string { return "random_flip" }

func (o RandomFlip) place(p *Plan, id uint64, r Rand) error {
	return p.flip(r.Float64(id, 0) < o.P, 2)
}

// RandomVerticalFlip mirrors an image, top to bottom, with probability P.
type RandomVerticalFlip struct {
	P float64 `json:"p"`
}

// Check returns what is wrong with the parameters.
func (o RandomVerticalFlip) Check() error { return checkChance("random_vertical_flip", o.P) }

// Result tells the form after the operation.
func (o RandomVerticalFlip) Result(in Form) (Form, error) {
	return in, in.checkPixels("random_vertical_flip")
}

// place uses draw 0.
func (o RandomVerticalFlip) name() string { return "random_vertical_flip" }

func (o RandomVerticalFlip) place(p *Plan, id uint64, r Rand) error {
	return p.flip(r.Float64(id, 0) < o.P, 4)
}

func (p *Plan) flip(flips bool, turn int) error {
	if p.tells() {
		p.tell(map[string]any{"flipped": flips})
	}
	if flips {
		p.turn(turn)
		p.moves[len(p.moves)-1].flips = turn
	}
	return nil
}

func checkChance(op string, p float64) error {
	if !(p >= 0 && p <= 1) {
		return fmt.Errorf("%w: %s with a probability of %v", ErrGeometry, op, p)
	}
	return nil
}
