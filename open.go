package headrace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/internal/survey"
	_ "github.com/headrace/headrace/op" // what recipes can say
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/store"
)

// Open checks everything that can be checked before a sample is read, lists the source,
// and returns a loader that has not begun. Errors join all mistakes of the recipe and the
// configuration.
//
// Where a function of Python does not say what it gives, the first sample is worked on up
// to there. With [Options.Look], Open imports and calls nothing.
func Open(ctx context.Context, r recipe.Recipe, c Config, o Options) (_ *Loader, wrong error) {
	r = r.Complete()
	schema, err := r.Check()
	if err == nil {
		err = r.CheckWhole()
	}
	if err := errors.Join(err, c.Check()); err != nil {
		return nil, err
	}
	if err := errors.Join(c.withDefaults().terms().Check(r), checkPlaces(r, o)); err != nil {
		return nil, err
	}

	m := materials{config: c, options: o, lists: source.NewLister(r), room: roomFor(0, c.withDefaults()), hosts: hosts(),
		unwatch: store.Watch(func(s store.Silence) { o.withDefaults().Warn("host", s.String()) })}
	defer func() {
		if wrong != nil {
			m.unwatch()
			m.lists.Close()
			if m.host != nil {
				m.host.Close()
			}
		}
	}()
	warn := o.withDefaults().Warn
	noted, err := m.lists.Read(ctx, r, o.Scanned, func(message string) { warn("index", message) })
	if err != nil {
		return nil, err
	}
	if noted {
		if schema, err = r.Check(); err != nil {
			return nil, err
		}
	}

	unnamed := ""
	if needed, calls := survey.Needed(r); needed {
		if o.Look && (calls || callsPython(r)) {
			return nil, ErrUncalled
		}
		if callsPython(r) {
			if m.host, err = python.NewHost(o.Python, o.withDefaults().Log, false, 1, true); err != nil {
				return nil, err
			}
			m.host.Processes = shareOf(c.withDefaults())
			m.host.Threads = threadsOf(r, shareOf(c.withDefaults()))
		}
		s := survey.Survey{Host: m.host, Rank: c.Rank, World: c.WorldSize, Separate: c.Fuse != nil && !*c.Fuse, First: m.first}
		if r, err = s.Complete(ctx, r); err == nil {
			schema, err = r.Check()
		}
		if err != nil {
			return nil, err
		}
		if m.host != nil {
			m.host.Renew(shareOf(c.withDefaults()), false)
		}
		m.room = roomFor(s.Made.Bytes, c.withDefaults())
		unnamed = s.Unnamed
	}

	l, err := assemble(ctx, r, schema, m)
	if err != nil {
		return nil, err
	}
	if unnamed != "" && r.Stacks() {
		warn("unnamed", unnamed)
	}
	return l, nil
}

// checkPlaces refuses functions that the program calls, or workers that it describes,
// where there is no program.
func checkPlaces(r recipe.Recipe, o Options) error {
	program, sets := false, map[string]extern.Set{}
	if o.Python != nil {
		program, sets = o.Python.Program != nil, o.Python.Sets
	}
	for _, s := range r.All() {
		where := ""
		if call := recipe.TraitsOf(s.Args).Call; call != nil {
			where = call.Where
		}
		if name, named := strings.CutPrefix(where, recipe.SetPrefix); named {
			if _, ok := sets[name]; !ok {
				return fmt.Errorf("%w: %s: where=%q names workers that no program has described: "+
					"use \"process\" or \"thread\"", ErrConfig, s.Name, where)
			}
		}
		if recipe.InProgram(where) && !program && !o.Look {
			return fmt.Errorf("%w: %s: where=%q is for functions of a Python program, and no such program "+
				"opens this recipe: open it with headrace.load(), or use \"process\" or \"thread\"", ErrConfig, s.Name, where)
		}
	}
	return nil
}

// threadsOf is how many threads the steps of a recipe call functions in, at most, by
// where these are.
func threadsOf(r recipe.Recipe, each int) map[string]int {
	all := map[string]int{}
	for _, s := range r.All() {
		call := recipe.TraitsOf(s.Args).Call
		if call == nil || call.Streams() {
			continue
		}
		if call.Workers != nil {
			all[call.Where] += *call.Workers
		} else {
			all[call.Where] += each
		}
	}
	return all
}

// first makes the first batch of a recipe for a survey, with one worker, as one rank:
// of the first sample, or, if none comes of that, of twice as many, and so on. What
// functions have made of samples is kept, so none is called for one again.
func (m materials) first(ctx context.Context, r recipe.Recipe, schema sample.Schema, atEnd survey.AtEnd) (made survey.Made, err error) {
	c := &m.config
	c.Epochs, c.Rank, c.WorldSize, c.StepsPerEpoch, c.Workers, c.Order, c.Prefetch = new(1), 0, 1, nil, new(1), InputOrder, new(1)
	c.Uneven = false   // it promises every sample, and this run leaves out a last batch
	c.DeadLetters = "" // the run tells of what it loses itself

	r.Steps = recipe.WithoutLanes(recipe.Unpaced(r.Steps)) // the first sample decides
	o := &m.options
	o.Announce, o.Held, o.Warn, o.Ledger = nil, nil, nil, false
	o.Lost = func(lost Lost) {
		if made.Failed == nil {
			made.Failed = lost.Err
		}
	}
	m.probes = true

	last := len(r.Steps) - 1
	end := recipe.TraitsOf(r.Steps[last].Args).Batches
	m.most = int64(max(1, end.Size))
	if recipe.Batched(r.Steps[:last]) || r.Gathered() || !end.Stacks() {
		m.most = 0
	}
	for _, s := range r.All() {
		if recipe.TraitsOf(s.Args).Count == recipe.Gathers || survey.Gathers(s.Args) {
			m.most = 0 // what it makes of the samples that it has at the end may be unlike all else
		}
	}

	for {
		r.Steps = slices.Clone(r.Steps)
		if end.DropLast = m.most > 0; end.Stacks() {
			r.Steps[last].Args = recipe.StackOf(*end)
		}
		gives, more, err := m.firstOf(ctx, r, schema, atEnd)
		if err != io.EOF || m.most == 0 {
			gives.Failed = made.Failed
			return gives, err
		}
		if m.most *= 2; !more {
			m.most = 0
		}
	}
}

// firstOf is first of so many samples. More says that the source has more of them.
func (m materials) firstOf(ctx context.Context, r recipe.Recipe, schema sample.Schema,
	atEnd survey.AtEnd) (made survey.Made, more bool, err error) {
	if m.host != nil {
		defer m.host.Renew(1, true)
	}
	l, err := assemble(ctx, r, schema, m)
	if err != nil {
		return made, false, err
	}
	defer l.Close()
	if err := l.Start(State{}, nil); err != nil {
		return made, false, err
	}

	b, err := l.Next(ctx)
	switch {
	case err == io.EOF && m.most > 0:
		more = slices.ContainsFunc(l.begins, (*source.Listing).Cut)
		return made, more, io.EOF
	case err == io.EOF:
		if found, wrong := atEnd(ctx); found || wrong != nil {
			return made, false, wrong
		}
		return made, false, io.EOF
	case err != nil:
		return made, false, err
	}

	b.Release()
	if by := l.compiled.Collating; by != nil {
		made = survey.Made{Gives: by.Found, Bytes: by.Bytes}
	}
	return made, false, nil
}

// roomFor is how large slots are where batches differ: as twice the first one. Where
// nobody has seen one, it is some megabytes: pages that nobody writes cost nothing but a
// place in the budget. Larger batches take memory of their own.
func roomFor(first int, c Config) int {
	if first > 0 {
		return min(2*first, batch.MaxSlot)
	}
	return int(min(max(limitOf(c)/64, 1<<20), 16<<20))
}
