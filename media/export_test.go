package media

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
