package recipe

import (
	"slices"

	"github.com/headrace/headrace/internal/argument"
)

// Pace is the argument of a step that says in which order samples leave it.
type Pace struct {
	Order string `json:"order,omitempty" choices:"input,completion" doc:"input: samples keep their order; completion: fast ones pass slow ones in this step alone; by default as in the loader"`
}

// The orders of a step.
const (
	InputOrder      = "input"
	CompletionOrder = "completion"
)

// CheckPace returns an error unless the order is one.
func (p Pace) CheckPace() error {
	if p.Order == "" {
		return nil
	}
	return argument.OneOf("order", p.Order, []string{InputOrder, CompletionOrder})
}

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
