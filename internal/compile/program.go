package compile

import (
	"math"

	"headrace/budget"
	"headrace/extern"
	"headrace/internal/batch"
	"headrace/internal/ops"
	"headrace/internal/record"
	"headrace/internal/source"
	"headrace/pipe"
	"headrace/recipe/fuse"
)

// Target is what a plan is compiled for.
type Target struct {
	Env      *ops.Env
	Sources  []*source.Listing // of the plan, in its order
	Layout   *batch.Layout
	Slots    *batch.Slots
	Lane     *budget.Lane // of samples whose batch is on its way
	Policies ops.Policies
	Gate     *pipe.Gate // of what computes

	Rows     int // of a full batch, or samples
	Workers  int // of stages that compute
	Readers  int // of stages that wait
	Prefetch int
	InOrder  bool // batches take samples in input order
	Groups   bool // samples come into batches by what they are
}

// Program is what a plan becomes.
type Program struct {
	Flow   pipe.Flow[*batch.Batch]
	Stages []Stage

	Computing []string // stages whose workers compute, by name
	Reading   []string // stages whose workers wait
	Calling   []string // stages whose workers are Python's

	Writers   *extern.Pool     // whose workers write into batches; nil: nobody does but the engine
	Collating *batch.Collating // makes batches; nil: samples are stacked, or packed

	Samples int64 // of an epoch on this rank
	Exact   bool  // otherwise samples is the most

	Drops    bool     // some may be left out on purpose
	Makes    bool     // some may be made into several
	Gathers  []string // stages that make samples of several
	Relabels bool     // labels are others than those of the sources

	Replaceable map[string]int  // how many samples may be replaced, by stages that have a limit of their own
	Skipping    map[string]bool // by stage, whether bad samples are skipped
	Judges      map[string]bool // stages that skip, and have a limit of their own
}

// Compile makes a pipeline of a plan.
func Compile(p fuse.Plan, t Target) (*Program, error) {
	c := newCompiler(t)
	whole, err := c.line(p.Samples)
	if err != nil {
		return nil, err
	}
	end, err := c.end(whole, p)
	if err != nil {
		return nil, err
	}
	t.Env.Room = c.scope.columns.Room

	out := &Program{
		Collating: end.Collating, Drops: c.programs || c.drops, Makes: c.makes, Gathers: c.gathers, Relabels: c.relabels,
		Replaceable: c.spending, Skipping: c.skipping, Judges: c.judges,
	}
	switch {
	case end.Function != nil:
		out.Writers = end.Function.Pool
	case end.Collating != nil:
		out.Writers = end.Collating.Pool
	}
	out.Samples, out.Exact = whole.epoch()

	j := joiner{&t, out}
	if out.Flow, err = j.join(whole, end, p); err == nil {
		err = out.Flow.Check()
	}
	return out, err
}

// StageOperations returns the operations of the stages of a plan whose samples take one
// way: to follow one sample without a pipeline, as tests do.
func StageOperations(p fuse.Plan, t Target) (all []ops.Guarded, err error) {
	c := newCompiler(t)
	whole, err := c.line(p.Samples)
	if err == nil {
		_, err = c.end(whole, p)
	}
	if err != nil {
		return nil, err
	}
	t.Env.Room = c.scope.columns.Room
	for _, s := range whole.steps {
		all = append(all, s.stage.op)
	}
	return all, nil
}

func newCompiler(t Target) *compiler {
	return &compiler{
		work: t.Env, layout: t.Layout, lane: t.Lane, failing: t.Policies, groups: t.Groups, rows: t.Rows, sources: t.Sources,
		spending: map[string]int{}, skipping: map[string]bool{}, judges: map[string]bool{}, scope: scope{columns: record.Columns{Table: record.NewTable()}},
	}
}

// epoch is how many samples an epoch of the line has, on this rank, when none is lost;
// where that is not exact, it is the most.
func (n *line) epoch() (samples int64, exact bool) {
	if n.source != nil {
		return n.source.Split.Len(), true
	}
	exact = n.merge.Until != "shortest" || n.merge.Order == "round_robin"
	turns := int64(math.MaxInt64)
	for i, of := range n.of {
		s, known := of.epoch()
		exact = exact && known
		samples += s
		if k := int64(len(n.of)); s < math.MaxInt64/k-k { // the first turn for which this one has nothing left
			turns = min(turns, s*k+int64(i))
		}
	}
	if n.merge.Until == "shortest" && n.merge.Order == "round_robin" {
		return min(samples, turns), exact
	}
	return samples, exact
}

// Stage is what runs as one: it has a line of its own in the statistics, under the same
// name.
type Stage struct {
	Name    string   `json:"name"`
	Steps   []string `json:"steps"`   // the recipe's steps that it carries out, by their names; none: it reads files, or waits for memory to decode
	Workers int      `json:"workers"` // samples in hand at once
}
