package media

import "fmt"

// Posterize keeps so many upper bits of every value but alpha: with 0 an image is black.
type Posterize struct {
	Bits int `json:"bits"` // from 0 to 8
}

// Check refuses parameters beyond their bounds.
func (o Posterize) Check() error { return checkBits("posterize", o.Bits) }

// Result tells the form after the operation.
func (o Posterize) Result(in Form) (Form, error) { return in, in.checkByteColors("posterize") }

func (o Posterize) name() string { return "posterize" }

func (o Posterize) place(p *Plan, _ uint64, _ Rand) error {
	p.pass(Pass{Effect: &posterize, Args: Args{float32(o.Bits)}})
	return nil
}

// RandomPosterize is Posterize with probability P.
type RandomPosterize struct {
	Bits int     `json:"bits"`
	P    float64 `json:"p"`
}

// Check refuses parameters beyond their bounds.
func (o RandomPosterize) Check() error {
	if err := checkBits("random_posterize", o.Bits); err != nil {
		return err
	}
	return checkChance("random_posterize", o.P)
}

// Result tells the form after the operation.
func (o RandomPosterize) Result(in Form) (Form, error) {
	return in, in.checkByteColors("random_posterize")
}

func (o RandomPosterize) name() string { return "random_posterize" }

// place uses draw 0.
func (o RandomPosterize) place(p *Plan, id uint64, r Rand) error {
	if !p.applies(id, r, o.P, "posterized") {
		return nil
	}
	return Posterize{o.Bits}.place(p, id, r)
}

func checkBits(op string, bits int) error {
	if bits < 0 || bits > 8 {
		return fmt.Errorf("%w: %s with %d bits: must be from 0 to 8", ErrGeometry, op, bits)
	}
	return nil
}

// posterize has the number of bits as its first number.
var posterize = tableEffect("posterize",
	func(a *Args) error {
		if a[0] != float32(int(a[0])) {
			return fmt.Errorf("%w: posterize with %v bits", ErrGeometry, a[0])
		}
		return checkBits("posterize", int(a[0]))
	},
	func(a *Args) (t Table) {
		for v := range t {
			t[v] = uint8(v) & ^uint8(0xff>>int(a[0]))
		}
		return t
	})
