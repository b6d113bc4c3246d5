package compile

import (
	"context"
	"iter"
	"slices"

	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/column"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/data"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe/fuse"
)

// line is a flow as stages: from a source, or from several lines that are merged, or from
// batches, or, in a branch, from none of these.
type line struct {
	source  *source.Listing
	reader  *python.Function // of samples that are read where batches are filled; nil: a stage reads them
	merge   *fuse.Merge
	most    int64            // samples of an epoch of the merge, if it counts them
	chooser *python.Chooser  // of a mix: says whose turn it is; nil: its shares do
	mixed   *source.Arrivals // whose turns the merge takes; nil: it has its own
	of      []*line
	batches *section
	opening *batch.Opening
	steps   []step
	clips   int64 // that are made of each sample of the source or of the batches; 0: it stays one
}

// section is a plan: a line, and what puts its samples into batches.
type section struct {
	Section
	plan   *fuse.Plan
	line   *line
	end    *batch.Writer
	table  *batch.Table  // that fills batches by columns; nil: end fills them, row by row
	called *batch.Called // that fills them by calls of which many come together; nil likewise
	known  facts         // of the stage that fills batches
}

// step is a stage or a routing.
type step struct {
	stage   *stage
	routing *routing
}

// stage is one between sources and batches.
type stage struct {
	name    string
	steps   []string // of the recipe
	op      core.Guarded
	waits   bool // for bytes, and works on nothing
	asks    bool // for bytes, though perhaps only when a sample fails
	buffers bool // as many results are kept ready as it has workers
	brief   bool // its operation costs less than handing a sample on: one worker takes several at a time
	losses  *pipe.Policy
	python  *python.Function // whose workers work; nil: the engine's own
	expand  expander         // makes several samples of one; nil: op makes one

	aggregate *python.AggregateFunction // that makes samples of several; nil: it does not
	stacking  *batch.Stacking           // that makes batches, of which op makes samples; nil: it does not
	unbatches bool                      // it takes batches apart
	order     string                    // of its own; "": that of the loader

	columns *column.Part         // steps on columns, which op is, without failures of its own; nil: it is not
	fields  *[]*data.FieldChange // what becomes of fields when op is done; it grows until the next stage
	known   facts
}

type expander func(context.Context, *record.Record) iter.Seq2[*record.Record, error]

// routing divides samples among branches.
type routing struct {
	name     string
	steps    []string
	choose   func(context.Context, *record.Record) (int, error)
	branches []*line
	losses   *pipe.Policy
	known    facts
}

// asks tells whether stages of the line may have to wait for bytes. They are given to the
// oldest sample first, which must be able to ask for them.
func (n *line) asks() bool { return slices.ContainsFunc(n.steps, step.asks) }

// calls tells whether stages of the line, which is a branch, call Python.
func (n *line) calls() bool { return slices.ContainsFunc(n.steps, step.calls) }

func (s step) calls() bool {
	if s.stage != nil {
		return s.stage.python != nil
	}
	return slices.ContainsFunc(s.routing.branches, (*line).calls)
}

func (s step) unbatches() bool { return s.stage != nil && s.stage.unbatches }

func (s step) asks() bool {
	if s.stage != nil {
		return s.stage.asks
	}
	return slices.ContainsFunc(s.routing.branches, (*line).asks)
}

// tell adds the facts of all stages up to the batches of a section.
func (s *section) tell(f *facts) {
	s.line.tell(f)
	f.add(s.known)
}

func (n *line) tell(f *facts) {
	if n.batches != nil {
		n.batches.tell(f)
	}
	if n.chooser != nil || n.mixed != nil && n.merge.Mix.By != "" {
		f.gathers = append(f.gathers, n.merge.Name) // its state says what sources have given, or were chosen
	}
	for _, of := range n.of {
		if n.mixed == nil {
			of.tell(f)
			continue
		}
		var known facts // but no number of samples depends on what they make of them
		of.tell(&known)
		known.drops, known.makes, known.uncounted = false, false, false
		f.add(known)
	}
	for _, s := range n.steps {
		if s.stage != nil {
			f.add(s.stage.known)
			continue
		}
		f.add(s.routing.known)
		for _, branch := range s.routing.branches {
			branch.tell(f)
		}
	}
}
