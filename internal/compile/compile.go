package compile

import (
	"fmt"

	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/custom"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
)

// Compile makes a pipeline of a plan.
func Compile(p fuse.Plan, t Target) (*Program, error) {
	last, at, err := newCompiler(&p, t).section(&p, nowhere())
	if err != nil {
		return nil, err
	}
	end := last.end
	var known facts
	last.tell(&known)
	t.Env.Room = at.Columns.Room

	out := &Program{
		Collating: end.Collating, Drops: known.programs || known.drops, Uneven: known.uneven,
		Makes: known.makes, Counted: known.makes && !known.uncounted && !known.programs,
		Gathers: known.gathers, Cuts: known.cuts, Relabels: known.relabels,
		Replaceable: known.spends, Skipping: known.skips, Judges: known.judges,
		Files: t.Env.Held,
	}
	switch {
	case end.Function != nil:
		out.Writers = end.Function.Pool
	case end.Collating != nil:
		out.Writers = end.Collating.Pool
	}
	// Only the first section has sources; the others are given batches.
	first := last
	for first.line.batches != nil {
		first = first.line.batches
	}
	out.Samples, out.Exact = first.line.epoch()
	out.Batches, out.Exact = last.epoch()
	if t.Lanes != nil {
		out.Rounds = func(first, end int) (int64, bool) { return t.Lanes.rounds(last, first, end) }
		out.Batches, out.Exact = out.Rounds(t.Lanes.First, t.Lanes.First+len(t.Lanes.Sources))
	}

	j := joiner{Target: &t, Program: out, wrong: &err}
	var of counted
	if out.Flow, of = j.join(last, false); err == nil {
		taken(of, last.needs(), t.Prefetch)
		err = out.Flow.Check()
	}
	return out, err
}

// StageOperations returns the operations of the stages of a plan whose samples take one
// way: to follow one sample without a pipeline, as tests do.
func StageOperations(p fuse.Plan, t Target) (all []core.Guarded, err error) {
	whole, at, err := newCompiler(&p, t).section(&p, nowhere())
	if err != nil {
		return nil, err
	}
	t.Env.Room = at.Columns.Room
	for _, s := range whole.line.steps {
		all = append(all, s.stage.op)
	}
	return all, nil
}

// CheckCode finds steps that are registered without code: those of recipe.Register alone.
func CheckCode(r recipe.Recipe, p fuse.Plan) error {
	for _, part := range p.Parts() {
		if part.Step == nil || core.HasCode(part.Step.Args) {
			continue
		}
		for n, s := range r.All() {
			if s.Name == part.Step.Name {
				return &recipe.Error{Step: n, Name: s.Name,
					Err: fmt.Errorf("is %s, for which the engine has no code: headrace.Register brings it", s.Op)}
			}
		}
	}
	if _, ok := p.Batch.Own.(custom.Classifier); p.Batch.Own != nil && !ok {
		return fmt.Errorf("recipe: step %q: the engine has no code for it: headrace.RegisterBatching brings it", p.Last.Names[0])
	}
	return nil
}
