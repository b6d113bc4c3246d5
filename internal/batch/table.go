package batch

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/column"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
)

// Table fills batches column by column, if nothing but steps on columns is done to
// samples on their way. There are no records then, and no work for each row.
type Table struct {
	Source   *source.Listing
	Rows     int // of a full batch
	DropLast bool
	Waits    bool     // for files
	Steps    []string // on columns, that it carries out

	open    func() (source.Gather, error)
	columns []tableColumn // each after those that it is made of
	read    []int         // those that the source has
	fields  []tableField
	free    sync.Pool // of *columns
}

// Computed is a column of the source, or one that is made of others.
type Computed struct {
	Source record.Column
	Made   *column.Field // nil: it is that of the source
	From   []int         // by their numbers, those that it is made of
}

// tableColumn is a column with its memory.
type tableColumn struct {
	Computed
	field  int  // which of the batch's it is laid into; -1: none, it is on its way
	beside bool // rows may have different sizes: it is one after the other, with their ends
	size   int  // otherwise, of a row
}

// tableField is a field of the batch, and the number of its column.
type tableField struct {
	FieldWriter
	of int
}

// columns is the memory of one batch in the making.
type columns struct {
	gather  source.Gather
	places  []int64
	indices []int64
	into    []shard.Target // by number among those that are read
	all     []columnMemory // by number of the column
	from    []column.Values
}

// columnMemory has the values of a column.
type columnMemory struct {
	data  []byte
	own   []byte // that data is in, unless it is in the batch
	texts sample.Texts
}

// NewTable returns what fills batches of rows from columns of the source; nil if the
// writer does more than that, or the source has no such columns. Trace returns the number
// of the column that a field is in, among all that it has found.
func NewTable(e *Writer, from *source.Listing, rows int, dropLast bool,
	trace func(record.Column) (int, bool), all *[]Computed) *Table {
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
	for _, f := range e.Fields {
		number, ok := trace(f.Column)
		if f.pad != nil || !ok {
			return nil
		}
		t.fields = append(t.fields, tableField{f, number})
	}
	if !t.lay(*all) {
		return nil
	}

	var at []record.Column
	for _, i := range t.read {
		at = append(at, t.columns[i].Source)
	}
	if t.open, t.Waits = contents.Columns(e.Env, at, from.Near()); t.open == nil {
		return nil
	}
	return t
}

// lay says where columns are, and reports whether they can be made without samples.
func (t *Table) lay(all []Computed) bool {
	for i, c := range all {
		t.columns = append(t.columns, tableColumn{Computed: c, field: -1})
		if c.Made == nil {
			t.read = append(t.read, i)
			continue
		}
		t.columns[i].size, t.columns[i].beside = rowSize(c.Made.Type)
		for k, is := range c.Made.In {
			from := &t.columns[c.From[k]]
			if from.Made == nil {
				from.size, from.beside = rowSize(is)
			}
			lists := is.Kind == sample.Text && len(is.Shape) > 0 // they are in one value
			if lists || from.beside && len(c.From) > 1 {         // the sizes of rows may differ
				return false
			}
		}
	}

	// A column of the batch is laid there at once; other fields of it are copies.
	for k := range t.fields {
		f := &t.fields[k]
		if c := &t.columns[f.of]; c.field < 0 {
			c.field, c.beside = k, f.beside()
		} else if c.beside != f.beside() {
			return false
		}
	}
	return true
}

// rowSize returns the bytes of a row; beside: it may be of any size.
func rowSize(t sample.Type) (n int, beside bool) {
	if !t.Fixed() {
		return 0, true
	}
	size, _ := t.Shape.Bytes(t.DType) // checked with the recipe
	return int(size), false
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

	t.place(g, b, run.Count)
	g.indices = g.indices[:run.Count]
	t.Source.Course(run.Epoch).Run(run.Pos, g.places[:run.Count], g.indices)
	err = g.gather(ctx, g.indices, g.into)
	if err == nil {
		err = t.compute(g, run.Count)
	}
	if err != nil {
		if bad := (*shard.RowError)(nil); errors.As(err, &bad) {
			place := int64(bad.Row)
			return pipe.Within(core.Blame(t.Source.At(run.Epoch, run.Pos+place), bad.Err), place)
		}
		return err
	}

	for k, f := range t.fields {
		switch c := &t.columns[f.of]; {
		case c.beside && c.field == k:
			b.texts[f.text].pack(&g.all[f.of].texts)
		case c.beside:
			b.texts[f.text].copy(b.texts[t.fields[c.field].text])
		case c.field != k: // a copy
			copy(b.column(f.Field, run.Count), g.all[f.of].data)
		}
	}
	b.holds(run, t.Source)
	return nil
}

// holds notes which samples are in the rows of a batch that was filled with a run.
func (b *Batch) holds(run *source.Run, of *source.Listing) {
	if b.rows = run.Count; b.members != nil {
		b.span = record.Span{Rows: run.Count, At: func(i int) *record.Record { return of.At(run.Epoch, run.Pos+int64(i)) }}
	}
}

func (t *Table) take() (*columns, error) {
	if g, ok := t.free.Get().(*columns); ok {
		return g, nil
	}
	gather, err := t.open()
	if err != nil {
		return nil, err
	}
	return &columns{gather: gather, places: make([]int64, t.Rows), indices: make([]int64, t.Rows),
		into: make([]shard.Target, len(t.read)), all: make([]columnMemory, len(t.columns))}, nil
}

// place gives each column its memory in a batch, or beside it.
func (t *Table) place(g *columns, b *Batch, rows int) {
	for i := range t.columns {
		c, m := &t.columns[i], &g.all[i]
		switch {
		case c.beside:
			m.texts.Reset()
		case c.field >= 0:
			m.data = b.column(t.fields[c.field].Field, rows)
		default:
			if m.own == nil {
				m.own = make([]byte, t.Rows*c.size)
			}
			m.data = m.own[:rows*c.size]
		}
	}
	for k, i := range t.read {
		g.into[k] = shard.Target{Data: g.all[i].data}
		if t.columns[i].beside {
			g.into[k] = shard.Target{Texts: &g.all[i].texts}
		}
	}
}

// compute makes the columns that the source does not have. The error of a row is a
// *[shard.RowError].
func (t *Table) compute(g *columns, rows int) error {
	for i := range t.columns {
		c := &t.columns[i]
		if c.Made == nil {
			continue
		}
		g.from = g.from[:0]
		for k, from := range c.From {
			g.from = append(g.from, valuesOf(&t.columns[from], &g.all[from], c.Made.In[k]))
		}
		to := &g.all[i]
		if c.beside {
			n := c.Made.Lines(g.from) * c.Made.OutLine
			to.texts.Bytes = slices.Grow(to.texts.Bytes[:0], n)[:n]
			to.data = to.texts.Bytes
			t.ends(g, i, rows)
		}
		if bad := c.Made.Fill(to.data, g.from); bad != nil {
			err := &core.StepError{Step: c.Made.Step, Err: c.Made.Wrong(bad, -1)}
			return &shard.RowError{Row: t.rowOf(g, c, bad.Line), Err: err}
		}
	}
	return nil
}

// valuesOf returns the values of a column of which another is made.
func valuesOf(c *tableColumn, m *columnMemory, is sample.Type) column.Values {
	switch {
	case is.Kind == sample.Text:
		m.texts.Spell()
		return column.Values{Texts: m.texts}
	case c.beside:
		return column.Values{Data: m.texts.Bytes}
	}
	return column.Values{Data: m.data}
}

// ends sets the ends of the rows of a column. Each is as long as that of the first column
// of which it is made.
func (t *Table) ends(g *columns, number, rows int) {
	of, to := t.columns[number].Made, &g.all[number].texts
	in := t.columns[number].From[0]
	to.Ends = to.Ends[:0]
	for row := range rows {
		end := (row + 1) * t.columns[in].size
		if t.columns[in].beside {
			end = g.all[in].texts.Ends[row]
		}
		to.Ends = append(to.Ends, end/of.InLine*of.OutLine)
	}
}

// rowOf returns the row of a line of the first column that another is made of.
func (t *Table) rowOf(g *columns, c *tableColumn, line int) int {
	in, of := &t.columns[c.From[0]], c.Made
	switch {
	case line < 0:
		return 0
	case of.In[0].Kind == sample.Text:
		return line
	case in.beside:
		row, _ := slices.BinarySearch(g.all[c.From[0]].texts.Ends, line*of.InLine+1)
		return row
	}
	return line / (in.size / of.InLine)
}
