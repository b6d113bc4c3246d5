package media

// Invert makes 255-v of every value but alpha.
type Invert struct{}

// Check refuses parameters beyond their bounds.
func (o Invert) Check() error { return nil }

// Result tells the form after the operation.
func (o Invert) Result(in Form) (Form, error) { return in, in.checkByteColors("invert") }

func (o Invert) name() string { return "invert" }

func (o Invert) place(p *Plan, _ uint64, _ Rand) error {
	p.pass(Pass{Effect: &invert})
	return nil
}

// RandomInvert is Invert with probability P.
type RandomInvert struct {
	P float64 `json:"p"`
}

// Check refuses parameters beyond their bounds.
func (o RandomInvert) Check() error {
	return checkChance("random_invert", o.P)
}

// Result tells the form after the operation.
func (o RandomInvert) Result(in Form) (Form, error) { return in, in.checkByteColors("random_invert") }

func (o RandomInvert) name() string { return "random_invert" }

// place uses draw 0.
func (o RandomInvert) place(p *Plan, id uint64, r Rand) error {
	if !p.applies(id, r, o.P, "inverted") {
		return nil
	}
	return Invert{}.place(p, id, r)
}

var invert = tableEffect("invert", nil, func(_ *Args) (t Table) {
	for v := range t {
		t[v] = ^uint8(v)
	}
	return t
})
