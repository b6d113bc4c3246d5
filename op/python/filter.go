package python

import (
	"errors"

	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Filter]("filter", recipe.Between, "Keep the samples for which a Python function returns true.").Explained(`
Other samples are not errors or losses. The number of batches is then only a bound, and several ranks need 'steps_per_epoch'.`,
	`.filter(is_large, fields="image")`).Called("function, *, fields"))

// Filter are the arguments of the operation filter.
type Filter struct {
	recipe.Python
	recipe.Pace
}

// Complete implements [recipe.Completer].
func (f Filter) Complete() recipe.Args {
	f.Python = f.Python.Complete()
	return &f
}

// Identity implements [recipe.Identifier].
func (f Filter) Identity(recipe.Recipe) recipe.Args { return &Filter{Python: f.Python.Identity()} }

// Check implements [recipe.Args].
func (f *Filter) Check(in sample.Schema) (sample.Schema, error) {
	return in, errors.Join(append(f.CheckCall(in), f.CheckPace())...)
}

// Traits implements [recipe.Traited].
func (f *Filter) Traits() recipe.Traits {
	return recipe.Traits{Count: recipe.Fewer, Call: &recipe.Call{Kind: recipe.FilterCall, Python: f.Python, Pace: f.Pace}}
}

// WithPace implements [recipe.Paced].
func (f Filter) WithPace(p recipe.Pace) recipe.Args {
	f.Pace = p
	return &f
}
