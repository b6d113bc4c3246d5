package compile

import (
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
)

// python makes a part of steps that are functions of Python.
func (b *builder) python(steps fuse.Part) (*python.Function, facts, error) {
	chain := steps.Chain()
	p, out, err := python.NewChain(b.Env, chain, strings.Join(steps.Names[:len(chain)], "+"), b.Schema, &b.Columns)
	if err != nil {
		return nil, facts{}, err
	}
	b.Schema = out
	return p, ofFunction(p), nil
}

// ofFunction are the facts of a function.
func ofFunction(p *python.Function) facts {
	return facts{drops: p.Filters, uncounted: p.Filters, relabels: p.Relabels}
}

// flatMap appends the stage of a function that makes several samples of one. Bytes are
// reserved again after it, for each of the samples that it makes.
func (b *builder) flatMap(p fuse.Part) error {
	b.reach(p)
	next, out, err := python.NewFlatMapFunction(b.Env, p, b.Schema, &b.Columns)
	if err != nil {
		return err
	}
	b.Schema = out
	next.Whole = b.Lanes != nil
	h := b.Policies.Of(p.Failures, b.samples)
	known := ofFunction(next.Function).with(facts{drops: true, makes: true, uncounted: true})
	if next.RefusesReplace = h.Replaces; !h.Replaces {
		known = known.with(handles(p.Name(), h))
	}
	b.append(&stage{
		name: p.Name(), steps: p.Names, python: next.Function, expand: next.Expand, asks: true, losses: h.Policy, known: known,
		order: recipe.TraitsOf(p.Step.Args).Call.Order,
	})
	b.path = append(slices.Clip(b.path), core.PathStep{Do: next.Again, Waits: true})
	b.Memory = nil
	return nil
}

// aggregate appends the stage of an object that gathers samples. None of those that it
// makes can be made again alone.
func (b *builder) aggregate(p fuse.Part) error {
	b.reach(p)
	next, out, err := python.NewAggregateFunction(b.Env, p, b.Schema, &b.Columns)
	if err != nil {
		return err
	}
	b.Schema = out
	h := b.Policies.Of(p.Failures, b.samples)
	known := ofFunction(next.Function).with(facts{drops: true, makes: true, uncounted: true,
		gathers: []string{p.Name()}}).with(handles(p.Name(), h))
	b.append(&stage{name: p.Name(), steps: p.Names, python: next.Function, aggregate: next, asks: true, losses: h.Policy, known: known})
	b.lose()
	return nil
}

// collate makes the end of a recipe whose batches a function makes.
func (b *builder) collate() (*batch.Collating, facts, error) {
	s := b.section()
	next, err := batch.NewCollating(b.Env, s.Layout, *b.plan, s.Rows, b.Schema, &b.Columns)
	if err == nil && b.plan.Batch.Buckets != nil {
		next.Rows = slices.Max(s.Layout.Full())
		next.By, err = b.measured()
	}
	if err != nil {
		return nil, facts{}, err
	}
	h := b.Policies.Of(b.plan.Last.Failures, max(1, b.samples/int64(next.Rows)))
	if next.Bear(h); h.Replaces {
		return next, facts{}, nil
	}
	return next, handles(next.Name, h), nil
}

// rowWriter makes the end of a recipe of its last step, which is a function of Python.
func (b *builder) rowWriter(p fuse.Part) (*batch.RowWriter, facts, error) {
	next, known, err := b.python(p)
	if err != nil {
		return nil, known, err
	}
	next.Stage = p.Name()
	r := batch.NewRowWriter(next, b.section().Layout)
	b.Memory.Parts = append(b.Memory.Parts, r)
	return r, known, nil
}
