package compile

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
)

// Terms are the demands of a configuration on a recipe.
type Terms struct {
	core.Policies
	World int  // ranks
	Agree bool // ranks must yield as many batches, and nothing else makes them
}

// Remedy says what to do where ranks could yield different numbers of batches.
const Remedy = "set steps_per_epoch, or initialise torch.distributed before .loader(), so that ranks agree while they run"

// Check refuses a recipe that cannot keep the terms, before any source is listed.
func (t Terms) Check(r recipe.Recipe) error {
	return errors.Join(t.checkIterated(r), t.checkAggregates(r), t.checkWaits(r))
}

// CheckRanks refuses what could make ranks yield different numbers of batches.
func (t Terms) CheckRanks(r recipe.Recipe, p fuse.Plan) error {
	if !t.Agree {
		return nil
	}
	// If one rank has fewer batches, the others wait for it forever.
	for of := &p; of != nil; of = of.Samples.Batches {
		if Groups(r, *of) && !of.Batch.Lists {
			return fmt.Errorf("%w: %s makes batches of samples that are alike, with world_size %d: "+
				"ranks could yield different numbers of batches; %s",
				core.ErrConfig, of.Last.Names[len(of.Last.Names)-1], t.World, Remedy)
		}
		if b := of.Samples.Batches; b != nil && b.Batch.Collate != nil && of.Samples.Unbatches() {
			return fmt.Errorf("%w: unbatch splits batches made by the collate of %s, with world_size %d: "+
				"they may have any number of rows, and ranks could yield different numbers of batches; %s",
				core.ErrConfig, b.Last.Names[len(b.Last.Names)-1], t.World, Remedy)
		}
	}

	if name, ok := t.Does(core.Skip, r); ok {
		return fmt.Errorf("%w: on_error=%q of the step %q with world_size %d: ranks could yield different numbers "+
			"of batches; use on_error=%q, or %s", core.ErrConfig, core.Skip, name, t.World, core.Replace, Remedy)
	}
	for s := range r.Counting() {
		switch recipe.TraitsOf(s.Args).Count {
		case recipe.Fewer, recipe.More, recipe.Gathers, recipe.Times:
			return fmt.Errorf("%w: %s %q with world_size %d: ranks could yield different numbers of batches; "+
				"%s", core.ErrConfig, s.Op, s.Name, t.World, Remedy)
		}
	}
	if r.Gathered() {
		return fmt.Errorf("%w: batch inside merge or route, with world_size %d: ranks could yield different numbers of batches; "+
			"%s", core.ErrConfig, t.World, Remedy)
	}
	for _, m := range p.Samples.Merges() {
		if m.Order == "arrival" && m.Until == "shortest" {
			return fmt.Errorf("%w: merge %q by arrival until the shortest ends, with world_size %d: "+
				"ranks could yield different numbers of batches; use another order, or until longest, "+
				"or %s", core.ErrConfig, m.Name, t.World, Remedy)
		}
	}
	return nil
}

// checkWaits refuses batches by time on several ranks.
func (t Terms) checkWaits(r recipe.Recipe) error {
	for _, s := range r.All() {
		if b := recipe.TraitsOf(s.Args).Batches; b != nil && b.MaxWait > 0 && t.World > 1 {
			return fmt.Errorf("%w: max_wait of %q, with world_size %d: ranks would have other numbers of batches, "+
				"of other sizes; leave max_wait out, or give each rank a loader of its own, with world_size=1",
				core.ErrConfig, s.Name, t.World)
		}
	}
	return nil
}

// checkIterated refuses what needs the number of samples in a source that is iterated
// over, or any of them but the next.
func (t Terms) checkIterated(r recipe.Recipe) error {
	name := ""
	for _, s := range r.All() {
		if call := recipe.TraitsOf(s.Args).Call; call != nil && call.Iterated() && name == "" {
			name = s.Name
		}
	}
	if name == "" {
		return nil
	}

	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{core.ErrConfig}, args...)...)
	}

	// Each rank has an object of its own, which cannot know when those of others end.
	if t.Agree {
		return refuse("the source %q is iterated over, with world_size %d: ranks could "+
			"yield different numbers of batches; %s", name, t.World, Remedy)
	}

	if step, ok := t.Does(core.Replace, r); ok {
		where := ""
		if step != "" {
			where = fmt.Sprintf(" of the step %q", step)
		}
		return refuse("on_error=%q%s: the source %q is iterated over, and cannot give another "+
			"sample instead of a bad one; use %q", core.Replace, where, name, core.Skip)
	}

	rates := []recipe.MaxErrors{t.MaxErrors}
	for _, s := range r.All() {
		if s.Failures != nil && s.Failures.MaxErrors != nil {
			rates = append(rates, *s.Failures.MaxErrors)
		}
	}
	for _, m := range rates {
		if m.Rate != 0 {
			return refuse("max_errors is %v of the samples: the source %q is iterated over, "+
				"and their number is unknown; give a number of samples", m.Rate, name)
		}
	}
	return nil
}

// checkAggregates refuses what would have samples made again that were made of several.
func (t Terms) checkAggregates(r recipe.Recipe) error {
	name, step := replacedBehind(r.Steps, "", false)
	if name == "" {
		return nil
	}
	const why = "%w: on_error=%q%s: %q makes samples from several, and cannot give another instead of a bad one; " +
		"use %q, or set %[2]q on steps before it"
	switch {
	case t.OnError == core.Replace:
		return fmt.Errorf(why, core.ErrConfig, core.Replace, "", name, core.Skip)
	case step != "":
		return fmt.Errorf(why, core.ErrConfig, core.Replace, " of the step \""+step+"\"", name, core.Skip)
	}
	return nil
}

// replacedBehind finds a step that makes samples of several, and one after it that has
// others come in their places.
func replacedBehind(steps recipe.Chain, around string, inside bool) (name, step string) {
	name = around
	for i, s := range steps {
		if name != "" && step == "" && s.Failures != nil && core.OnError(s.Failures.OnError) == core.Replace {
			step = s.Name
		}

		if t := recipe.TraitsOf(s.Args); t.Count == recipe.Gathers || t.Batches != nil && (inside || i < len(steps)-1) {
			name = s.Name
		}

		before := name
		for _, of := range recipe.ChainsOf(s.Args) {
			n, bad := replacedBehind(of, before, true)
			if n != "" {
				name = n
			}
			if step == "" {
				step = bad
			}
		}
	}
	return name, step
}
