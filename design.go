package headrace

import (
	"fmt"

	"github.com/headrace/headrace/internal/compile"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

// design is the description of a loader. All steps of assemble read it; none changes it.
type design struct {
	config  Config // with defaults
	options Options
	recipe  recipe.Recipe
	schema  sample.Schema // of its rows
	plan    fuse.Plan
	counts  bool // the user has said how many batches are ready
}

// planOf fuses the steps of a recipe, unless a configuration wants each by itself.
func planOf(r recipe.Recipe, c Config) (fuse.Plan, error) {
	plan := fuse.Fuse
	if c.Fuse != nil && !*c.Fuse {
		plan = fuse.Separate
	}
	p, err := plan(r)
	if err == nil {
		err = compile.CheckCode(r, p)
	}
	return p, err
}

// policies are the rules for bad samples.
func (d design) policies(from listing) core.Policies {
	return core.Policies{OnError: d.config.OnError, MaxErrors: d.config.MaxErrors, Sources: len(from.sources)}
}

// does reports whether the loader, or a step of its recipe, does this about bad samples.
func (d design) does(what OnError) bool {
	_, does := (core.Policies{OnError: d.config.OnError}).Does(what, d.recipe)
	return does
}

// checkRanks refuses a configuration that the ranks of this recipe cannot share.
func checkRanks(d design) error {
	if d.config.Uneven && d.plan.First().Batch.DropsLast() {
		return fmt.Errorf("%w: uneven delivers every sample, and drop_last leaves some out: use only one of them", ErrConfig)
	}
	for p := &d.plan; p != nil; p = p.Samples.Batches {
		if n := p.Batch.GlobalSize; n > 0 && n < d.config.WorldSize {
			return fmt.Errorf("%w: global_size of %s is %d, with world_size %d: must be at least one row for each rank",
				ErrConfig, p.Last.Name(), n, d.config.WorldSize)
		}
	}
	return d.config.terms().CheckRanks(d.recipe, d.plan)
}
