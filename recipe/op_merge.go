package recipe

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"headrace/recipe/internal/argument"
	"headrace/sample"
)

var mergeOp = operation[Merge]("merge", Source, "Puts the samples of several sources together.")

// Merge are the arguments of the operation merge.
type Merge struct {
	Of      []Chain   `json:"of" required:"true" min:"1" example:"[[{\"files\": {\"pattern\": \"cats\"}}], [{\"files\": {\"pattern\": \"dogs\"}}]]" doc:"what is put together: lists of steps, each beginning with a source; they give samples of the same fields and dtypes, and make no batches"`
	Order   string    `json:"order,omitempty" choices:"round_robin,weights,arrival" doc:"round_robin, the default: one after the other; weights, the default where these are given: drawn by them; arrival: who has a sample first, which differs between runs"`
	Weights []float64 `json:"weights,omitempty" doc:"how often each is next: numbers above 0, of which a share of the sum counts"`
	Seed    *uint64   `json:"seed,omitempty" doc:"of what is drawn by weights; by default that of the recipe"`
	Until   string    `json:"until,omitempty" choices:"longest,shortest" doc:"longest, the default: an epoch ends when all have ended; shortest: when the first ends"`
}

func (m Merge) complete() Args {
	if m.Order == "" && m.Weights != nil {
		m.Order = "weights"
	}
	m.Order, m.Until = cmp.Or(m.Order, "round_robin"), cmp.Or(m.Until, "longest")
	return &m
}

// identity writes out whose seed it is, where there is one.
func (m Merge) identity(r Recipe) Args {
	if m.Seed == nil && m.Order == "weights" {
		m.Seed = &r.Seed
	}
	return &m
}

func (m *Merge) chains() []Chain { return m.Of }

func (m Merge) with(all []Chain) Args {
	m.Of = all
	return &m
}

func (*Merge) inside() surroundings { return surroundings{op: mergeOp.Name, begins: true} }

// Check implements [Args]. Mistakes in the chains are numbered from this operation, which
// is step 1.
func (m *Merge) Check(in sample.Schema) (sample.Schema, error) { return checkAlone(m, in) }

func (m *Merge) join(_ sample.Schema, outs []sample.Schema) (sample.Schema, error) {
	errs := []error{argument.Choice(m, "order", m.Order), argument.Choice(m, "until", m.Until), m.checkWeights()}
	if m.Of == nil {
		errs = append(errs, errors.New("lacks the argument of"))
	} else if len(m.Of) == 0 {
		errs = append(errs, Wrong("of", "is empty: takes lists of steps, each beginning with a source such as files"))
	}
	for i, c := range m.Of {
		if len(c) == 0 {
			errs = append(errs, Wrong(fmt.Sprintf("of[%d]", i), "is empty: it begins with a source such as files"))
		}
	}
	if m.Seed != nil && m.Order != "weights" {
		errs = append(errs, Wrong("seed", `is %d, but nothing is drawn: it is for order="weights"`, *m.Seed))
	}
	out, err := unite(WithKeys(outs), func(i int) string { return fmt.Sprintf("of[%d]", i) })
	return out, errors.Join(append(errs, err)...)
}

// WithKeys gives samples the field key where those of others have one: each has a name.
func WithKeys(all []sample.Schema) []sample.Schema {
	at := -1
	for _, s := range all {
		if i := s.Find("key"); i >= 0 && s[i].Type.Kind == sample.Text {
			at = i
			break
		}
	}
	if at < 0 {
		return all
	}
	all = slices.Clone(all)
	for i, s := range all {
		if s != nil && s.Find("key") < 0 {
			all[i] = slices.Insert(slices.Clone(s), min(at, len(s)), sample.Field{Name: "key", Type: sample.TextType})
		}
	}
	return all
}

// checkFailures implements [failing].
func (m *Merge) checkFailures(*Failures) error { return noneFail(mergeOp.Name) }

func (m *Merge) checkWeights() error {
	switch {
	case m.Weights == nil && m.Order == "weights":
		return Wrong("weights", "is missing: order=\"weights\" draws by them, one for each of of")
	case m.Weights == nil:
		return nil
	case m.Order != "weights":
		return Wrong("weights", `is given, but order is %q: takes "weights" with them`, m.Order)
	case len(m.Weights) != len(m.Of):
		return Wrong("weights", "is a list of %d, but of has %d: takes one for each", len(m.Weights), len(m.Of))
	}
	sum := 0.0
	for i, w := range m.Weights {
		if !(w > 0) {
			return Wrong(fmt.Sprintf("weights[%d]", i), "is %v: takes a number above 0", w)
		}
		sum += w
	}
	if sum > math.MaxFloat64 {
		return Wrong("weights", "has a sum beyond all numbers")
	}
	return nil
}
