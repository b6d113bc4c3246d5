package batch

import (
	"context"
	"errors"
	"sync"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/sample"
)

// Called fills batches by calls of a Python function that needs no more of a sample than
// its number: an object that has the samples, and the functions that these go through.
// Where calls are quick, many are made by one message, and there are no records.
type Called struct {
	Source   *source.Listing
	Rows     int // of a full batch
	DropLast bool

	writer *Writer
	keys   []int     // which of the batch's texts are the samples' names
	free   sync.Pool // of *drafts
}

// drafts is the memory for one batch in the making.
type drafts struct {
	places, indices []int64
	call            extern.Call
}

// mostSmall is up to how many bytes an array travels with its message. Larger ones are
// written into their rows by the worker.
const mostSmall = 4 << 10

// NewCalled returns what fills batches of rows by such calls; nil if the writer does more
// than that, or samples are not small.
func NewCalled(e *Writer, from *source.Listing, rows int, dropLast bool) *Called {
	f := e.Function
	switch {
	case f == nil, f.Begin == nil, f.Land != nil: // it needs more
		return nil
	case e.Last != nil, e.Packed != nil, e.Grouping != nil, e.retries, e.Replaces:
		return nil
	}
	c := &Called{Source: from, Rows: rows, DropLast: dropLast, writer: e}
	for i, to := range f.fields {
		t := f.Out[i].Type
		if n, err := t.Shape.Bytes(t.DType); to.text < 0 && (!t.Fixed() || err != nil || n > mostSmall) {
			return nil
		}
		if to.text >= 0 && (t.Kind != sample.Text || t.Shape != nil) {
			return nil
		}
	}
	for _, in := range f.In {
		if !from.NamedBy(in.Column) {
			return nil
		}
	}
	for _, to := range e.Fields {
		if !from.NamedBy(to.Column) {
			return nil
		}
		c.keys = append(c.keys, to.text)
	}
	return c
}

// Into fills a batch with a run of samples.
func (c *Called) Into(ctx context.Context, run *source.Run, b *Batch, _ int) (err error) {
	if run.Count < c.Rows && c.DropLast {
		return pipe.Skip
	}
	defer core.Catch(&err)
	m := c.take(run.Count)
	defer c.free.Put(m)
	c.Source.Course(run.Epoch).Run(run.Pos, m.places, m.indices)

	done := 0
	if c.writer.Function.Runs() {
		done, err = c.together(ctx, run, b, m)
	}
	if err == nil && done < run.Count {
		err = c.apart(ctx, run, b, m, done)
	}
	b.holds(run, c.Source)
	return err
}

// together has the function called for all samples by few messages. It returns how many
// have come; that is not all of them if the others have to be called for one by one.
func (c *Called) together(ctx context.Context, run *source.Run, b *Batch, m *drafts) (done int, err error) {
	f := c.writer.Function
	m.call = extern.Call{ID: sample.ID{Source: c.Source.Name, Epoch: run.Epoch}, Run: m.indices,
		In: m.call.In[:0], Into: m.call.Into[:0]}
	for _, index := range m.indices {
		for range f.In {
			m.call.In = append(m.call.In, extern.Value{Kind: sample.Text, Text: c.Source.Contents.Key(index)})
		}
	}
	for _, to := range f.fields {
		if to.text >= 0 {
			m.call.Into = append(m.call.Into, extern.Column{Texts: make([]string, run.Count)})
		} else {
			m.call.Into = append(m.call.Into, extern.Column{Data: b.column(to.field, run.Count)})
		}
	}

	done, err = f.Gather(ctx, &m.call)
	if errors.Is(err, extern.ErrApart) {
		err = nil
	}
	if err != nil {
		place := int64(done)
		return done, pipe.Within(core.Blame(c.Source.At(run.Epoch, run.Pos+place), err), place)
	}
	size := int64(0)
	for i, to := range f.fields {
		into := &m.call.Into[i]
		size += int64(len(into.Data))
		for row := range into.Texts[:min(done, len(into.Texts))] {
			*b.texts[to.text].at(row) = into.Texts[row]
			size += int64(len(into.Texts[row]))
		}
	}
	pipe.AddBytes(ctx, size)
	for _, text := range c.keys {
		for row, index := range m.indices[:done] {
			*b.texts[text].at(row) = c.Source.Contents.Key(index)
		}
	}
	return done, nil
}

// apart has the function called for the samples from one on, with a record for each.
func (c *Called) apart(ctx context.Context, run *source.Run, b *Batch, m *drafts, from int) (err error) {
	var rows []row
	failed := run.Count
	fail := func(row int, e error) {
		if e != nil && row < failed {
			failed, err = row, pipe.Within(e, int64(row))
		}
	}
	for i := from; i < failed; i++ {
		it := c.Source.Sample(run.Epoch, run.Pos+int64(i), m.places[i], m.indices[i])
		if c.writer.Function.Tried(it.ID) {
			fail(i, c.writer.Fill(ctx, it, b, i))
		} else {
			rows = append(rows, row{Item: it, Batch: b, Row: i})
		}
	}
	c.writer.FillAll(ctx, rows, func(i int, e error) { fail(rows[i].Row, e) })
	return err
}

func (c *Called) take(rows int) *drafts {
	m, ok := c.free.Get().(*drafts)
	if !ok {
		m = &drafts{places: make([]int64, c.Rows), indices: make([]int64, c.Rows)}
	}
	m.places, m.indices = m.places[:rows], m.indices[:rows]
	return m
}
