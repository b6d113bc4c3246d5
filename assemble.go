package headrace

import (
	"context"
	"slices"

	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/compile"
	"github.com/headrace/headrace/internal/report"
	"github.com/headrace/headrace/internal/resume"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/stats"
)

// materials are the parts of a loader that exist before it, besides its recipe.
type materials struct {
	config  Config
	options Options
	lists   *source.Lister // makes sources, and lists each once
	room    int            // bytes of a slot, if a function makes batches of any size
	most    int64          // samples of each source; 0: all
	probes  bool           // nothing runs but for a first sample, and the host goes on
	host    *python.Host   // that has workers already; nil: none does
	hosts   []stats.Host   // of stores, as they were counted before
	unwatch func()         // ends the warnings about their hosts
}

// assemble makes the loader of a recipe whose rows have this schema, in steps of which
// each has the results of those before.
func assemble(ctx context.Context, r recipe.Recipe, schema sample.Schema, m materials) (_ *Loader, wrong error) {
	d, err := m.design(r, schema)
	if err != nil {
		return nil, err
	}
	if !m.probes { // for which batches are others
		if err := checkSteps(d); err != nil {
			return nil, err
		}
	}
	listed, err := listSources(ctx, d, m.lists, m.most)
	if err != nil {
		return nil, err
	}
	shapes, err := layOut(d, listed, m.room)
	if err != nil {
		return nil, err
	}
	d.config.Prefetch = &shapes.prefetch

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
			python.HostOf(crew.env).Close()
		}
	}()

	program, err := compileProgram(d, listed, shapes, held, crew)
	if err != nil {
		return nil, err
	}
	to.writers = program.Writers
	python.HostOf(crew.env).Start() // while workers import modules, the rest is looked up

	known, err := foresee(d, listed, shapes, program)
	if err != nil {
		return nil, err
	}
	known.info.Workers, known.info.HoldLimit = crew.workers, held.limit

	c := d.config
	dead, err := report.OpenDeadLetters(ctx, string(c.DeadLetters), c.DeadLettersOwn, c.Rank, d.options.Warn)
	if err != nil {
		return nil, &Mistake{Key: "dead_letters", Err: err}
	}
	l := &Loader{
		config: d.config, options: d.options, recipe: r, reading: context.WithoutCancel(ctx), unwatch: m.unwatch,
		assembly: assembly{
			listing: listed, plan: d.plan, budget: held.budget, arena: held.arena, slots: held.slots, consumer: to, gate: crew.gate,
			work: crew.env, compiled: program, extent: known.extent, lists: m.lists, probes: m.probes,
		},
		epoch: epoch{
			replacements: resume.Replacements{Limit: d.config.MaxErrors.Limit(known.info.SamplesPerEpoch), Own: program.Replaceable},
		},
		watched: watched{tracing: report.Tracing{Elsewhere: d.options.Announce != nil}, dead: dead},
		live:    live{info: known.info, workers: map[string]int{}, hosts: m.hosts},
	}
	if l.countable() && !l.begins[0].Sampled() {
		l.info.Places = l.begins[0].Split.Batch
	}
	return l, nil
}

// design completes a description.
func (m materials) design(r recipe.Recipe, schema sample.Schema) (design, error) {
	c := m.config.withDefaults()
	p, err := planOf(r, c)
	return design{config: c, options: m.options.withDefaults(), recipe: r, schema: schema, plan: p, counts: m.config.Prefetch != nil}, err
}

// compileProgram makes a pipeline of the plan.
func compileProgram(d design, from listing, l layouts, held memory, w crew) (*compile.Program, error) {
	return compile.Compile(d.plan, compile.Target{
		Env: w.env, Sources: from.sources, Begins: from.begins, Sections: sectionsOf(d, from, l, held, w.env), Lane: held.budget.Lane(),
		Lanes: from.compiled(d), Policies: d.policies(from), Gate: w.gate.stages(),
		Workers: w.workers, Readers: readersFor(w.workers, from.sources), Prefetch: *d.config.Prefetch, Counts: d.counts,
		InOrder: d.config.Order == InputOrder, Library: d.config.JPEG == TurboJPEG,
		Part: func(samples int64) order.Split { return from.divided(samples, d.config.WorldSize, d.config.Rank) },
	})
}

// sectionsOf returns the makers of batches: the last one for the consumer, those before
// it for later stages, whose batches take the place of samples.
func sectionsOf(d design, from listing, l layouts, held memory, env *core.Env) (all []compile.Section) {
	p := &d.plan
	for _, layout := range l.earlier {
		p = p.Samples.Batches
		slots := &batch.Slots{Layout: layout, Lane: held.budget.Lane(), Memory: &env.Memory}
		all = append(all, compile.Section{Layout: layout, Slots: slots, Rows: from.rowsOf(p), Groups: p == d.plan.First() && from.groups})
	}
	slices.Reverse(all)
	groups := compile.Groups(d.recipe, d.plan)
	return append(all, compile.Section{Layout: l.last, Slots: held.slots, Rows: from.rowsOf(&d.plan), Groups: groups})
}
