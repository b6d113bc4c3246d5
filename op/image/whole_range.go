package image

import (
	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/jsonschema"
)

// WholeRange is a whole number, or two between which one is drawn, both included; in JSON
// a number or a list of two.
type WholeRange []int

// Takes implements [recipe.Taker].
func (r *WholeRange) Takes() string { return "a whole number, or [least, greatest]" }

// JSONSchema implements [recipe.Schemer].
func (WholeRange) JSONSchema() map[string]any { return jsonschema.OneOrList("integer", nil, 2) }

// MarshalJSON writes a number or a list.
func (r WholeRange) MarshalJSON() ([]byte, error) { return argument.MarshalNumbers(r...), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *WholeRange) UnmarshalJSON(b []byte) error {
	n, err := argument.UnmarshalNumbers[int](b, r.Takes(), 2)
	if err == nil {
		*r = n
	}
	return err
}

// ends returns the least and the greatest, which are the same for one number.
func (r WholeRange) ends() [2]int { return [2]int{r[0], r[len(r)-1]} }

// rises reports whether it is one number or two rising ones, between two others.
func (r WholeRange) rises(least, greatest int) bool {
	if len(r) != 1 && len(r) != 2 {
		return false
	}
	ends := r.ends()
	return least <= ends[0] && ends[0] <= ends[1] && ends[1] <= greatest
}
