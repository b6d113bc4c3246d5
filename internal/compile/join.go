package compile

import (
	"slices"

	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
)

// joiner makes a typed pipeline of lines: positions become files, files become samples,
// and the section at the end writes them into batches.
type joiner struct {
	*Target
	*Program
	wrong *error // why there is no pipeline
	lane  *lane  // whose stages these are; nil: they are all lanes'
}

// join makes the pipeline of a section. Later says whether its batches may have to wait
// for bytes after it.
func (j joiner) join(s *section, later bool) (pipe.Flow[*batch.Batch], counted) {
	if s.table != nil {
		return j.tabular(s, later), counted{}
	}
	if s.called != nil {
		return j.called(s), counted{}
	}
	s = j.own(s)
	lines := j.lines(func(j joiner) samples {
		return j.line(samples{}, s.line, later || s.end.Replaces || s.plan.Batch.Lists)
	})
	s.Slots.Packs = s.plan.Samples.Gathers() // a row may be several samples
	switch {
	case s.end.Collating != nil && s.end.Collating.By != nil:
		return j.collateAlike(lines, s, later)
	case s.end.Grouping != nil:
		return j.group(lines, s, later)
	}

	in := j.rows(lines, s)
	if python := s.end.Calls(); python != nil {
		in = j.count(in, s.plan.Last.Name())
		in.workers = max(in.workers, python.Workers)
	}
	s.Slots.Counts = in.by != nil
	return j.fill(in.Flow, s, later), in.counted
}

// fill is the flow of batches that have samples as they come.
func (j joiner) fill(in pipe.Flow[*record.Record], s *section, later bool) pipe.Flow[*batch.Batch] {
	switch {
	case s.end.Collating != nil:
		return j.collate(in, s, later)
	case s.plan.Batch.MaxWait > 0:
		return j.inTime(in, s)
	}

	filling := j.filling(s, later)
	if j.inRounds() {
		ends := func(it *record.Record) bool { return it.EndsRound }
		return pipe.FillGroups(in, s.Layout.Rows, ends, s.Slots, s.end.Fill, filling)
	}
	filling.DropLast = s.plan.Batch.DropLast
	if s.end.Together() {
		return pipe.FillRuns(in, s.Layout.Rows, s.Slots, s.end.Fill, s.end.FillAll, s.end.Function.Together, filling)
	}
	return pipe.Fill(in, s.Layout.Rows, s.Slots, s.end.Fill, filling)
}

// filling are the settings of the stage that fills batches.
func (j joiner) filling(s *section, later bool) pipe.FillOpts {
	ordered := j.fillsInOrder(s, later)
	if step := s.plan.Last.Step; step != nil {
		if call := recipe.TraitsOf(step.Args).Call; call != nil {
			ordered = keepsOrder(call.Order, ordered)
		}
	}
	if pack := s.plan.Batch.Pack; pack != nil && pack.Cuts() {
		ordered = true // what is left of a sample that was cut comes after its beginning
	}
	o := pipe.FillOpts{Name: s.plan.Last.Name(), Workers: j.Workers, Buffer: j.ahead(s), Ordered: ordered, Failures: s.end.Losses}
	if python := s.end.Function; python != nil {
		o.Workers, o.InFlightPerWorker, o.OnResize = python.Workers, python.PerWorker, python.Pool.SetWorkers
		j.Calling = append(j.Calling, o.Name)
	} else {
		o.Gate = j.Gate
		j.Computing = append(j.Computing, o.Name)
	}
	j.note(o.Name, o.Workers, s.plan.Last.Names)
	return o
}

// ahead returns the number of batches of a section that may be ready, for the consumer or
// for the next stage.
func (j joiner) ahead(s *section) int {
	if s.Slots.Lane != nil {
		return 1
	}
	if j.Counts {
		return 1 // those that count are the consumer's
	}
	return j.Prefetch
}

// open begins with the batches of a section.
func (j joiner) open(n *line, later bool) samples {
	s := n.batches
	batches, of := j.join(s, later)
	of.each *= s.needs()
	name := "open " + s.plan.Last.Names[len(s.plan.Last.Names)-1]
	j.note(name, 1, nil)
	opened := pipe.Map(batches, n.opening.Open, pipe.Opts{Name: name, Ordered: j.inOrder(later), Buffer: 1})
	return samples{pipe.Discard(opened, j.Env.Drop), of}
}

// line goes on after in, in a branch, or begins at a source or a merge. Later says
// whether samples may have to wait for bytes after it. As these are given to the oldest
// first, which must be able to ask for them, nobody overtakes before the last stage that
// does.
func (j joiner) line(in samples, n *line, later bool) samples {
	switch {
	case n.source != nil:
		j.note(n.source.Name, 1, n.source.Names)
		in.Flow = pipe.Discard(pipe.From(n.source.Name, j.listing(n.source)), j.Env.Drop)
		if j.Counts && n.source.Iterated() {
			in.counted = counted{by: j.limit(), each: 1, workers: 1}
			n.source.Limit = in.by
		}
	case n.merge != nil:
		in = j.merge(n, later || n.asks())
	case n.batches != nil:
		in = j.open(n, later || n.asks())
	}

	for i, s := range n.steps {
		behind := later
		for _, next := range n.steps[i+1:] {
			behind = behind || next.asks()
		}
		if s.stage != nil {
			in = j.stage(in, s.stage, behind)
		} else {
			in = j.route(in, s.routing, behind)
		}
	}
	return in
}

func (j joiner) inOrder(later bool) bool { return later || j.Target.InOrder }

// fillsInOrder tells whether samples take the rows of batches in order. Those that are
// counted do: out of order, the row of a lost sample waits for one more to come, and
// samples in later batches may have all the tickets.
func (j joiner) fillsInOrder(s *section, later bool) bool { return j.inOrder(later) || s.Slots.Counts }

// keptReady is how many samples a stage keeps ready. The engine's own default is for
// items that cost little; samples may carry decoded images, and each costs far more than
// handing it on.
const keptReady = 2

// keptBrief is how many samples are kept ready by a stage that takes several at a time.
const keptBrief = 16

func (j joiner) stage(in samples, s *stage, later bool) samples {
	if s.python != nil {
		in = j.count(in, s.name)
		in.workers = max(in.workers, s.python.Workers)
	}

	if s.aggregate != nil {
		j.note(s.name, 1, s.steps)
		made := pipe.Aggregate(in.Flow, j.aggregator(s), pipe.AggregateOpts{Name: s.name, Failures: s.losses})
		in.Flow = pipe.Discard(made, j.Env.Drop)
		return j.recount(in, "after "+s.name, in.counted)
	}
	if s.stacking != nil {
		j.note("group "+s.name, 1, nil)
		in.Flow = pipe.Discard(pipe.Aggregate(in.Flow, s.stacking.Gather, pipe.AggregateOpts{
			Name: "group " + s.name, Buffer: 1, DropLast: s.stacking.DropLast}), s.stacking.Drop)
	}

	o := pipe.Opts{Name: s.name, Workers: j.Workers, Buffer: j.ready(keptReady),
		Ordered: keepsOrder(s.order, j.inOrder(later)), Failures: s.losses}
	// Only stages that compute pass the gate: one that waits would keep a core idle.
	switch {
	case s.python != nil:
		o.Workers, o.InFlightPerWorker, o.OnResize = s.python.Workers, s.python.PerWorker, s.python.Pool.SetWorkers
		j.Calling = append(j.Calling, s.name)
	case s.waits:
		o.Workers = j.Readers
		j.Reading = append(j.Reading, s.name)
	case s.brief:
		o.Workers, o.Buffer = 1, j.ready(keptBrief)
	default:
		o.Gate = j.Gate
		j.Computing = append(j.Computing, s.name)
	}

	if s.buffers {
		o.Buffer = j.ready(o.Workers)
	}
	j.note(s.name, o.Workers, s.steps)

	if s.expand != nil {
		in.Flow = pipe.Discard(pipe.FlatMap(in.Flow, j.sequence(s), o), j.Env.Drop)
		in.Flow = j.lineUp(in.Flow, s, later)
		return j.recount(in, "after "+s.name, in.counted)
	}
	in.Flow = pipe.Discard(pipe.Map(in.Flow, s.op, o), j.Env.Drop)
	if s.stacking != nil {
		return j.recount(in, "after "+s.name, in.counted)
	}
	in.Flow = j.lineUp(in.Flow, s, later)
	return in
}

// lineUp has samples that may have passed each other in a stage line up again, if a later
// one asks for bytes.
func (j joiner) lineUp(in pipe.Flow[*record.Record], s *stage, later bool) pipe.Flow[*record.Record] {
	if s.order != recipe.CompletionOrder || !later {
		return in
	}
	name := "line up " + s.name
	j.note(name, 1, nil)
	return linedUp(in, j.Env, j.Lane.Another(), name)
}

func (j joiner) merge(n *line, later bool) samples {
	var flows []pipe.Flow[*record.Record]
	var before []counted
	for _, of := range n.of {
		in := j.line(samples{}, of, later)
		flows, before = append(flows, in.Flow), append(before, in.counted)
	}
	j.note(n.merge.Name, 1, []string{n.merge.Name})
	o := pipe.MergeOpts{Name: n.merge.Name, Buffer: keptReady, Order: mergeOrders[n.merge.Order], FailFast: true}
	if n.merge.Until == "shortest" {
		o.Until = pipe.Shortest
	}
	if n.counts() {
		o.Items = max(1, j.most(n))
	}
	switch {
	case n.mixed != nil:
		j.arrivals(n, &o)
	case n.counts() && j.most(n) == 0: // none is this lane's, or rank's: its epoch ends with the first turn
		o.Order, o.Pick = pipe.ByPick, func(int, int64) int { return -1 }
	}
	in := samples{Flow: pipe.Discard(j.merged(n, flows, o), j.Env.Drop)}
	return j.recount(in, "after "+n.merge.Name, before...)
}

var mergeOrders = map[string]pipe.Order{"round_robin": pipe.RoundRobin, "arrival": pipe.Arrival}

func (j joiner) route(in samples, r *routing, later bool) samples {
	if slices.ContainsFunc(r.branches, (*line).calls) {
		in = j.count(in, r.name)
	}
	ordered := j.inOrder(later)
	j.note(r.name, 1, r.steps)
	before := []counted{in.counted}
	var branches []func(pipe.Flow[*record.Record]) pipe.Flow[*record.Record]
	for _, b := range r.branches {
		branches = append(branches, func(of pipe.Flow[*record.Record]) pipe.Flow[*record.Record] {
			out := j.line(samples{of, in.counted}, b, ordered)
			if in.workers = max(in.workers, out.workers); out.by != in.by {
				before = append(before, out.counted)
			}
			return out.Flow
		})
	}
	in.Flow = pipe.Discard(pipe.Route(in.Flow, r.choose, branches,
		pipe.RouteOpts{Name: r.name, Buffer: keptReady, Ordered: ordered, Failures: r.losses}), j.Env.Drop)
	if len(before) == 1 {
		return in
	}
	before[0] = in.counted
	return j.recount(in, "after "+r.name, before...)
}

// note tells people of a stage.
func (j joiner) note(name string, workers int, steps []string) {
	j.Stages = append(j.Stages, Stage{Name: name, Steps: append([]string{}, steps...), Workers: workers})
}
