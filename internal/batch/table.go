package batch

import (
	"context"
	"errors"
	"sync"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/shard"
)

// Table fills batches column by column, where nothing is done to samples on their way:
// there are no records then, and no work for each row.
type Table struct {
	Source   *source.Listing
	Rows     int // of a full batch
	DropLast bool
	Waits    bool // for files

	open   func() (source.Gather, error)
	fields []FieldWriter
	free   sync.Pool // of *columns
}

// columns is the memory of one batch in the making.
type columns struct {
	gather  source.Gather
	places  []int64
	indices []int64
	into    []shard.Target
	texts   []shard.Texts // by field
}

// NewTable returns what fills batches of rows from columns of the source; nil if the
// writer does more than that, or the source has no such columns. Before sets the column
// of a field to that which it was in when the source gave it.
func NewTable(e *Writer, from *source.Listing, rows int, dropLast bool, before func(*FieldWriter) bool) *Table {
	contents, ok := from.Contents.(source.Table)
	switch {
	case !ok:
		return nil
	case e.Last != nil, e.Function != nil, e.Collating != nil: // they make fields
		return nil
	case e.Packed != nil, e.Grouping != nil: // samples choose their batches
		return nil
	}
	t := &Table{Source: from, Rows: rows, DropLast: dropLast}
	var at []record.Column
	for _, f := range e.Fields {
		if f.pad != nil || !before(&f) {
			return nil
		}
		t.fields, at = append(t.fields, f), append(at, f.Column)
	}
	if t.open, t.Waits = contents.Columns(e.Env, at, from.Near()); t.open == nil {
		return nil
	}
	return t
}

// Into fills a batch with a run of samples.
func (t *Table) Into(ctx context.Context, run *source.Run, b *Batch, _ int) (err error) {
	if run.Count < t.Rows && t.DropLast {
		return pipe.Skip
	}
	defer core.Catch(&err)
	g, err := t.take()
	if err != nil {
		return err
	}
	defer t.free.Put(g)

	g.indices = g.indices[:run.Count]
	t.Source.Course(run.Epoch).Run(run.Pos, g.places[:run.Count], g.indices)
	for i, f := range t.fields {
		if g.into[i].Texts != nil {
			g.into[i].Texts.Reset()
		} else {
			g.into[i].Data = b.column(f.Field, run.Count)
		}
	}
	if err := g.gather(ctx, g.indices, g.into); err != nil {
		if bad := (*shard.RowError)(nil); errors.As(err, &bad) {
			return core.Blame(t.Source.At(run.Epoch, run.Pos+int64(bad.Row)), bad.Err)
		}
		return err
	}

	for i, f := range t.fields {
		if texts := g.into[i].Texts; texts != nil {
			b.putTexts(f.text, texts)
		}
	}
	b.rows = run.Count
	return nil
}

func (t *Table) take() (*columns, error) {
	if g, ok := t.free.Get().(*columns); ok {
		return g, nil
	}
	gather, err := t.open()
	if err != nil {
		return nil, err
	}
	g := &columns{gather: gather, places: make([]int64, t.Rows), indices: make([]int64, t.Rows),
		into: make([]shard.Target, len(t.fields)), texts: make([]shard.Texts, len(t.fields))}
	for i, f := range t.fields {
		if f.beside() {
			g.into[i].Texts = &g.texts[i]
		}
	}
	return g, nil
}

// putTexts sets a field of all rows. One string has the bytes of all of them.
func (b *Batch) putTexts(field int, all *shard.Texts) {
	whole, from := string(all.Bytes), 0
	for row, end := range all.Ends {
		*b.texts[field].at(row) = whole[from:end]
		from = end
	}
}

// column returns the memory of a field in the first rows.
func (b *Batch) column(field, rows int) []byte {
	form := b.form.Load()
	start, n := b.offset(form, field), rows*form.sizes[field]
	return b.data[start : start+n : start+n]
}
