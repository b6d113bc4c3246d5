package headrace

import (
	"fmt"
	"headrace/internal/ops"
	"slices"

	"headrace/recipe"
	"headrace/recipe/fuse"
)

// python makes a part of a step that is a function of Python.
func (c *compiler) python(s recipe.Step) (*ops.Function, error) {
	t := &c.trail
	p, out, err := ops.NewFunction(c.work, s, t.schema, &t.places)
	if err != nil {
		return nil, err
	}
	c.noteFunction(p)
	t.schema = out
	return p, nil
}

// noteFunction notes what a function may change of all that is known of a loader.
func (c *compiler) noteFunction(p *ops.Function) {
	c.drops = c.drops || p.Filters
	c.relabels = c.relabels || p.Relabels
}

// flatMap appends the stage of a function that makes several samples of one. Bytes are reserved anew after it, for each of the samples that it makes.
func (c *compiler) flatMap(n *line, p fuse.Part) error {
	c.reach(n, p)
	t := &c.trail
	next, out, err := ops.NewFlatMap(c.work, p, t.schema, &t.places)
	if err != nil {
		return err
	}
	c.noteFunction(next.Function)
	t.schema = out

	h := c.failing.Of(p.Failures, t.samples)
	s := &stage{name: p.Name(), steps: p.Names, python: next.Function, flat: next, asks: true, losses: h.Policy}
	if next.RefusesReplace = h.Replaces; !h.Replaces {
		c.limit(s.name, h)
	}
	n.steps = append(n.steps, step{stage: s})
	t.way = append(slices.Clip(t.way), ops.PathStep{Do: next.Again, Waits: true})
	t.leg = nil
	c.drops, c.makes = true, true
	return nil
}

// aggregate appends the stage of an object that gathers samples. Bytes are reserved anew after it, for each of the samples that it makes, and none of these can be made again alone.
func (c *compiler) aggregate(n *line, p fuse.Part) error {
	c.reach(n, p)
	t := &c.trail
	next, out, err := ops.NewAggregate(c.work, p, t.schema, &t.places)
	if err != nil {
		return err
	}
	c.noteFunction(next.Function)
	t.schema = out

	h := c.failing.Of(p.Failures, t.samples)
	s := &stage{name: p.Name(), steps: p.Names, python: next.Function, aggregate: next, asks: true, losses: h.Policy}
	c.limit(s.name, h)
	n.steps = append(n.steps, step{stage: s})
	t.way = []ops.PathStep{{Do: next.Lose}}
	t.leg = nil
	c.drops, c.makes, c.gathers = true, true, append(c.gathers, s.name)
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
	case c.OnError == ops.Replace:
		return fmt.Errorf(why, ErrConfig, ops.Replace, "", name, ops.Skip)
	case step != "":
		return fmt.Errorf(why, ErrConfig, ops.Replace, " of the step \""+step+"\"", name, ops.Skip)
	}
	return nil
}

// replacedBehind finds a step that makes samples of several, and one behind it that has others come in their places.
func replacedBehind(steps recipe.Chain, around string) (name, step string) {
	name = around
	for _, s := range steps {
		if name != "" && step == "" && s.Failures != nil && ops.OnError(s.Failures.OnError) == ops.Replace {
			step = s.Name
		}
		var inside []recipe.Chain
		switch args := s.Args.(type) {
		case *recipe.Aggregate:
			name = s.Name
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
