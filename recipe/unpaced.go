package recipe

import "slices"

// Paced is implemented by arguments of steps that may have an order of their own.
type Paced interface {
	Args
	WithPace(Pace) Args // a copy with another
}

// Overtakes tells whether samples may pass each other in a step.
func (r Recipe) Overtakes() bool {
	for _, s := range r.All() {
		if call := TraitsOf(s.Args).Call; call != nil && call.Order == CompletionOrder {
			return true
		}
	}
	return false
}

// Unpaced returns steps none of which has an order of its own.
func Unpaced(steps []Step) []Step {
	steps = slices.Clone(steps)
	for i, s := range steps {
		if p, ok := s.Args.(Paced); ok {
			s.Args = p.WithPace(Pace{})
		}
		s.Args = EachChain(s.Args, Unpaced)
		steps[i] = s
	}
	return steps
}

// WithoutLanes returns the steps that do not only say into how many lanes the order is
// divided: a run of a few samples has none.
func WithoutLanes(steps []Step) []Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return TraitsOf(s.Args).Lanes > 0 })
}
