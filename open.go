package headrace

import (
	"context"
	"errors"

	"headrace/internal/source"
	"headrace/recipe"
)

// Open checks everything that can be checked before a sample is read, lists the source, and returns a loader that has not begun. Errors join
// all mistakes of the recipe and the configuration.
//
// Where a function of Python does not say what it gives, the first sample is worked on up to there. With [Options.Look], Open imports and calls nothing.
func Open(ctx context.Context, r recipe.Recipe, c Config, o Options) (*Loader, error) {
	r = r.Complete()
	schema, err := r.Check()
	if err := errors.Join(err, c.Check()); err != nil {
		return nil, err
	}
	if err := errors.Join(checkIterated(r, c.withDefaults()), checkAggregates(r, c.withDefaults())); err != nil {
		return nil, err
	}
	f := found{config: c, options: o, listed: map[string]*source.Files{}, suffixes: source.Suffixes(r)}
	if unknown(r) {
		if o.Look {
			return nil, ErrUncalled
		}
		if r, err = f.probe(ctx, r); err == nil {
			schema, err = r.Check()
		}
		if err != nil {
			return nil, err
		}
	}
	return assemble(ctx, r, schema, f.materials(false))
}
