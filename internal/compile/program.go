package compile

import (
	"math"
	"slices"

	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe/fuse"
)

// Target is what a plan is compiled for.
type Target struct {
	Env      *core.Env
	Sources  []*source.Listing // of the plan, in its order
	Sections []Section         // what makes batches, in the order of the recipe: the plan itself is the last
	Lane     *budget.Lane      // of samples whose batch is on its way
	Policies core.Policies
	Gate     *pipe.Gate // of what computes

	Workers  int // of stages that compute
	Readers  int // of stages that wait
	Prefetch int
	InOrder  bool // batches take samples in input order
	Library  bool // decodes images, where a decoder of Headrace's own could

	Share func(samples int64) int64 // how many of a number of samples are this rank's
}

// Section is what a plan makes batches with.
type Section struct {
	Layout *batch.Layout
	Slots  *batch.Slots
	Rows   int  // of a full batch, or samples
	Groups bool // samples come into batches by what they are
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
	Batches int64 // of an epoch on this rank, or the most, where batches are made of batches or taken apart

	Uneven   bool     // batches are made of batches or taken apart, so that no position tells which one comes there
	Drops    bool     // some may be left out on purpose
	Makes    bool     // some may be made into several
	Counted  bool     // nothing but that changes how many there are, and each is made into as many: Samples has them
	Gathers  []string // stages that make samples of several
	Relabels bool     // labels are others than those of the sources

	Mixes []Mix // merges by weights that go on when one of their sources has ended

	Replaceable map[string]int  // how many samples may be replaced, by stages that have a limit of their own
	Skipping    map[string]bool // by stage, whether bad samples are skipped
	Judges      map[string]bool // stages that skip, and have a limit of their own
}

// Compile makes a pipeline of a plan.
func Compile(p fuse.Plan, t Target) (*Program, error) {
	last, at, err := newCompiler(&p, t).section(&p, nowhere())
	if err != nil {
		return nil, err
	}
	end := last.end
	var known facts
	last.tell(&known)
	t.Env.Room = at.Columns.Room

	out := &Program{
		Collating: end.Collating, Drops: known.programs || known.drops, Uneven: known.uneven,
		Makes: known.makes, Counted: known.makes && !known.uncounted && !known.programs, Gathers: known.gathers, Relabels: known.relabels,
		Replaceable: known.spends, Skipping: known.skips, Judges: known.judges,
	}
	switch {
	case end.Function != nil:
		out.Writers = end.Function.Pool
	case end.Collating != nil:
		out.Writers = end.Collating.Pool
	}
	first := last
	for first.line.batches != nil {
		first = first.line.batches
	}
	out.Samples, out.Exact = first.line.epoch()
	out.Batches, out.Exact = last.epoch()

	out.Mixes = last.line.mixes(nil, first == last && !out.Drops && !out.Makes)

	j := joiner{&t, out, &err}
	if out.Flow = j.join(last, false); err == nil {
		err = out.Flow.Check()
	}
	return out, err
}

// StageOperations returns the operations of the stages of a plan whose samples take one
// way: to follow one sample without a pipeline, as tests do.
func StageOperations(p fuse.Plan, t Target) (all []core.Guarded, err error) {
	whole, at, err := newCompiler(&p, t).section(&p, nowhere())
	if err != nil {
		return nil, err
	}
	t.Env.Room = at.Columns.Room
	for _, s := range whole.line.steps {
		all = append(all, s.stage.op)
	}
	return all, nil
}

// epoch is how many samples an epoch of the line has, on this rank, when none is lost;
// where that is not exact, it is the most.
func (n *line) epoch() (samples int64, exact bool) {
	switch {
	case n.source != nil:
		return n.source.Expected() * max(1, n.clips), true
	case n.batches != nil:
		if samples, exact = n.batches.epoch(); slices.ContainsFunc(n.steps, step.unbatches) {
			samples, exact = n.batches.taken()
		}
		return samples * max(1, n.clips), exact
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
	if n.most > 0 {
		samples = min(samples, n.most)
	}
	return samples, exact
}

// epoch is how many batches an epoch of the section has, when nothing is lost; where that
// is not exact, it is the most.
func (s *section) epoch() (batches int64, exact bool) {
	samples, exact := s.line.epoch()
	rows := int64(s.Rows)
	switch {
	case s.plan.Single:
		return samples, exact
	case s.plan.Batch.Lists:
		return s.line.source.Split.Len(), true
	case s.Groups:
		return MostBatches(s.Layout, *s.plan, samples), false
	case s.plan.Batch.DropLast:
		return samples / rows, exact
	}
	return (samples + rows - 1) / rows, exact
}

// taken is how many samples come into batches.
func (s *section) taken() (samples int64, exact bool) {
	if samples, exact = s.line.epoch(); s.plan.Batch.DropLast && !s.Groups {
		samples -= samples % int64(s.Rows)
	}
	return samples, exact && !s.Groups
}

// Stage is converted to headrace.Stage, whose fields are the same.
type Stage struct {
	Name    string   `json:"name"`
	Steps   []string `json:"steps"`   // the recipe's steps that it carries out, by their names; none: it reads files, or waits for memory to decode
	Workers int      `json:"workers"` // samples in hand at once
}
