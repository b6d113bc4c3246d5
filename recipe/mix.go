package recipe

import (
	"fmt"

	"github.com/headrace/headrace/sample"
)

// Mixing says how often each chain of a mix is next.
type Mixing struct {
	Names       []string // of the chains; nil: those of their sources
	Weights     []float64
	Repeat      []float64 // how often each chain comes in an epoch
	Temperature float64   // chains count as their length to the power of 1 ÷ this; 0: it says nothing
	Schedule    []Stretch // nil: it stays the same
	In          string    // what Schedule counts: "steps", or "samples"
	Source      string    // the field that gets the name; "": none
	Choose      string    `json:",omitempty"` // the function of Python that says which is next; "": shares do
	By          string    // the field of whose length sources have their shares; "": samples count
	Arrivals    bool      // it counts samples as they arrive, not those that the sources give to their steps
}

// Stretch is the weights of a mix from a step or a sample on.
type Stretch struct {
	From    int64     `json:"from" min:"0"`
	Weights []float64 `json:"weights"`
}

// Takes implements [Taker].
func (*Stretch) Takes() string { return `an object with from, a whole number, and weights` }

// WithSource gives samples the field with the name of their source. Those of a mix in a
// mix may have it.
func WithSource(in sample.Schema, field string, steps Chain) (sample.Schema, error) {
	if in == nil || IsBare(in) { // values that are no dicts have no fields
		return in, nil
	}
	i := in.Find(field)
	if i < 0 {
		return in.With(field, sample.TextType), nil
	}
	if m := TraitsOf(steps[0].Args).Merging; m != nil && m.Mix != nil && m.Mix.Source == field && in[i].Type.Kind == sample.Text {
		return in, nil
	}
	return in, fmt.Errorf("gives samples with a field %q, which the mix would fill with the name of the source: "+
		"rename it, or give the name another field with source", field)
}

// Uneven returns the name of the first step of a chain that leaves samples out, or makes
// several of one or one of several; "": there is none.
func Uneven(steps Chain) string {
	for _, s := range steps {
		switch TraitsOf(s.Args).Count {
		case Fewer, More, Gathers, Times:
			return s.Name
		}
		for _, c := range ChainsOf(s.Args) {
			if name := Uneven(c); name != "" {
				return name
			}
		}
	}
	return ""
}

// Unmixed says why the samples of a chain cannot be mixed; empty: they can.
func Unmixed(steps Chain) string {
	for i, s := range steps {
		t := TraitsOf(s.Args)
		switch {
		case i == 0 && t.Merging != nil && (t.Merging.Mix == nil || t.Merging.Mix.Arrivals):
			return fmt.Sprintf("begins with %q, which cannot restart: mix its sources", s.Name)
		case t.Call != nil && t.Call.Iterated():
			return fmt.Sprintf("is iterated over by %q, so it has no number of samples, and cannot restart: "+
				"give an object with len() and [i], or merge it", s.Name)
		case t.Call != nil && t.Call.Kind == OrderCall:
			return fmt.Sprintf("has the sampler %q, whose epochs may differ in length: use weighted or shuffle", s.Name)
		case t.Batches != nil:
			return fmt.Sprintf("makes batches with %q: make them after the mix", s.Name)
		}
		for _, c := range ChainsOf(s.Args) {
			if i > 0 {
				if why := Unmixed(append(Chain{steps[0]}, c...)); why != "" {
					return why
				}
			}
		}
	}
	return ""
}
