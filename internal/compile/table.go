package compile

import (
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/column"
	"github.com/headrace/headrace/op/data"
	"github.com/headrace/headrace/recipe"
)

// table returns what fills the batches of a section by columns; nil: samples are read one
// by one, since something happens to each, or may.
func (b *builder) table(s *section) *batch.Table {
	n := s.line
	if n.source == nil || n.reader != nil || len(n.steps) == 0 || !b.whole(s) {
		return nil
	}
	read := n.steps[0].stage
	if read == nil || read.fields == nil || read.python != nil || read.expand != nil {
		return nil
	}
	var t tracer
	var names []string
	for i, next := range n.steps {
		if i > 0 {
			if next.stage == nil || next.stage.columns == nil {
				return nil // there are other steps on samples
			}
			names = append(names, next.stage.steps...)
			for k := range next.stage.columns.Fields {
				t.changes = append(t.changes, change{made: &next.stage.columns.Fields[k]})
			}
		}
		for _, f := range *next.stage.fields {
			t.changes = append(t.changes, change{fields: f})
		}
	}
	trace := func(at record.Column) (int, bool) { return t.trace(len(t.changes), at) }
	made := batch.NewTable(s.end, n.source, s.Rows, s.plan.Batch.DropLast, trace, &t.columns)
	if made != nil {
		made.Steps = names
	}
	return made
}

// tracer follows the columns of a batch from its end to the source.
type tracer struct {
	changes []change
	columns []batch.Computed // found so far: each after those that it is made of
}

// change happens to all samples on their way.
type change struct {
	fields *data.FieldChange // fields get other names, or go; nil: they do not
	made   *column.Field     // otherwise: a field is made of others
}

// trace returns the number of the column that a field is in after so many changes; false:
// something else makes it.
func (t *tracer) trace(after int, at record.Column) (number int, ok bool) {
	for k := after - 1; k >= 0; k-- {
		c := t.changes[k]
		switch {
		case c.made != nil && c.made.Gives == at:
			return t.madeAt(k)
		case c.made != nil:
		default:
			if at, ok = c.fields.Before(at); !ok {
				return 0, false
			}
		}
	}
	return t.number(batch.Computed{Source: at}), true
}

// madeAt is trace for a field that a change makes.
func (t *tracer) madeAt(k int) (number int, ok bool) {
	c := batch.Computed{Made: t.changes[k].made}
	for _, at := range c.Made.Takes {
		from, ok := t.trace(k, at)
		if !ok {
			return 0, false
		}
		c.From = append(c.From, from)
	}
	return t.number(c), true
}

// number returns the number of a column, a new one if there is none yet.
func (t *tracer) number(c batch.Computed) int {
	for i, known := range t.columns {
		if known.Made == c.Made && known.Source == c.Source {
			return i
		}
	}
	t.columns = append(t.columns, c)
	return len(t.columns) - 1
}

// called returns what fills the batches of a section by calls for the numbers of samples;
// nil: there is more to do.
func (b *builder) called(s *section) *batch.Called {
	n := s.line
	if n.source == nil || len(n.steps) != 0 || b.Counts || !b.whole(s) {
		return nil
	}
	object := recipe.TraitsOf(b.plan.Samples.Source.Args).Call
	if object == nil || recipe.InProgram(object.Where) {
		return nil // where calls are few at a time
	}
	return batch.NewCalled(s.end, n.source, s.Rows, s.plan.Batch.DropLast)
}

// whole reports whether nothing needs the samples of a batch one by one.
func (b *builder) whole(s *section) bool {
	switch {
	case s.plan.Samples.Source == nil: // it is a mix
		return false
	case b.Lanes != nil, !b.InOrder, b.overtakes, b.Env.Ledger, s.plan.Batch.MaxWait > 0:
		return false // each counts
	case s.Layout.Single, len(s.Layout.Forms) != 1, s.line.source.Lists(), s.line.source.Iterated():
		return false
	}
	for _, f := range []*recipe.Failures{s.plan.Samples.Source.Failures, s.plan.Last.Failures} {
		if of := b.Policies.Of(f, b.samples); of.Retries > 0 || of.Limit > 0 || of.Replaces || of.Skips {
			return false // what fails has followers, or others in its place
		}
	}
	return true
}
