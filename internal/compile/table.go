package compile

import (
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/recipe"
)

// table returns what fills the batches of a section by columns; nil: samples are read one
// by one, since something happens to each, or may.
func (b *builder) table(s *section) *batch.Table {
	n := s.line
	switch {
	case n.source == nil, n.reader != nil, len(n.steps) != 1:
		return nil // there are steps on samples
	case b.Lanes != nil, !b.InOrder, s.Slots.Lane != nil, b.Env.Ledger, s.plan.Batch.MaxWait > 0:
		return nil // each sample counts
	case s.Layout.Single, len(s.Layout.Forms) != 1, n.source.Lists(), n.source.Iterated():
		return nil
	}
	read := n.steps[0].stage
	if read == nil || read.fields == nil || read.python != nil || read.expand != nil {
		return nil
	}
	for _, f := range []*recipe.Failures{s.plan.Samples.Source.Failures, s.plan.Last.Failures} {
		if of := b.Policies.Of(f, b.samples); of.Retries > 0 || of.Limit > 0 || of.Replaces || of.Skips {
			return nil // what fails has followers, or others in its place
		}
	}

	before := func(f *batch.FieldWriter) (ok bool) {
		for i := len(*read.fields) - 1; i >= 0; i-- {
			if f.Column, ok = (*read.fields)[i].Before(f.Column); !ok {
				return false
			}
		}
		return true
	}
	return batch.NewTable(s.end, n.source, s.Rows, s.plan.Batch.DropLast, before)
}
