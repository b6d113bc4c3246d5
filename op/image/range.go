package image

import (
	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/jsonschema"
)

// Range is a number, or two between which one is drawn; in JSON a number or a list of
// two.
type Range []float64

// Takes implements [recipe.Taker].
func (r *Range) Takes() string { return "a number, or [least, greatest]" }

// JSONSchema implements [recipe.Schemer].
func (Range) JSONSchema() map[string]any { return jsonschema.OneOrList("number", nil, 2) }

// MarshalJSON writes a number or a list.
func (r Range) MarshalJSON() ([]byte, error) { return argument.MarshalNumbers(r...), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Range) UnmarshalJSON(b []byte) error {
	n, err := argument.UnmarshalNumbers[float64](b, r.Takes(), 2)
	if err == nil {
		*r = n
	}
	return err
}

// ends returns the least and the greatest, which are the same for one number.
func (r Range) ends() [2]float64 { return [2]float64{r[0], r[len(r)-1]} }

// rises reports whether it is one number or two rising ones, as only a Go program can get
// wrong in other ways, between two others.
func (r Range) rises(least, greatest float64) bool {
	if len(r) != 1 && len(r) != 2 {
		return false
	}
	ends := r.ends()
	return least <= ends[0] && ends[0] <= ends[1] && ends[1] <= greatest
}
