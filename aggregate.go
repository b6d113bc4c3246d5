package headrace

import (
	"context"
	"errors"
	"fmt"

	"headrace/extern"
	"headrace/internal/record"
	"headrace/pipe"
	"headrace/recipe"
	"headrace/recipe/fuse"
)

// aggregate is an object of Python that gathers samples, and makes others of them. One worker has it. What it makes is an output of the sample that it was given last, whose
// place, key and source it has: these are numbered from the moment on when it was given that, to the one when it is given the next. So the number does not depend on where a run was
// resumed, since whatever is not finished with that sample's outputs has that sample given again.
type aggregate struct{ *python }

// aggregate appends the stage of such an object. Behind it bytes are reserved anew, for each of the samples that it makes, and none of these can be made again alone.
func (c *compiler) aggregate(n *line, p fuse.Part) error {
	c.reach(n, p)
	t := &c.trail
	next := &aggregate{}
	var err error
	if next.python, err = c.python(*p.Step); err != nil {
		return err
	}
	next.stage = p.Name()
	h := c.failing.of(p.Failures, t.samples)
	s := &stage{name: p.Name(), steps: p.Names, python: next.python, aggregate: next, asks: true, losses: h.policy}
	c.limit(s.name, h)
	n.steps = append(n.steps, step{stage: s})
	t.way = []op{{do: func(_ context.Context, it *record.Record) (*record.Record, error) {
		c.work.Drop(it)
		return nil, errGathered
	}}}
	t.leg = nil
	c.drops, c.makes, c.gathers = true, true, append(c.gathers, s.name)
	return nil
}

var errGathered = errors.New("headrace: what is made of several samples cannot be made again")

// begin makes what an epoch's samples are given to.
func (g *aggregate) begin() pipe.Aggregator[*record.Record, *record.Record] {
	return &collector{aggregate: g}
}

// collector is the object in one epoch. What it gives for a sample is made of all samples since it gave something last; what flush gives at the end, too, and where there
// are none, of those that it gave something for last. So it is finished with them, and they come again until it is.
type collector struct {
	*aggregate
	from   pipe.Memory
	newest *record.Record // that it was given; nil: none
	made   int64          // how many samples it has made since
	held   []pipe.Held[*record.Record]
	given  *pipe.Outputs[*record.Record, *record.Record] // what it gave last, to which more may come; nil: nothing
	state  string                                        // of the object behind that
}

// Resume implements pipe.Resumer.
func (c *collector) Resume(m pipe.Memory) error {
	c.from = m
	return nil
}

// Add implements pipe.Aggregator.
func (c *collector) Add(ctx context.Context, v pipe.Held[*record.Record], e *pipe.Emitter[*record.Record, *record.Record]) error {
	c.end()
	it := v.Value
	call := c.call(it)
	defer c.done(call)
	if call.Begin = c.newest == nil; call.Begin && c.from.State != "" {
		call.State = []byte(c.from.State)
	}
	c.newest, c.made, c.held = it, 0, append(c.held, v)
	err := c.stream(ctx, call, e)
	c.work.Drop(it) // the worker has copies of what it keeps
	switch {
	case err == nil:
	case c.given != nil:
		c.given.Lose(blamed(it, err))
	default:
		e.Lose(v, blamed(it, err))
	}
	return nil
}

// Flush implements pipe.Aggregator.
func (c *collector) Flush(ctx context.Context, e *pipe.Emitter[*record.Record, *record.Record]) error {
	if c.newest == nil {
		return nil // nothing has come
	}
	if len(c.held) > 0 {
		c.end()
	}
	key := c.work.chance(c.newest)
	call := &extern.Call{ID: c.newest.ID, Key: c.newest.Key, Random: [2]uint64{key.Uint64(c.op, 2), key.Uint64(c.op, 3)}, Flush: true}
	err := c.stream(ctx, call, e)
	if err == nil {
		c.end()
		return nil
	}
	err = blamed(c.newest, err)
	if c.given == nil {
		return err
	}
	c.given.Fail(err)
	c.given = nil
	return nil
}

// stream hands on what the object gives. It may give something of all that it was given, so there has to be room before each call.
func (c *collector) stream(ctx context.Context, call *extern.Call, e *pipe.Emitter[*record.Record, *record.Record]) (err error) {
	room, err := c.ahead(ctx, c.pool, c.newest)
	if err != nil {
		return err
	}
	defer room.Release()
	var misfit error
	err = c.pool.Stream(ctx, call, func(out []extern.Value) error {
		child, err := c.child(ctx, out)
		switch {
		case err == nil && misfit == nil:
			c.give(e, child)
		case err == nil:
			c.work.Drop(child)
		case misfit == nil:
			misfit = err // the object goes on, and so must not see when this was found
		}
		return ctx.Err()
	})
	if len(call.State) > 0 {
		c.state = string(call.State)
	}
	var failed *extern.CallError
	var start *extern.StartError
	var lost *extern.LostError
	switch {
	case err == nil:
		return misfit
	case errors.As(err, &failed) && !failed.Ends:
		return err
	case failed == nil && !errors.As(err, &start) && !errors.As(err, &lost):
		err = fmt.Errorf("%w; what its object had gathered is lost, and so the run ends", err)
	}
	return pipe.Stop(err)
}

// give hands on a sample that the object has made.
func (c *collector) give(e *pipe.Emitter[*record.Record, *record.Record], child *record.Record) {
	if len(c.held) > 0 {
		c.end()
		c.given, c.held = e.Open(c.held...), nil
	}
	c.given.Emit(child)
}

// end ends what was given last: no more comes to it.
func (c *collector) end() {
	if c.given != nil {
		c.given.Close(c.state)
		c.given = nil
	}
}

// child makes a sample of what the object gives.
func (c *collector) child(ctx context.Context, out []extern.Value) (_ *record.Record, err error) {
	it := c.newest
	child := &record.Record{Source: it.Source, ID: it.ID, Key: it.Key}
	child.SetOutput(it.Made, c.made)
	c.made++
	if err := c.fill(child, out, nil); err != nil {
		return nil, err
	}
	return child, c.admit(ctx, child)
}

// checkAggregates refuses what would have samples made again that were made of several.
func checkAggregates(r recipe.Recipe, c Config) error {
	name, step := replacedBehind(r.Steps, "")
	if name == "" {
		return nil
	}
	const why = "%w: on_error=%q%s: %q makes samples of several, and no other can be had in the place of a bad one; use %q, or say %[2]q at steps before it"
	switch {
	case c.OnError == Replace:
		return fmt.Errorf(why, ErrConfig, Replace, "", name, Skip)
	case step != "":
		return fmt.Errorf(why, ErrConfig, Replace, " of the step \""+step+"\"", name, Skip)
	}
	return nil
}

// replacedBehind finds a step that makes samples of several, and one behind it that has others come in their places.
func replacedBehind(steps recipe.Chain, around string) (name, step string) {
	name = around
	for _, s := range steps {
		if name != "" && step == "" && s.Failures != nil && OnError(s.Failures.OnError) == Replace {
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
