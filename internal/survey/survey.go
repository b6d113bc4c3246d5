package survey

import (
	"context"
	"errors"
	"io"
	"slices"

	"headrace/internal/ops"
	"headrace/recipe"
	"headrace/recipe/fuse"
	"headrace/sample"
)

// Survey finds out what functions of Python give where a recipe does not say so: what
// they make of the first sample of epoch 0 that comes to them, on all ranks. So the first
// samples are worked on once more than the run does.
type Survey struct {
	Host  *ops.Host // whose workers try the functions
	Rank  int
	World int // ranks; 0: 1

	Separate bool // functions of adjacent steps are not called together

	// First makes the first batch of a recipe, whose rows have this schema, drops it, and
	// returns what a function at the end has made of it, if there is one. io.EOF says
	// that the epoch has none; before that, what has been set up for it still is,
	// atEnd is called, and where it finds what was looked for, there is no error.
	First func(ctx context.Context, r recipe.Recipe, schema sample.Schema, atEnd AtEnd) (Made, error)

	// Made is what a function has made of the first batch; zero: none makes batches, or
	// its recipe says what.
	Made Made

	guesses []guess // extents that first samples have told
}

// AtEnd finds out at the end of an epoch what no sample has told.
type AtEnd func(context.Context) (found bool, err error)

// Made is what a function has made of a batch.
type Made struct {
	Gives sample.Schema
	Bytes int
}

// Complete returns the recipe with what its functions give.
func (f *Survey) Complete(ctx context.Context, r recipe.Recipe) (recipe.Recipe, error) {
	steps, err := f.chain(ctx, r, r.Steps, false)
	if r.Steps = steps; err != nil {
		return r, err
	}
	if _, err := r.Check(); err == nil {
		f.loosen(func() error { _, err := r.Check(); return err })
	}
	return r, nil
}

// Needed tells whether some function of Python does not say what it gives.
func Needed(r recipe.Recipe) bool {
	for _, s := range r.All() {
		switch m := s.Args.(type) {
		case *recipe.Object:
			if m.Gives.Schema == nil {
				return true
			}
		case *recipe.Map:
			if m.Gives.Schema == nil {
				return true
			}
		case *recipe.Aggregate:
			if m.Gives.Schema == nil {
				return true
			}
		case *recipe.FlatMap:
			if m.Gives.Schema == nil {
				return true
			}
		case *recipe.Batch:
			if m.Collate != nil && m.Collate.Gives.Schema == nil {
				return true
			}
		}
	}
	return false
}

func (f *Survey) chain(ctx context.Context, r recipe.Recipe, steps recipe.Chain, branch bool) (recipe.Chain, error) {
	steps = slices.Clone(steps)
	chained := 0 // steps from here on that were looked at with one before them
	for i, s := range steps {
		var err error
		if i < chained {
			continue
		}
		if chained = i + f.joined(steps[:i], steps[i:]); chained > i+1 {
			if err = f.together(ctx, r, steps[:i], steps[i:chained], branch); err != nil {
				return nil, err
			}
			continue
		}
		switch args := s.Args.(type) {
		case *recipe.Merge:
			m := *args
			m.Of = slices.Clone(m.Of)
			for k, of := range m.Of {
				if m.Of[k], err = f.chain(ctx, r, of, branch); err != nil {
					return nil, err
				}
			}
			steps[i].Args = &m
		case *recipe.Route:
			for _, b := range args.Branches {
				if _, err := f.chain(ctx, r, b.Steps, true); err != nil {
					return nil, err
				}
			}
		case *recipe.Object:
			o := *args
			if err = f.object(ctx, r, s, &o); err != nil {
				return nil, err
			}
			steps[i].Args = &o
		case *recipe.Map:
			m := *args
			if err = f.step(ctx, r, steps[:i], s, &m, branch); err != nil {
				return nil, err
			}
			steps[i].Args = &m
		case *recipe.Aggregate:
			a, m := *args, recipe.Map{Python: args.Python(), Gives: args.Gives}
			if err = f.step(ctx, r, steps[:i], s, &m, branch); err != nil {
				return nil, err
			}
			a.Gives = m.Gives
			steps[i].Args = &a
		case *recipe.FlatMap:
			m := *args
			if err = f.step(ctx, r, steps[:i], s, (*recipe.Map)(&m), branch); err != nil {
				return nil, err
			}
			steps[i].Args = &m
		case *recipe.Batch:
			if args.Collate == nil {
				continue
			}
			b, c := *args, *args.Collate
			b.Collate = &c
			if err = f.collate(ctx, r, steps[:i], s, &b); err != nil {
				return nil, err
			}
			steps[i].Args = &b
		}
	}
	return steps, nil
}

// joined is how many steps, from the first on, are one chain.
func (f *Survey) joined(before, steps []recipe.Step) int {
	n := 1
	alone := f.Separate || recipe.Batched(before)
	for !alone && n < len(steps) && fuse.Joins(steps[n-1], steps[n]) {
		n++
	}
	return n
}

// together finds out what the steps of a chain give, after others: it is called once.
func (f *Survey) together(ctx context.Context, r recipe.Recipe, before recipe.Chain, steps []recipe.Step, branch bool) error {
	var first *recipe.Step // that does not say it
	for i, s := range steps {
		m, ok := s.Args.(*recipe.Map)
		if !ok {
			continue
		}
		own := *m
		steps[i].Args = &own
		if first == nil && m.Gives.Schema == nil {
			first = &steps[i]
		}
	}
	switch {
	case first == nil:
		return nil
	case branch:
		return inBranch(r, first.Name)
	}
	p := &probing{chain: steps, held: steps[0].Args}
	if err := f.try(ctx, r, before, steps[0], first.Name, p, nil); err != nil {
		return err
	}
	for i, s := range steps {
		if m, ok := s.Args.(*recipe.Map); ok && m.Gives.Schema == nil {
			m.Gives = recipe.Gives{Schema: bare(p.gives[i], r), Tried: true}
			f.remember(m.Gives.Schema, false)
		}
	}
	return nil
}

func inBranch(r recipe.Recipe, name string) error {
	return mistake(r, name, errors.New("has no gives, and is in a branch, which may have no first sample to find it from: set gives"))
}

// step finds out what a step gives, after these.
func (f *Survey) step(ctx context.Context, r recipe.Recipe, before recipe.Chain, s recipe.Step, args *recipe.Map, branch bool) error {
	if args.Gives.Schema != nil {
		return nil
	}
	if branch {
		return inBranch(r, s.Name)
	}
	p := &probing{args: args, held: s.Args, failures: s.Failures}
	failures := s.Failures
	if failures != nil { // its worker watches its time limit, which begins when it does
		unlimited := *failures
		unlimited.TimeLimit = nil
		failures = &unlimited
	}
	if err := f.try(ctx, r, before, s, s.Name, p, failures); err != nil {
		return err
	}
	args.Gives = recipe.Gives{Schema: bare(p.gives[0], r), Tried: true}
	f.remember(args.Gives.Schema, recipe.Batched(before))
	return nil
}

// bare is what values are that are no dicts, where a first one has told: any, unless they
// are stacked.
func bare(gives sample.Schema, r recipe.Recipe) sample.Schema {
	if recipe.IsBare(gives) {
		gives[0].Type = recipe.Loose(gives[0].Type, r.Stacks())
	}
	return gives
}

// try has functions called with a sample, after steps. Asks is the step that does not
// say what it gives.
func (f *Survey) try(ctx context.Context, r recipe.Recipe, before recipe.Chain, s recipe.Step, asks string, p *probing, failures *recipe.Failures) error {
	prefix := recipe.Recipe{Seed: r.Seed, Steps: append(slices.Clone(before),
		recipe.Step{Op: s.Op, Name: s.Name, Args: p, Failures: failures}, recipe.Step{Name: s.Name + ".probe", Args: &recipe.Batch{Size: 1}})}
	_, err := f.first(ctx, prefix, r, asks, p.atEnd)
	return err
}

// collate finds out what a function makes of the first batch.
func (f *Survey) collate(ctx context.Context, r recipe.Recipe, before recipe.Chain, s recipe.Step, args *recipe.Batch) error {
	if args.Collate.Gives.Schema != nil {
		return nil
	}
	b := recipe.Batch{Size: args.Size, Collate: args.Collate}
	if b.Size == 0 {
		b.Size = max(1, args.GlobalSize/max(1, f.World))
	}
	only := recipe.Recipe{Seed: r.Seed, Steps: append(slices.Clone(before), recipe.Step{Op: s.Op, Name: s.Name, Args: &b, Failures: s.Failures})}
	made, err := f.first(ctx, only, r, s.Name, func(context.Context) (bool, error) { return false, nil })
	if err != nil {
		return err
	}
	args.Collate.Gives.Schema, f.Made = made.Gives, made
	return nil
}

// first makes the first batch of the beginning of a recipe: up to the step of this name.
func (f *Survey) first(ctx context.Context, prefix, r recipe.Recipe, name string, atEnd AtEnd) (Made, error) {
	if _, err := prefix.Check(); err != nil {
		return Made{}, err
	}

	// The sample that comes to the step need not be the first.
	f.loosen(func() error { _, err := prefix.Check(); return err })
	defer f.tighten()
	schema, err := prefix.Check()
	if err != nil {
		return Made{}, err
	}

	made, err := f.First(ctx, prefix, schema, atEnd)
	if err == io.EOF {
		err = mistake(r, name, errors.New("has no gives, and no sample came to find it from: set gives"))
	}
	return made, err
}

// mistake is one of a step.
func mistake(r recipe.Recipe, name string, err error) error {
	for n, s := range r.All() {
		if s.Name == name {
			return &recipe.Error{Step: n, Name: name, Err: err}
		}
	}
	return err
}
