package survey

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

// Survey finds out what functions of Python give where a recipe does not say so: what
// they make of the first sample of epoch 0 that comes to them, on all ranks. So the first
// samples are worked on once more than the run does.
type Survey struct {
	Host  *python.Host // whose workers try the functions
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

	// Unnamed says what to write where the object gives samples whose values have no
	// fields, such as tuples, and no function makes anything else of them; empty: it is
	// not so.
	Unnamed string

	guesses []guess  // extents that first samples have told
	ragged  []string // fields whose first extent differs, as a batch says
	learned bool     // some by a step of the engine
}

// AtEnd finds out at the end of an epoch what no sample has told.
type AtEnd func(context.Context) (found bool, err error)

// Made is a batch that a function has made.
type Made struct {
	Gives  sample.Schema
	Bytes  int
	Failed error // the first sample that was lost on the way to it
}

// Complete returns the recipe with what its functions give.
func (f *Survey) Complete(ctx context.Context, r recipe.Recipe) (recipe.Recipe, error) {
	for _, s := range r.All() {
		if b := recipe.TraitsOf(s.Args).Batches; b != nil {
			f.ragged = append(f.ragged, b.Ragged...)
		}
	}
	steps, err := f.chain(ctx, r, r.Steps, nil)
	if r.Steps = steps; err != nil {
		return r, err
	}
	if makes(r) {
		f.Unnamed = ""
	}
	f.relax(r)
	return r, nil
}

// relax leaves extents of a recipe open, if it is right with those that first samples
// told, or if files told them: steps for sequences need them open.
func (f *Survey) relax(r recipe.Recipe) {
	check := func() error { _, err := r.Check(); return err }
	if f.learned || check() == nil {
		f.loosen(check)
	}
}

// makes tells whether some function makes samples, or batches, of samples.
func makes(r recipe.Recipe) bool {
	for _, s := range r.All() {
		call := recipe.TraitsOf(s.Args).Call
		if call != nil && call.Gives != nil && call.Kind != recipe.SourceCall {
			return true
		}
	}
	return false
}

// Needed reports whether some step does not say its results, and whether one of them is a
// function of Python.
func Needed(r recipe.Recipe) (any, calls bool) {
	for _, s := range r.All() {
		calls = calls || recipe.TraitsOf(s.Args).Call.Unknown()
		any = any || learns(s.Args)
	}
	return any || calls, calls
}

func (f *Survey) chain(ctx context.Context, r recipe.Recipe, steps recipe.Chain, in *branch) (recipe.Chain, error) {
	steps = slices.Clone(steps)
	chained := 0 // steps from here on that were looked at with one before them
	for i, s := range steps {
		var err error
		if i < chained {
			continue
		}
		if chained = i + f.joined(in.all(steps[:i]), steps[i:]); chained > i+1 {
			if err = f.together(ctx, r, steps[:i], steps[i:chained], in); err != nil {
				return nil, err
			}
			continue
		}
		if steps[i].Args, err = f.one(ctx, r, steps[:i], s, in); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// one finds out what a step gives, and those in it, after others, and returns its
// arguments with that.
func (f *Survey) one(ctx context.Context, r recipe.Recipe, before []recipe.Step, s recipe.Step, in *branch) (args recipe.Args, err error) {
	t := recipe.TraitsOf(s.Args)
	i := -1
	args = recipe.EachChain(s.Args, func(steps []recipe.Step) []recipe.Step {
		i++
		if err != nil {
			return steps
		}
		inside := in
		if t.Routing != nil {
			inside = in.into(before, s, i)
		}
		steps, err = f.chain(ctx, r, steps, inside)
		return steps
	})
	if err == nil && learns(args) {
		return f.learn(ctx, r, before, s, in)
	}
	if err != nil || !t.Call.Unknown() {
		return args, err
	}
	var gives recipe.Gives
	switch t.Call.Kind {
	case recipe.SourceCall:
		gives, err = f.object(ctx, r, s, t.Call)
	case recipe.CollateCall:
		gives, err = f.collate(ctx, r, before, s, t, in)
	default:
		gives, err = f.step(ctx, r, before, s, t.Call, in)
	}
	if err != nil {
		return nil, err
	}
	return args.(recipe.Giving).WithGives(gives), nil
}

// joined returns the number of steps, from the first on, that are one chain.
func (f *Survey) joined(before, steps []recipe.Step) int {
	n := 1
	alone := f.Separate || recipe.Batched(before)
	for !alone && n < len(steps) && fuse.Joins(steps[n-1], steps[n]) {
		n++
	}
	return n
}

// together finds the results of the steps of a chain, after others: it is called once.
func (f *Survey) together(ctx context.Context, r recipe.Recipe, before recipe.Chain, steps []recipe.Step, in *branch) error {
	var first *recipe.Step // that does not say it
	for i, s := range steps {
		if first == nil && recipe.TraitsOf(s.Args).Call.Unknown() {
			first = &steps[i]
		}
	}
	if first == nil {
		return nil
	}
	p := &probing{chain: slices.Clone(steps), held: steps[0].Args}
	if err := f.try(ctx, r, before, steps[0], first.Name, p, nil, in); err != nil {
		return err
	}
	for i, s := range steps {
		if recipe.TraitsOf(s.Args).Call.Unknown() {
			gives := f.given(r, s.Name, p.gives[i], p.tuple, i == len(steps)-1 && in == nil)
			steps[i].Args = s.Args.(recipe.Giving).WithGives(gives)
			f.remember(gives.Schema, false)
		}
	}
	return nil
}

// step finds the results of a step, after these.
func (f *Survey) step(ctx context.Context, r recipe.Recipe, before recipe.Chain, s recipe.Step,
	call *recipe.Call, in *branch) (gives recipe.Gives, err error) {
	p := &probing{call: call, held: s.Args, failures: s.Failures}
	failures := s.Failures
	if failures != nil { // its worker watches its time limit, which begins when it does
		unlimited := *failures
		unlimited.TimeLimit = nil
		failures = &unlimited
	}
	if err := f.try(ctx, r, before, s, s.Name, p, failures, in); err != nil {
		return gives, err
	}
	gives = f.given(r, s.Name, p.gives[0], p.tuple, in == nil)
	f.remember(gives.Schema, recipe.Batched(in.all(before)))
	return gives, nil
}

// given returns the results of a step, of which a first sample has told these: if that is
// a tuple, and nothing looks into it, its values are fields.
func (f *Survey) given(r recipe.Recipe, step string, found, tuple sample.Schema, last bool) recipe.Gives {
	if last && tuple != nil && recipe.IsBare(found) && r.UnseenAfter(step) {
		return recipe.Gives{Schema: tuple, Tried: true, Tuple: true}
	}
	return recipe.Gives{Schema: bare(found, r), Tried: true}
}

// bare is what values are that are no dicts, where a first one has told: any, unless they
// are stacked.
func bare(gives sample.Schema, r recipe.Recipe) sample.Schema {
	if recipe.IsBare(gives) {
		gives[0].Type = recipe.Loose(gives[0].Type, r.Stacks())
	}
	return gives
}

// try has functions called with a sample, after steps. Asks is the step whose results are
// not known.
func (f *Survey) try(ctx context.Context, r recipe.Recipe, before recipe.Chain, s recipe.Step,
	asks string, p *probing, failures *recipe.Failures, in *branch) error {
	step := recipe.Step{Op: s.Op, Name: s.Name, Args: p, Failures: failures}
	if p.learner != nil {
		step.Args = &learning{p}
	}
	steps := append(slices.Clone(before), step)
	end := recipe.Step{Name: s.Name + ".probe", Args: recipe.StackOf(recipe.Batches{Size: 1})}
	if in != nil {
		return f.tryIn(ctx, in, r, steps, end, asks, p)
	}
	made, err := f.first(ctx, recipe.Recipe{Seed: r.Seed, Steps: append(steps, end)}, p.atEnd)
	return noneCame(r, asks, made, err)
}

// noneCame names the step for which no sample came, with the first loss: a run that skips
// losses would never show it.
func noneCame(r recipe.Recipe, name string, made Made, err error) error {
	if err != io.EOF {
		return err
	}
	if made.Failed != nil {
		return mistake(r, name, fmt.Errorf("has no gives, and no sample came to find it from: set gives. The first that failed:\n  %w",
			made.Failed))
	}
	return mistake(r, name, errors.New("has no gives, and no sample came to find it from: set gives"))
}

// collate finds the results of a function for the first batch, of its branch if it is in
// one.
func (f *Survey) collate(ctx context.Context, r recipe.Recipe, before recipe.Chain, s recipe.Step,
	t recipe.Traits, in *branch) (gives recipe.Gives, err error) {
	b := recipe.Batches{Size: t.Batches.Size, Collate: t.Batches.Collate}
	if b.Size == 0 {
		b.Size = max(1, t.Batches.GlobalSize/max(1, f.World))
	}
	full := b.Size
	if t.Batches.MaxWait > 0 {
		b.Size = 1 // the others may come late
	}
	end := recipe.Step{Op: s.Op, Name: s.Name, Args: recipe.StackOf(b), Failures: s.Failures}
	if !t.Batches.Stacks() {
		end.Args, full = s.Args, b.Size // of samples that belong together, which fill a batch
	}
	made, err := f.collated(ctx, r, before, end, in)
	if err != nil {
		return gives, noneCame(r, s.Name, made, err)
	}
	made.Bytes *= full / b.Size // of a full batch
	if in == nil && slices.ContainsFunc(r.Steps, func(of recipe.Step) bool { return of.Name == s.Name }) {
		f.Made = made // the loader's own batches, or those that are taken apart
	}
	gives = *t.Call.Gives
	gives.Schema = made.Gives
	return gives, nil
}

// collated has a function make the first batch of the samples after steps, and, in a
// branch, of other samples if none goes there.
func (f *Survey) collated(ctx context.Context, r recipe.Recipe, before recipe.Chain, end recipe.Step, in *branch) (made Made, err error) {
	never := func(context.Context) (bool, error) { return false, nil }
	if in == nil {
		return f.first(ctx, recipe.Recipe{Seed: r.Seed, Steps: append(slices.Clone(before), end)}, never)
	}
	all := in.all(before)
	schema, err := recipe.Recipe{Seed: r.Seed, Steps: all}.Check()
	if err != nil {
		return made, err
	}
	only := recipe.Recipe{Seed: r.Seed, Steps: append(in.within(before, schema), end)}
	if made, err = f.first(ctx, only, never); err != io.EOF && !errors.Is(err, errElsewhere) {
		return made, err
	}
	only.Steps = append(slices.Clone(all), end)
	if made, err = f.first(ctx, only, never); err != nil && err != io.EOF {
		err = elsewhereFailed(r, end.Name, err)
	}
	return made, err
}

// first makes the first batch of the beginning of a recipe.
func (f *Survey) first(ctx context.Context, prefix recipe.Recipe, atEnd AtEnd) (Made, error) {
	// The sample that comes to the step need not be the first.
	f.relax(prefix)
	defer f.tighten()
	schema, err := prefix.Check()
	if err != nil {
		return Made{}, err
	}

	return f.First(ctx, prefix, schema, atEnd)
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
