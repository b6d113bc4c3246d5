package image

import (
	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/jsonschema"
)

// Degrees is an angle both ways, or two between which one is drawn; in JSON a number or a
// list of two.
type Degrees []float64

// Takes implements [recipe.Taker].
func (d *Degrees) Takes() string { return "a number, which is meant both ways, or [least, greatest]" }

// JSONSchema implements [recipe.Schemer].
func (Degrees) JSONSchema() map[string]any { return jsonschema.OneOrList("number", nil, 2) }

// MarshalJSON writes a number or a list.
func (d Degrees) MarshalJSON() ([]byte, error) { return argument.MarshalNumbers(d...), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (d *Degrees) UnmarshalJSON(b []byte) error {
	n, err := argument.UnmarshalNumbers[float64](b, d.Takes(), 2)
	if err == nil {
		*d = n
	}
	return err
}

// ends returns the least and the greatest.
func (d Degrees) ends() (ends [2]float64) {
	switch len(d) {
	case 1:
		return [2]float64{-d[0], d[0]}
	case 2:
		return [2]float64(d)
	}
	return ends
}

// Shear is an angle both ways along x, two between which one is drawn, or these along x
// and along y; in JSON a number or a list of two or four.
type Shear []float64

// Takes implements [recipe.Taker].
func (s *Shear) Takes() string {
	return "a number, which is meant both ways, [least, greatest] along x, or four numbers: along x and along y"
}

// JSONSchema implements [recipe.Schemer].
func (Shear) JSONSchema() map[string]any { return jsonschema.OneOrList("number", nil, 2, 4) }

// MarshalJSON writes a number or a list.
func (s Shear) MarshalJSON() ([]byte, error) { return argument.MarshalNumbers(s...), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Shear) UnmarshalJSON(b []byte) error {
	n, err := argument.UnmarshalNumbers[float64](b, s.Takes(), 2, 4)
	if err == nil {
		*s = n
	}
	return err
}

// both are the ends along x and along y.
func (s Shear) both() (ends [2][2]float64) {
	if len(s) == 4 {
		return [2][2]float64{{s[0], s[1]}, {s[2], s[3]}}
	}
	ends[0] = Degrees(s).ends()
	return ends
}
