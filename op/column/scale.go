package column

import (
	"errors"
	"fmt"
	"math"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/jsonschema"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[Scale]("scale", recipe.Between,
	"Scale numbers: (v - mean) / std, or (v - min) / (max - min).").Explained(`
Give the statistics of your training data. Computed as 'float64', and rounded to the dtype of the field; whole numbers become
'float32'. NaN stays NaN.`,
	`.scale("age", mean=38.2, std=12.1)`,
	`.scale(["lat", "lon"], min=-180, max=180)`).Called("fields"))

// Scale are the arguments of the operation scale: either mean and std, or min and max.
type Scale struct {
	On
	Mean Numbers `json:"mean,omitempty" example:"38.2"`
	Std  Numbers `json:"std,omitempty" example:"12.1" doc:"divides the difference; above 0"`
	Min  Numbers `json:"min,omitempty" doc:"what becomes 0"`
	Max  Numbers `json:"max,omitempty" doc:"what becomes 1"`
}

// Docs implements [argument.Documented].
func (*Scale) Docs() map[string]string {
	return map[string]string{
		"mean": "subtracted: a number, or for arrays one for each place of the last axis",
	}
}

// Numbers is a number for all, or one for each place of the last axis; in JSON a number
// or a list.
type Numbers []float64

// Takes implements [recipe.Taker].
func (Numbers) Takes() string { return "a number, or a list of numbers" }

// JSONSchema implements [recipe.Schemer].
func (Numbers) JSONSchema() map[string]any {
	list := map[string]any{"type": "array", "items": jsonschema.OrVariable(jsonschema.Scalar("number")), "minItems": 1}
	return map[string]any{"anyOf": []any{jsonschema.Scalar("number"), list}}
}

// MarshalJSON writes a number or a list.
func (n Numbers) MarshalJSON() ([]byte, error) { return argument.MarshalNumbers(n...), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (n *Numbers) UnmarshalJSON(b []byte) error {
	all, err := argument.UnmarshalNumbers[float64](b, n.Takes())
	if err == nil {
		*n = all
	}
	return err
}

// Check implements [recipe.Args].
func (s *Scale) Check(in sample.Schema) (sample.Schema, error) { return check(s, in, false) }

// CheckRows implements [recipe.OnRows].
func (s *Scale) CheckRows(in sample.Schema) (sample.Schema, error) { return check(s, in, true) }

// Link implements [core.Linker].
func (s *Scale) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	return link(w, name, s, t)
}

func (s *Scale) columns(in sample.Schema, batches bool) ([]Column, error) {
	if err := argument.CheckTags(s); err != nil {
		return nil, err
	}
	subtract, divide, err := s.terms()
	if err != nil {
		return nil, err
	}
	return s.each(in, batches, func(t sample.Type) (made, error) {
		if err := numeric(t); err != nil {
			return made{}, err
		}
		for _, n := range []int{len(subtract), len(divide)} {
			if n > 1 && (len(t.Shape) == 0 || t.Shape[len(t.Shape)-1] != n) {
				return made{}, fmt.Errorf("must have %d numbers along its last axis, one for each in the lists", n)
			}
		}
		as := asFloat(t.DType)
		return made{dtype: as, fill: scaling(t.DType, as, subtract, divide)}, nil
	})
}

// terms returns the numbers to subtract, and those to divide by then.
func (s *Scale) terms() (subtract, divide Numbers, err error) {
	standard, range01 := s.Mean != nil || s.Std != nil, s.Min != nil || s.Max != nil
	switch {
	case standard == range01, standard && (s.Mean == nil || s.Std == nil), range01 && (s.Min == nil || s.Max == nil):
		return nil, nil, errors.New("needs mean and std, or min and max: give one of these pairs")
	case standard:
		subtract, divide = s.Mean, s.Std
	default:
		subtract = s.Min
		for i := range max(len(s.Min), len(s.Max)) {
			divide = append(divide, s.Max.at(i)-s.Min.at(i))
		}
	}

	if err := errors.Join(s.Mean.check("mean"), s.Std.check("std"), s.Min.check("min"), s.Max.check("max")); err != nil {
		return nil, nil, err
	}
	if a, b := len(s.Mean)+len(s.Min), len(s.Std)+len(s.Max); a > 1 && b > 1 && a != b {
		return nil, nil, fmt.Errorf("has lists of %d and of %d numbers: must be of one length", a, b)
	}

	// Of two lists of one length each pair was computed above.
	for i, v := range divide {
		switch {
		case v > 0 && !math.IsInf(v, 0):
		case standard:
			return nil, nil, recipe.Wrong("std", "is %s: must be numbers above 0", argument.Written(s.Std))
		default:
			return nil, nil, recipe.Wrong("max", "is %s: must be above min, which is %s", written(s.Max.at(i)), written(s.Min.at(i)))
		}
	}
	return subtract, divide, nil
}

// check refuses NaN and a list without numbers, which only a Go program can write.
func (n Numbers) check(name string) error {
	if n != nil && len(n) == 0 {
		return recipe.Wrong(name, "is empty: must be %s", n.Takes())
	}
	for _, v := range n {
		if v-v != 0 {
			return recipe.Wrong(name, "has %v: must be numbers", v)
		}
	}
	return nil
}

// at is a number of a list, or the one for all; NaN beyond the end of a list.
func (n Numbers) at(i int) float64 {
	switch {
	case len(n) == 1:
		return n[0]
	case i < len(n):
		return n[i]
	}
	return math.NaN()
}

// scaling returns what scales numbers.
func scaling(of, as tensor.DType, subtract, divide Numbers) fill {
	var a, b []float64
	for i := range max(len(subtract), len(divide)) {
		a, b = append(a, subtract.at(i)), append(b, divide.at(i))
	}
	do := func(v []float64, at int) (int, error) {
		k := at % len(a)
		for i, x := range v {
			v[i] = (x - a[k]) / b[k]
			if k++; k == len(a) {
				k = 0
			}
		}
		return -1, nil
	}
	if len(a) == 1 {
		a, b := a[0], b[0]
		do = func(v []float64, _ int) (int, error) {
			for i, x := range v {
				v[i] = (x - a) / b
			}
			return -1, nil
		}
	}
	return func(to []byte, from []Values) *Bad { return badAt(through(to, from[0].Data, of, as, do)) }
}
