package compile

import (
	"slices"

	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/pipe"
)

// tabular makes the pipeline of batches that are filled by columns. Later says whether
// they may have to wait for bytes after it.
func (j joiner) tabular(s *section, later bool) pipe.Flow[*batch.Batch] {
	t := s.table
	j.note(t.Source.Name, 1, t.Source.Names)
	filling := j.filling(s, later)
	filling.DropLast = false // a batch is one item; the table leaves out what is not full
	last := &j.Stages[len(j.Stages)-1]
	last.Steps = slices.Concat(t.Steps, last.Steps)
	if t.Waits {
		filling.Gate = nil // which would keep a core idle
	}
	return pipe.Fill(j.runs(t.Source, t.Rows), 1, s.Slots, t.Into, filling)
}

// called makes the pipeline of batches that are filled by calls for numbers of samples.
func (j joiner) called(s *section) pipe.Flow[*batch.Batch] {
	c := s.called
	j.note(c.Source.Name, 1, c.Source.Names)
	filling := j.filling(s, false)
	filling.DropLast = false
	filling.InFlightPerWorker = 2 // the calls of one batch begin when all of the one before have begun
	return pipe.Fill(j.runs(c.Source, c.Rows), 1, s.Slots, c.Into, filling)
}

// runs are the samples of a source, as many together as a batch has.
func (j joiner) runs(of *source.Listing, rows int) pipe.Flow[*source.Run] {
	return pipe.From(of.Name, pipe.Source[*source.Run](source.Runs{Listing: of, Rows: rows}))
}
