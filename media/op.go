package media

// Op is an operation on an image. The set is closed: an operation is one of the types
// of this package.
type Op interface {
	// Check returns what is wrong with the parameters.
	Check() error
	// Result tells the form after the operation, as far as it is known without the
	// image, or why there is none. The parameters must be such as Check accepts.
	Result(in Form) (Form, error)
	// name is what recipes call it.
	name() string
	// place appends the operation to the plan. Check and Result have accepted it.
	place(p *Plan, id uint64, r Rand) error
}

// Rand gives random numbers in [0,1), each a pure function of the sample, the operation
// and the number of the draw.
type Rand interface {
	Float64(op uint64, draw uint32) float64
}

// Step is an operation at its place in a recipe. ID names it in random draws: two steps
// that draw must have different IDs.
type Step struct {
	Op Op
	ID uint64
}

// Results tells the form after all steps, as far as it is known without the image.
func Results(in Form, steps []Step) (Form, error) {
	for _, s := range steps {
		var err error
		if in, err = s.Op.Result(in); err != nil {
			return in, err
		}
	}
	return in, nil
}
