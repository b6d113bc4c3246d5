package compile

import (
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/pipe"
)

// tabular makes the pipeline of batches that are filled by columns.
func (j joiner) tabular(s *section) pipe.Flow[*batch.Batch] {
	t := s.table
	j.note(t.Source.Name, 1, t.Source.Names)
	filling := j.filling(s, false)
	filling.DropLast = false // a batch is one item; the table leaves out what is not full
	if t.Waits {
		filling.Gate = nil // which would keep a core idle
	}
	runs := pipe.From(t.Source.Name, pipe.Source[*source.Run](source.Runs{Listing: t.Source, Rows: t.Rows}))
	return pipe.Fill(runs, 1, s.Slots, t.Into, filling)
}
