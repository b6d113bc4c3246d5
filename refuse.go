package headrace

import (
	"fmt"
	"strings"

	"headrace/extern"
	"headrace/internal/compile"
	"headrace/internal/ops"
	"headrace/recipe"
	"headrace/recipe/fuse"
)

// checkIterated refuses what needs to know how many samples a source has, or any of them
// but the next.
func checkIterated(r recipe.Recipe, c Config) error {
	name := ""
	for _, s := range r.All() {
		if o, ok := s.Args.(*recipe.Object); ok && o.Iterated() && name == "" {
			name = s.Name
		}
	}
	if name == "" {
		return nil
	}

	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...)
	}

	if c.mustAgree() {
		return refuse("the source %q is iterated over, with world_size %d: ranks could yield different numbers of batches; say steps_per_epoch", name, c.WorldSize)
	}

	if step, ok := (ops.Policies{OnError: c.OnError}).Does(Replace, r); ok {
		where := ""
		if step != "" {
			where = fmt.Sprintf(" of the step %q", step)
		}
		return refuse("on_error=%q%s: the source %q is iterated over, and no other of its samples can be had in the place of a bad one; use %q", Replace, where, name, Skip)
	}

	rates := []MaxErrors{c.MaxErrors}
	for _, s := range r.All() {
		if s.Failures != nil && s.Failures.MaxErrors != nil {
			rates = append(rates, *s.Failures.MaxErrors)
		}
	}
	for _, m := range rates {
		if m.Rate != 0 {
			return refuse("max_errors is %v of the samples: the source %q is iterated over, and nobody knows how many they are; say a number of them", m.Rate, name)
		}
	}
	return nil
}

// checkPlaces refuses functions that the program calls, or workers that it describes, where
// there is no program.
func checkPlaces(r recipe.Recipe, o Options) error {
	program, sets := false, map[string]extern.Set{}
	if o.Python != nil {
		program, sets = o.Python.Program != nil, o.Python.Sets
	}
	for _, s := range r.All() {
		where := pythonOf(s.Args).Where
		if args, ok := s.Args.(*recipe.FlatMap); ok {
			where = args.Where
		}
		if name, named := strings.CutPrefix(where, recipe.SetPrefix); named {
			if _, ok := sets[name]; !ok {
				return fmt.Errorf("%w: %s: where=%q names workers that no program has described: use \"process\" or \"thread\"", ErrConfig, s.Name, where)
			}
		}
		if where == recipe.Here && !program && !o.Look {
			return fmt.Errorf("%w: %s: where=%q is for functions of a Python program, and no such program opens this recipe: open it with headrace.load(), or use \"process\" or \"thread\"", ErrConfig, s.Name, where)
		}
	}
	return nil
}

// checkAggregates refuses what would have samples made again that were made of several.
func checkAggregates(r recipe.Recipe, c Config) error {
	name, step := replacedBehind(r.Steps, "")
	if name == "" {
		return nil
	}
	const why = "%w: on_error=%q%s: %q makes samples of several, and no other can be had in the place of a bad one; use %q, or say %[2]q at steps before it"
	switch {
	case c.OnError == Replace:
		return fmt.Errorf(why, ErrConfig, Replace, "", name, Skip)
	case step != "":
		return fmt.Errorf(why, ErrConfig, Replace, " of the step \""+step+"\"", name, Skip)
	}
	return nil
}

// replacedBehind finds a step that makes samples of several, and one behind it that has
// others come in their places.
func replacedBehind(steps recipe.Chain, around string) (name, step string) {
	name = around
	for i, s := range steps {
		if name != "" && step == "" && s.Failures != nil && OnError(s.Failures.OnError) == Replace {
			step = s.Name
		}

		var inside []recipe.Chain
		switch args := s.Args.(type) {
		case *recipe.Aggregate:
			name = s.Name
		case *recipe.Batch, *recipe.BucketBatch, *recipe.Pack, recipe.Batcher:
			if i < len(steps)-1 {
				name = s.Name
			}
		case *recipe.Merge:
			inside = args.Of
		case *recipe.Route:
			for _, b := range args.Branches {
				inside = append(inside, b.Steps)
			}
		}

		before := name
		for _, of := range inside {
			n, bad := replacedBehind(of, before)
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

// checkRanks refuses what could make ranks yield different numbers of batches.
func (l *Loader) checkRanks(p fuse.Plan) error {
	if l.config.Uneven && l.batch.DropLast {
		return fmt.Errorf("%w: uneven has every sample come, and drop_last leaves some out: takes one of them", ErrConfig)
	}
	if !l.config.mustAgree() {
		return nil
	}
	for of := &p; of != nil; of = of.Samples.Batches {
		if compile.Groups(l.recipe, *of) {
			return fmt.Errorf("%w: %s makes batches of samples that are alike, with world_size %d: ranks could yield different numbers of batches; say steps_per_epoch",
				ErrConfig, of.Last.Names[len(of.Last.Names)-1], l.config.WorldSize)
		}
		if b := of.Samples.Batches; b != nil && b.Batch.Collate != nil && of.Samples.Unbatches() {
			return fmt.Errorf("%w: unbatch takes apart what collate of %s has made, with world_size %d: that may have any number of rows, and ranks could yield different numbers of batches; say steps_per_epoch",
				ErrConfig, b.Last.Names[len(b.Last.Names)-1], l.config.WorldSize)
		}
	}
	if name, ok := l.failing().Does(Skip, l.recipe); ok {
		return fmt.Errorf("%w: on_error=%q of the step %q with world_size %d: ranks could yield different numbers of batches; use on_error=%q, or say steps_per_epoch", ErrConfig, Skip, name, l.config.WorldSize, Replace)
	}
	for _, s := range l.recipe.All() {
		switch s.Args.(type) {
		case *recipe.Filter, *recipe.FlatMap, *recipe.Aggregate:
			return fmt.Errorf("%w: %s %q with world_size %d: ranks could yield different numbers of batches; say steps_per_epoch", ErrConfig, s.Op, s.Name, l.config.WorldSize)
		}
	}
	for _, m := range p.Samples.Merges() {
		if m.Order == "arrival" && m.Until == "shortest" {
			return fmt.Errorf("%w: merge %q by arrival until the shortest ends, with world_size %d: ranks could yield different numbers of batches; use another order, or until longest, or say steps_per_epoch", ErrConfig, m.Name, l.config.WorldSize)
		}
	}
	return nil
}
