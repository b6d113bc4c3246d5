package flow

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var mergeOp = Ops.Add(recipe.NewOp[Merge]("merge", recipe.Source, "Combine several sources."))

// Merge are the arguments of the operation merge.
type Merge struct {
	Of      []recipe.Chain   `json:"of" required:"true" min:"1"`
	Order   string           `json:"order,omitempty" choices:"round_robin,arrival"`
	Weights []float64        `json:"weights,omitempty"`
	Until   recipe.Until     `json:"until,omitempty" default:"longest"`
	Fill    *recipe.PadValue `json:"fill,omitempty"`
}

// Docs implements [argument.Documented].
func (*Merge) Docs() map[string]string {
	return map[string]string{
		"of example": `[[{"files": {"pattern": "cats"}}], [{"files": {"pattern": "dogs"}}]]`,
		"of":         "each has its own source; all must have the same fields and dtypes, and give samples, or batches",
		"order":      "round_robin; arrival: whichever has a sample first, which differs between runs",
		"weights":    "those of mix, which restarts sources so that weights hold; merge refuses them",
		"until":      "an epoch ends with the longest source, the shortest, or after this many samples in all",
		"fill": "values for fields that some sources lack: a number, or numbers by field, 0 for others; text is " +
			"empty; by default all must have the same fields",
	}
}

// Complete implements [recipe.Completer].
func (m Merge) Complete() recipe.Args {
	if m.Fill != nil {
		m.Fill = new(m.Fill.Complete())
	}
	m.Order = cmp.Or(m.Order, "round_robin")
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
	errs := []error{argument.Choice(m, "order", m.Order), m.checkUntil()}
	if m.Weights != nil {
		errs = append(errs, recipe.Wrong("weights", "is for mix, not merge: write mix instead of merge: "+
			"its sources restart, so weights hold for the whole epoch"))
	}
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

// Traits implements [recipe.Traited].
func (m *Merge) Traits() recipe.Traits {
	return recipe.Traits{Merging: &recipe.Merging{Order: m.Order, Until: m.Until, Fill: m.Fill}}
}
