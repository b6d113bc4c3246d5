package media

import "slices"

// Work returns what the plan says is to be done, without how it came to that.
func (p Plan) Work() Plan {
	p.given = nil
	return p
}

// Passing is an operation that is one pass, for tests of any effect.
type Passing struct{ Pass Pass }

func (Passing) Check() error                            { return nil }
func (Passing) Result(in Form) (Form, error)            { return in, nil }
func (Passing) name() string                            { return "passing" }
func (o Passing) place(p *Plan, _ uint64, _ Rand) error { p.pass(o.Pass); return nil }

// Changing is an operation that is one change of a policy.
type Changing struct {
	Name            string
	Wide            bool
	Magnitude, Most int
	Negative        bool
	Filter          Filter
}

func (Changing) Check() error                 { return nil }
func (Changing) Result(in Form) (Form, error) { return in, nil }
func (Changing) name() string                 { return "changing" }
func (o Changing) place(p *Plan, _ uint64, _ Rand) error {
	s := usualSpace
	if o.Wide {
		s = wideSpace
	}
	c := change(slices.Index(changeNames[:], o.Name))
	_, err := p.change(c, s.amount(c, o.Magnitude, o.Most, o.Negative && c.signed(), Size{p.Height, p.Width}), policy{filter: o.Filter})
	return err
}

// ChangeNames are those of torchvision's policies.
var ChangeNames = changeNames[:inverts+1]

// Spaced is for tests of amounts.
var Spaced = spaced
