package recipe

import "github.com/headrace/headrace/internal/argument"

// Pace is the argument of a step that says in which order samples leave it.
type Pace struct {
	Order string `json:"order,omitempty" choices:"input,completion" doc:"completion: fast samples pass slow ones; default: the loader's"`
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
