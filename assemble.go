package headrace

import (
	"context"
	"fmt"
	"os"

	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/compile"
	"github.com/headrace/headrace/internal/ops"
	"github.com/headrace/headrace/internal/report"
	"github.com/headrace/headrace/internal/resume"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

// materials are the parts of a loader that exist before it, besides its recipe.
type materials struct {
	config  Config
	options Options
	lists   *source.Lister // makes sources, and lists each once
	room    int            // bytes of a slot, if a function makes batches of any size
	most    int64          // samples of each source; 0: all
	probes  bool           // nothing runs but for a first sample, and the host goes on
	host    *ops.Host      // that has workers already; nil: none does
}

// design is the description of a loader. All steps of assemble read it; none changes it.
type design struct {
	config  Config // with defaults
	options Options
	recipe  recipe.Recipe
	schema  sample.Schema // of its rows
	plan    fuse.Plan
	ahead   bool // the user has not said how many batches are ready
}

// assemble makes the loader of a recipe whose rows have this schema, in steps of which
// each has the results of those before.
func assemble(ctx context.Context, r recipe.Recipe, schema sample.Schema, m materials) (_ *Loader, wrong error) {
	d, err := m.design(r, schema)
	if err != nil {
		return nil, err
	}
	listed, err := listSources(ctx, d, m.lists, m.most)
	if err != nil {
		return nil, err
	}
	shapes, err := layOut(d, listed, m.room)
	if err != nil {
		return nil, err
	}
	d.config.Prefetch = shapes.prefetch

	to := &consumer{announcing: d.options.Announce, holding: d.options.Held}
	held, err := allocate(d, listed, shapes, to)
	if err != nil {
		return nil, err
	}
	crew, err := hire(d, listed, m.host)
	if err != nil {
		return nil, err
	}
	defer func() {
		if wrong != nil && m.host == nil { // another host is closed by its owner
			ops.HostOf(crew.env).Close()
		}
	}()

	program, err := compileProgram(d, listed, shapes, held, crew)
	if err != nil {
		return nil, err
	}
	to.writers = program.Writers
	ops.HostOf(crew.env).Start() // while workers import modules, the rest is looked up

	known, err := foresee(d, listed, shapes, program)
	if err != nil {
		return nil, err
	}
	known.info.Workers, known.info.HoldLimit = crew.workers, held.limit
	warnOfWeights(d, program, known.extent.Steps*int64(shapes.last.Rows))

	dead, err := report.OpenDeadLetters(string(d.config.DeadLetters), d.config.DeadLettersOwn, d.config.Rank, d.options.Warn)
	if err != nil {
		return nil, &Mistake{Key: "dead_letters", Err: err}
	}
	return &Loader{
		config: d.config, options: d.options, recipe: r,
		assembly: assembly{
			listing: listed, budget: held.budget, arena: held.arena, slots: held.slots, consumer: to, gate: crew.gate, work: crew.env,
			compiled: program, extent: known.extent, lists: m.lists, probes: m.probes,
		},
		epoch: epoch{
			replacements: resume.Replacements{Limit: d.config.MaxErrors.Limit(known.info.SamplesPerEpoch), Own: program.Replaceable},
		},
		watched: watched{tracing: report.Tracing{Elsewhere: d.options.Announce != nil}, dead: dead},
		live:    live{info: known.info, workers: map[string]int{}},
	}, nil
}

// design completes a description.
func (m materials) design(r recipe.Recipe, schema sample.Schema) (design, error) {
	c := m.config.withDefaults()
	p, err := planOf(r, c)
	return design{config: c, options: m.options.withDefaults(), recipe: r, schema: schema, plan: p, ahead: m.config.Prefetch == 0}, err
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

func (o Options) withDefaults() Options {
	if o.Gate == nil {
		o.Gate = NewGate()
	}
	if o.Held == nil {
		o.Held = func(*arena.HeldError) {}
	}
	if o.Warn == nil {
		o.Warn = func(string, string) {}
	}
	if o.Log == nil {
		o.Log = extern.Print(os.Stderr)
	}
	return o
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

// compileProgram makes a pipeline of the plan.
func compileProgram(d design, from listing, l layouts, held memory, w crew) (*compile.Program, error) {
	return compile.Compile(d.plan, compile.Target{
		Env: w.env, Sources: from.sources, Sections: sectionsOf(d, from, l, held, w.env), Lane: held.budget.Lane(),
		Policies: d.policies(from), Gate: w.gate.stages(),
		Workers: w.workers, Readers: readersFor(w.workers), Prefetch: d.config.Prefetch,
		InOrder: d.config.Order == InputOrder, Library: d.config.JPEG == TurboJPEG,
		Share: func(samples int64) int64 { return from.divided(samples, d.config.WorldSize, d.config.Rank).Len() },
	})
}

// warnOfWeights tells about samples that merges by weights leave out of so many.
func warnOfWeights(d design, program *compile.Program, samples int64) {
	for _, m := range program.Mixes {
		if lost := m.Lost(samples); lost != "" {
			d.options.Warn("weights", lost)
		}
	}
}

// checkRanks refuses a configuration that the ranks of this recipe cannot share.
func checkRanks(d design) error {
	if d.config.Uneven && d.plan.First().Batch.DropsLast() {
		return fmt.Errorf("%w: uneven delivers every sample, and drop_last leaves some out: use only one of them", ErrConfig)
	}
	return d.config.terms().CheckRanks(d.recipe, d.plan)
}
