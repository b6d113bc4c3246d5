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
	runs := pipe.From(t.Source.Name, pipe.Source[*source.Run](source.Runs{Listing: t.Source, Rows: t.Rows}))
	return pipe.Fill(runs, 1, s.Slots, t.Into, filling)
}
