package compile

import (
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/pipe"
)

// joiner makes a typed pipeline of lines: positions become files, files become samples,
// and what is at the end writes into batches.
type joiner struct {
	*Target
	*Program
	wrong *error // why there is no pipeline
}

// join makes the pipeline of a section. Later says whether its batches may have to wait
// for bytes after it.
func (j joiner) join(s *section, later bool) pipe.Flow[*batch.Batch] {
	samples := j.line(pipe.Flow[*record.Record]{}, s.line, later || s.end.Replaces || s.plan.Batch.Lists)
	if s.end.Collating != nil {
		return j.collate(samples, s, later)
	}
	if s.end.Grouping != nil {
		return j.group(samples, s, later)
	}
	s.Slots.Packs = s.line.batches != nil // a row may be several samples
	filling := j.filling(s, s.plan.Batch.DropLast, later)
	if s.end.Together() {
		return pipe.FillRuns(samples, s.Layout.Rows, s.Slots, s.end.Fill, s.end.FillAll, s.end.Function.Together, filling)
	}
	return pipe.Fill(samples, s.Layout.Rows, s.Slots, s.end.Fill, filling)
}

// filling are the settings of the stage that fills batches.
func (j joiner) filling(s *section, dropLast, later bool) pipe.FillOpts {
	o := pipe.FillOpts{
		Name: s.plan.Last.Name(), Workers: j.Workers, Buffer: j.ahead(s), Ordered: j.inOrder(later),
		DropLast: dropLast, Failures: s.end.Losses,
	}
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

// ahead is how many batches of a section are ready: for the consumer, or for the next
// stage.
func (j joiner) ahead(s *section) int {
	if s.Slots.Lane != nil {
		return 1
	}
	return j.Prefetch
}

// open begins with the batches of a section.
func (j joiner) open(n *line, later bool) pipe.Flow[*record.Record] {
	s := n.batches
	batches := j.join(s, later)
	name := "open " + s.plan.Last.Names[len(s.plan.Last.Names)-1]
	j.note(name, 1, nil)
	return pipe.Discard(pipe.Map(batches, n.opening.Open, pipe.Opts{Name: name, Ordered: j.inOrder(later), Buffer: 1}), j.Env.Drop)
}

// line goes on after in, in a branch, or begins at a source or a merge. Later says
// whether samples may have to wait for bytes after it. As these are given to the oldest
// first, which must be able to ask for them, nobody overtakes before the last stage that
// does.
func (j joiner) line(in pipe.Flow[*record.Record], n *line, later bool) pipe.Flow[*record.Record] {
	switch {
	case n.source != nil:
		j.note(n.source.Name, 1, n.source.Names)
		in = pipe.Discard(pipe.From(n.source.Name, n.source), j.Env.Drop)
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

// keptReady is how many samples a stage keeps ready. The engine's own default is for
// items that cost little; samples may carry decoded images, and each costs far more than
// handing it on.
const keptReady = 2

func (j joiner) stage(in pipe.Flow[*record.Record], s *stage, later bool) pipe.Flow[*record.Record] {
	if s.aggregate != nil {
		j.note(s.name, 1, s.steps)
		return pipe.Discard(pipe.Aggregate(in, s.aggregate.Aggregator, pipe.AggregateOpts{Name: s.name, Failures: s.losses}), j.Env.Drop)
	}
	o := pipe.Opts{Name: s.name, Workers: j.Workers, Buffer: keptReady, Ordered: j.inOrder(later), Failures: s.losses}
	switch {
	case s.python != nil:
		o.Workers, o.InFlightPerWorker, o.OnResize = s.python.Workers, s.python.PerWorker, s.python.Pool.SetWorkers
		j.Calling = append(j.Calling, s.name)
	case s.waits:
		o.Workers = j.Readers
		j.Reading = append(j.Reading, s.name)
	default:
		o.Gate = j.Gate
		j.Computing = append(j.Computing, s.name)
	}
	if s.buffers {
		o.Buffer = o.Workers
	}
	j.note(s.name, o.Workers, s.steps)
	if s.expand != nil {
		return pipe.Discard(pipe.FlatMap(in, s.expand, o), j.Env.Drop)
	}
	return pipe.Discard(pipe.Map(in, s.op, o), j.Env.Drop)
}

func (j joiner) merge(n *line, later bool) pipe.Flow[*record.Record] {
	var flows []pipe.Flow[*record.Record]
	for _, of := range n.of {
		flows = append(flows, j.line(pipe.Flow[*record.Record]{}, of, later))
	}
	j.note(n.merge.Name, 1, []string{n.merge.Name})
	o := pipe.MergeOpts{Name: n.merge.Name, Buffer: keptReady, Order: mergeOrders[n.merge.Order],
		Weights: n.merge.Weights, Items: n.most, FailFast: true}
	if o.Order == pipe.ByWeight {
		o.Seed = n.merge.Seed
	}
	if n.merge.Until == "shortest" {
		o.Until = pipe.Shortest
	}
	return pipe.Discard(pipe.Merge(flows, o), j.Env.Drop)
}

var mergeOrders = map[string]pipe.Order{"round_robin": pipe.RoundRobin, "weights": pipe.ByWeight, "arrival": pipe.Arrival}

func (j joiner) route(in pipe.Flow[*record.Record], r *routing, later bool) pipe.Flow[*record.Record] {
	ordered := j.inOrder(later)
	j.note(r.name, 1, r.steps)
	var branches []func(pipe.Flow[*record.Record]) pipe.Flow[*record.Record]
	for _, b := range r.branches {
		branches = append(branches, func(in pipe.Flow[*record.Record]) pipe.Flow[*record.Record] { return j.line(in, b, ordered) })
	}
	return pipe.Discard(pipe.Route(in, r.choose, branches,
		pipe.RouteOpts{Name: r.name, Buffer: keptReady, Ordered: ordered, Failures: r.losses}), j.Env.Drop)
}

// note tells people of a stage.
func (j joiner) note(name string, workers int, steps []string) {
	j.Stages = append(j.Stages, Stage{Name: name, Steps: append([]string{}, steps...), Workers: workers})
}
