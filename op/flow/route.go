package flow

import (
	"errors"
	"fmt"
	"slices"

	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var routeOp = Ops.Add(recipe.NewOp[Route]("route", recipe.Between, "Send each sample to one of several branches."))

// Route are the arguments of the operation route.
type Route struct {
	By       string   `json:"by" required:"true" example:"key"`
	Branches []Branch `json:"branches" required:"true" min:"1"`
}

// Docs implements [argument.Documented].
func (*Route) Docs() map[string]string {
	return map[string]string{
		"branches example": `[{"when": ["*.png"], "steps": ["random_flip"]}, {"steps": []}]`,
		"by":               "the field to choose by: text such as key, or a whole number such as label",
		"branches": "the first branch that matches gets the sample; all must give the same fields and dtypes. A " +
			"sample without a branch is bad",
	}
}

// Branch is a list of steps for some of the samples.
type Branch struct {
	When  []recipe.When `json:"when,omitzero" min:"1"`
	Steps recipe.Chain  `json:"steps" required:"true" doc:"its steps; [] is none"`
}

// Docs implements [argument.Documented].
func (*Branch) Docs() map[string]string {
	return map[string]string{
		"when": "what it matches: patterns of text (*, ?, […], and ** for any number of folders), or numbers; by " +
			"default everything else, in the last branch only",
	}
}

// Chains implements [recipe.Nesting].
func (r *Route) Chains() []recipe.Chain {
	all := make([]recipe.Chain, len(r.Branches))
	for i, b := range r.Branches {
		all[i] = b.Steps
	}
	return all
}

// With implements [recipe.Nesting].
func (r Route) With(all []recipe.Chain) recipe.Args {
	r.Branches = slices.Clone(r.Branches)
	for i, c := range all {
		r.Branches[i].Steps = c
	}
	return &r
}

// Inside implements [recipe.Nesting].
func (*Route) Inside() recipe.Surroundings {
	return recipe.Surroundings{Op: routeOp.Name}
}

// Check implements [recipe.Args]. Mistakes in the branches are numbered from this
// operation, which is step 1.
func (r *Route) Check(in sample.Schema) (sample.Schema, error) { return recipe.CheckNested(r, in) }

// Join implements [recipe.Nesting].
func (r *Route) Join(in sample.Schema, outs []sample.Schema) (sample.Schema, error) {
	var errs []error
	number, err := r.checkBy(in)
	if err != nil {
		errs = append(errs, err)
	} else {
		errs = append(errs, r.checkWhens(number))
	}
	if r.Branches == nil {
		errs = append(errs, errors.New("lacks the argument branches"))
	} else if len(r.Branches) == 0 {
		errs = append(errs, recipe.Wrong("branches", `is empty: give a list like [{"when": ["*.png"], "steps": […]}, {"steps": […]}]`))
	}
	for i, b := range r.Branches {
		switch {
		case b.When == nil && i < len(r.Branches)-1:
			errs = append(errs, recipe.Wrong(branch(i), "has no when, and would match everything: only the last branch may"))
		case b.When != nil && len(b.When) == 0:
			errs = append(errs, recipe.Wrong(branch(i)+".when", "is empty, and matches nothing"))
		}
	}
	out, err := recipe.Unite(outs, branch)
	return out, errors.Join(append(errs, err)...)
}

// CheckFailures implements [recipe.Failing].
func (r *Route) CheckFailures(f *recipe.Failures) error {
	if f.Retries != 0 || f.Wait != nil || f.TimeLimit != nil {
		return errors.New("is for samples that no branch matches: set on_error and max_errors here, " +
			"and the rest at the steps of the branches")
	}
	return nil
}

func branch(i int) string { return fmt.Sprintf("branches[%d]", i) }

// checkBy says whether the field holds numbers.
func (r *Route) checkBy(in sample.Schema) (number bool, err error) {
	i := in.Find(r.By)
	switch {
	case r.By == "":
		return false, errors.New("lacks the argument by")
	case i < 0:
		return false, recipe.Wrong("by", "is %q: the samples have the fields %s", r.By, words.List(in.Names()))
	case in[i].Type.Kind == sample.Text && len(in[i].Type.Shape) == 0:
		return false, nil
	case in[i].Type.Kind == sample.Tensor && len(in[i].Type.Shape) == 0 && wholeNumbers(in[i].Type.DType):
		return true, nil
	}
	return false, recipe.Wrong("by", "is %q, which is %v: must be a field of text, or of one whole number", r.By, in[i].Type)
}

func wholeNumbers(d tensor.DType) bool { return d >= tensor.Uint8 && d <= tensor.Int64 }

// checkWhens says which values the field cannot have, and which are given twice.
func (r *Route) checkWhens(number bool) error {
	var errs []error
	seen := make(map[string]string)
	for i, b := range r.Branches {
		for k, w := range b.When {
			place := fmt.Sprintf("%s.when[%d]", branch(i), k)
			switch first, again := seen[w.Text()]; {
			case (w.Number != nil) != number:
				errs = append(errs, recipe.Wrong(place, "is %s, but %q is %s", w.Text(), r.By,
					map[bool]string{true: "a number", false: "text"}[number]))
			case w.Number == nil && w.Pattern.Check() != nil:
				errs = append(errs, recipe.Wrong(place, "%w", w.Pattern.Check()))
			case again:
				errs = append(errs, recipe.Wrong(place, "is %s, which %s already matches", w.Text(), first))
			default:
				seen[w.Text()] = place
			}
		}
	}
	return errors.Join(errs...)
}

// Traits implements [recipe.Traited].
func (r *Route) Traits() recipe.Traits {
	t := recipe.Traits{Routing: &recipe.Routing{By: r.By}}
	for _, b := range r.Branches {
		t.Routing.Whens = append(t.Routing.Whens, b.When)
	}
	return t
}
