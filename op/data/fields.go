package data

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

func count(all []string, one string) (n int) {
	for _, name := range all {
		if name == one {
			n++
		}
	}
	return n
}

// checkFields says which names are none of a field, or come twice.
func checkFields(in sample.Schema, names []string) error {
	if names == nil {
		return errors.New("lacks the argument fields")
	}
	if len(names) == 0 {
		return recipe.Wrong("fields", "is empty: give names of %s", words.List(in.Names()))
	}
	errs := []error{argument.CheckNames("fields", names)}
	for i, name := range names {
		if in.Find(name) < 0 {
			errs = append(errs, recipe.Wrong(fmt.Sprintf("fields[%d]", i), "is an %w", words.Unknown("field", name, in.Names())))
		}
	}
	return errors.Join(errs...)
}

// keep returns what a step leaves of a schema, unless something is wrong with it.
func keep(in sample.Schema, s recipe.FieldStep, wrong error) (sample.Schema, error) {
	if wrong != nil {
		return nil, wrong
	}
	before, after := s.Kept(in)
	out := make(sample.Schema, len(before))
	for i, name := range before {
		out[i] = sample.Field{Name: after[i], Type: in[in.Find(name)].Type}
	}
	if recipe.IsBare(out) && !recipe.IsBare(in) && in.Find(routed) < 0 {
		return nil, recipe.Wrong("fields", recipe.OnlyBare, "leaves")
	}
	return out, nil
}

// routed is the field that Python's route by a function puts beside a sample, which may
// be a value that is no dict.
const routed = "route.by"
