package compile

import (
	"slices"
	"strings"

	"headrace/internal/batch"
	"headrace/internal/ops"
	"headrace/recipe/fuse"
)

// python makes a part of steps that are functions of Python.
func (c *compiler) python(steps fuse.Part) (*ops.Function, error) {
	t := &c.scope
	chain := steps.Chain()
	p, out, err := ops.NewChain(c.work, chain, strings.Join(steps.Names[:len(chain)], "+"), t.Schema, &t.Columns)
	if err != nil {
		return nil, err
	}
	c.noteFunction(p)
	t.Schema = out
	return p, nil
}

// noteFunction notes what a function may change of all that is known of a loader.
func (c *compiler) noteFunction(p *ops.Function) {
	c.drops, c.uncounted = c.drops || p.Filters, c.uncounted || p.Filters
	c.relabels = c.relabels || p.Relabels
}

// flatMap appends the stage of a function that makes several samples of one. Bytes are
// reserved again after it, for each of the samples that it makes.
func (c *compiler) flatMap(n *line, p fuse.Part) error {
	c.reach(n, p)
	t := &c.scope
	next, out, err := ops.NewFlatMap(c.work, p, t.Schema, &t.Columns)
	if err != nil {
		return err
	}
	c.noteFunction(next.Function)
	t.Schema = out

	h := c.failing.Of(p.Failures, t.samples)
	s := &stage{name: p.Name(), steps: p.Names, python: next.Function, expand: next.Expand, asks: true, losses: h.Policy}
	if next.RefusesReplace = h.Replaces; !h.Replaces {
		c.limit(s.name, h)
	}
	n.steps = append(n.steps, step{stage: s})
	t.path = append(slices.Clip(t.path), ops.PathStep{Do: next.Again, Waits: true})
	t.Memory = nil
	c.drops, c.makes, c.uncounted = true, true, true
	return nil
}

// aggregate appends the stage of an object that gathers samples. Bytes are reserved again
// after it, for each of the samples that it makes, and none of these can be made again
// alone.
func (c *compiler) aggregate(n *line, p fuse.Part) error {
	c.reach(n, p)
	t := &c.scope
	next, out, err := ops.NewAggregate(c.work, p, t.Schema, &t.Columns)
	if err != nil {
		return err
	}
	c.noteFunction(next.Function)
	t.Schema = out

	h := c.failing.Of(p.Failures, t.samples)
	s := &stage{name: p.Name(), steps: p.Names, python: next.Function, aggregate: next, asks: true, losses: h.Policy}
	c.limit(s.name, h)
	n.steps = append(n.steps, step{stage: s})
	t.path = []ops.PathStep{{Do: c.work.Lose}}
	t.Memory = nil
	c.drops, c.makes, c.uncounted, c.gathers = true, true, true, append(c.gathers, s.name)
	return nil
}

// collate makes what is at the end of a recipe whose batches a function makes.
func (c *compiler) collate(plan fuse.Plan, rows int) (*batch.Collating, error) {
	t := &c.scope
	next, err := batch.NewCollating(c.work, c.layout, plan, rows, t.Schema, &t.Columns)
	if err != nil {
		return nil, err
	}
	h := c.failing.Of(plan.Last.Failures, max(1, t.samples/int64(rows)))
	if next.Bear(h); !h.Replaces {
		c.limit(next.Name, h)
	}
	return next, nil
}

// rowWriter makes the end of a recipe of its last step, which is a function of Python.
func (c *compiler) rowWriter(p fuse.Part) (*batch.RowWriter, error) {
	next, err := c.python(p)
	if err != nil {
		return nil, err
	}
	next.Stage = p.Name()
	r := batch.NewRowWriter(next, c.layout)
	c.scope.Memory.Parts = append(c.scope.Memory.Parts, r)
	return r, nil
}
