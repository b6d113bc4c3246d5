package flow

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var mergeOp = Ops.Add(recipe.NewOp[Merge]("merge", recipe.Source, "Combine several sources."))

// Merge are the arguments of the operation merge.
type Merge struct {
	Of      []recipe.Chain   `json:"of" required:"true" min:"1"`
	Order   string           `json:"order,omitempty" choices:"round_robin,weights,arrival"`
	Weights []float64        `json:"weights,omitempty"`
	Seed    *uint64          `json:"seed,omitempty" doc:"for drawing by weights; by default the pipeline's"`
	Until   recipe.Until     `json:"until,omitempty" default:"longest"`
	Fill    *recipe.PadValue `json:"fill,omitempty"`
}

// Docs implements [argument.Documented].
func (*Merge) Docs() map[string]string {
	return map[string]string{
		"of example": `[[{"files": {"pattern": "cats"}}], [{"files": {"pattern": "dogs"}}]]`,
		"of":         "each has its own source; all must have the same fields and dtypes, and give samples, or batches",
		"order": "round_robin; weights, the default if given; arrival: whichever has a sample first, which " +
			"differs between runs",
		"weights": "how often each is next: numbers above 0, relative to their sum; they hold until the first " +
			"source ends",
		"until": "an epoch ends with the longest source, the shortest, or after this many samples in all",
		"fill": "values for fields that some sources lack: a number, or numbers by field, 0 for others; text is " +
			"empty; by default all must have the same fields",
	}
}

// Complete implements [recipe.Completer].
func (m Merge) Complete() recipe.Args {
	if m.Order == "" && m.Weights != nil {
		m.Order = "weights"
	}
	if m.Fill != nil {
		m.Fill = new(m.Fill.Complete())
	}
	m.Order = cmp.Or(m.Order, "round_robin")
	return &m
}

// Identity writes out the seed, if there is one.
func (m Merge) Identity(r recipe.Recipe) recipe.Args {
	if m.Seed == nil && m.Order == "weights" {
		m.Seed = &r.Seed
	}
	return &m
}

// Chains implements [recipe.Nesting].
func (m *Merge) Chains() []recipe.Chain { return m.Of }

// With implements [recipe.Nesting].
func (m Merge) With(all []recipe.Chain) recipe.Args {
	m.Of = all
	return &m
}

// Inside implements [recipe.Nesting].
func (*Merge) Inside() recipe.Surroundings {
	return recipe.Surroundings{Op: mergeOp.Name, Begins: true}
}

// Check implements [recipe.Args]. Mistakes in the chains are numbered from this
// operation, which is step 1.
func (m *Merge) Check(in sample.Schema) (sample.Schema, error) { return recipe.CheckNested(m, in) }

// Join implements [recipe.Nesting].
func (m *Merge) Join(_ sample.Schema, outs []sample.Schema) (sample.Schema, error) {
	errs := []error{argument.Choice(m, "order", m.Order), m.checkUntil(), m.checkWeights()}
	if m.Of == nil {
		errs = append(errs, errors.New("lacks the argument of"))
	} else if len(m.Of) == 0 {
		errs = append(errs, recipe.Wrong("of", "is empty: give lists of steps, each beginning with a source such as files"))
	}
	for i, c := range m.Of {
		if len(c) == 0 {
			errs = append(errs, recipe.Wrong(fmt.Sprintf("of[%d]", i), "is empty: it begins with a source such as files"))
		}
	}
	if m.Seed != nil && m.Order != "weights" {
		errs = append(errs, recipe.Wrong("seed", `is %d, but nothing is drawn: it is for order="weights"`, *m.Seed))
	}
	outs = recipe.WithKeys(outs)
	if m.Fill != nil {
		var wrong []error
		outs, wrong = recipe.Filled(outs, *m.Fill)
		errs = append(errs, wrong...)
	}
	out, err := recipe.Unite(outs, func(i int) string { return fmt.Sprintf("of[%d]", i) })
	return out, errors.Join(append(errs, err)...)
}

func (m *Merge) checkUntil() error {
	switch n, ok := m.Until.Samples(); {
	case !ok:
		return argument.OneOf("until", string(m.Until), recipe.UntilWords)
	case n < 1:
		return recipe.Wrong("until", "is %d: must be a number of samples, at least 1, longest or shortest", n)
	case m.Order == "arrival":
		return recipe.Wrong("until", `is %d, but order is "arrival", which counts nothing: use another order`, n)
	}
	return nil
}

func (m *Merge) checkWeights() error {
	switch {
	case m.Weights == nil && m.Order == "weights":
		return recipe.Wrong("weights", "is missing: order=\"weights\" draws by them, one for each of of")
	case m.Weights == nil:
		return nil
	case m.Order != "weights":
		return recipe.Wrong("weights", `is given, but order is %q: use "weights" with them`, m.Order)
	case len(m.Weights) != len(m.Of):
		return recipe.Wrong("weights", "is a list of %d, but of has %d: give one for each", len(m.Weights), len(m.Of))
	}
	sum := 0.0
	for i, w := range m.Weights {
		if !(w > 0) {
			return recipe.Wrong(fmt.Sprintf("weights[%d]", i), "is %v: must be a number above 0", w)
		}
		sum += w
	}
	if sum > math.MaxFloat64 {
		return recipe.Wrong("weights", "has too large a sum")
	}
	return nil
}

// Traits implements [recipe.Traited].
func (m *Merge) Traits() recipe.Traits {
	return recipe.Traits{Seed: m.Seed, Merging: &recipe.Merging{Order: m.Order, Weights: m.Weights, Until: m.Until, Fill: m.Fill}}
}
