package python

import (
	"slices"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// link is a function of a chain.
type link struct {
	name   string // of its step
	drawID uint64
}

// NewChain makes a part of steps that are functions of Python and that the same workers
// call one after the other, and returns the fields after them. Only what is there after
// the last one, and made by one of them, is written into memory. The first one may be the
// object that samples come from, whose fields are those of in.
func NewChain(w *core.Env, steps []recipe.Step, name string, in sample.Schema, where *record.Columns) (*Function, sample.Schema, error) {
	if len(steps) == 1 {
		return NewFunction(w, steps[0], in, where)
	}

	c := Chained(steps, in)
	p := &Function{Env: w, Name: name, Filters: c.Filters, Relabels: c.relabels}
	p.Begin(c.Options.In, where)
	p.gives(c.Options.Gives, in, c.out, where)
	p.links = linksOf(steps)
	if err := p.open(c.first, c.Options, nil); err != nil {
		return nil, nil, err
	}
	return p, c.out, p.behindTrials(steps, in, where)
}

func linksOf(steps []recipe.Step) (all []link) {
	for _, s := range steps {
		all = append(all, link{s.Name, order.OpID(s.Name)})
	}
	return all
}

// NewTrial makes a function of a chain of which it is not known what it gives.
func NewTrial(w *core.Env, steps []recipe.Step, name string, in sample.Schema, where *record.Columns) (*Function, error) {
	c := Chained(steps, in)
	p := &Function{Env: w, Name: name, Workers: 1, Filters: c.Filters, links: linksOf(steps)}
	p.Begin(c.Options.In, where)
	var err error
	p.Pool, _, err = HostOf(w).Open(name, c.first, c.Options, nil)
	return p, err
}

// chained is a chain of functions as its workers are told of it.
type chained struct {
	Options  extern.Options // with Chain, In and Gives
	Filters  bool
	first    *recipe.Python
	out      sample.Schema // after it; nil: not known
	relabels bool
}

// Chained looks through the steps of a chain that is given samples of this schema. Gives
// is nil where that of one of them is not known yet.
func Chained(steps []recipe.Step, in sample.Schema) chained {
	c := chained{Options: extern.Options{Kind: extern.Chain}, out: in}
	o := &c.Options
	made := sample.Schema{}
	known := true
	passes := slices.Clone(in) // what no function has replaced or left out
	needed := map[string]bool{}

	for _, s := range steps {
		l := extern.Link{Step: s.Name}
		call := recipe.TraitsOf(s.Args).Call
		python := &call.Python
		l.To = call.To
		switch call.Kind {
		case recipe.SourceCall:
			l.Reads, l.Gives, l.Checks = true, call.Gives.Schema, true
			made, passes, c.out = l.Gives, slices.DeleteFunc(passes, func(f sample.Field) bool { return l.Gives.Find(f.Name) >= 0 }), in
		case recipe.FilterCall:
			l.Filters, c.Filters = true, true
		case recipe.MapCall:
			l.Gives, l.Checks = call.Gives.Schema, !call.Gives.Tried
		}
		if c.first == nil {
			c.first = python
		}
		l.Function, l.Fields, l.Seed, l.Copy = python.Function, python.Fields, python.Seed, python.Copy
		o.Copy = o.Copy || l.Copy

		// Workers are sent only fields that a function takes and that none before it has
		// made.
		for _, f := range passes {
			if !l.Reads && (l.Fields == nil || slices.Contains(l.Fields, f.Name)) {
				needed[f.Name] = true
			}
		}

		if call.Kind == recipe.MapCall {
			l.Checks = l.Checks && l.Gives != nil
			if c.out != nil {
				c.out, _ = s.Args.Check(c.out) // the recipe was checked
			}
			if l.Gives == nil {
				known, c.out = false, nil
			}
			if l.Fields == nil {
				made, passes = sample.Schema{}, nil
			}
			for _, name := range call.Results() {
				passes = passes.Without(name)
			}
			for _, f := range l.Gives {
				made = made.With(f.Name, f.Type)
			}
			c.relabels = c.relabels || l.Fields != nil && l.Gives.Find("label") >= 0
		}
		o.Chain = append(o.Chain, l)
	}

	o.In = sample.Schema{}
	for _, f := range in {
		if needed[f.Name] {
			o.In = append(o.In, f)
		}
	}
	if known {
		o.Gives = made
	}
	return c
}
