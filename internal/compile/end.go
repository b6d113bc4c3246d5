package compile

import (
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/op/core"
)

// end makes what fills the batches of the plan, with its last part.
func (b *builder) end() (e *batch.Writer, known facts, err error) {
	e = &batch.Writer{Env: b.Env, Made: -1}
	if b.plan.Batch.Collate != nil {
		e.Collating, known, err = b.collate()
		return e, known, err
	}
	if b.section().Groups {
		known, err = b.group(e)
	} else {
		known, err = b.lastPart(e)
	}
	if err != nil {
		return nil, facts{}, err
	}

	p, layout := b.plan.Last, b.section().Layout
	h := b.Policies.Of(p.Failures, b.samples)
	e.Handle(p.Name(), h, b.path)
	if pack := b.plan.Batch.Pack; pack != nil {
		e.Packed = layout.Tracks(*pack, b.Schema, b.Columns.Of)
	} else {
		e.Lay(layout, *b.plan, b.Columns.Of)
	}
	return e, known.with(handles(p.Name(), h)), nil
}

// section returns the part of the target that this plan makes batches with.
func (b *builder) section() Section { return b.sections[b.plan] }

// lastPart has the last part write into the rows of batches.
func (b *builder) lastPart(e *batch.Writer) (known facts, err error) {
	p, layout := b.plan.Last, b.section().Layout
	switch {
	case p.Reads && p.Step == nil:
		b.line.reader.Stage = p.Name()
		e.Function = batch.NewRowWriter(b.line.reader, layout)
		e.Function.Begin = b.line.source.Late(b.Env, &b.Columns)
	case p.Fills():
		b.reach(p)
		row, err := core.LinkRow(b.Env, *p.Step, &b.Scope)
		if err != nil {
			return known, err
		}
		b.last(e, row)
	case p.Step != nil:
		b.reach(p)
		// A copy: rowWriter adds columns for results, and Late needs those of the source.
		late := b.Columns.Branch()
		if e.Function, known, err = b.rowWriter(p); err != nil {
			return known, err
		}
		if p.Reads {
			e.Function.Begin = b.line.source.Late(b.Env, &late)
		}
	case p.Images != nil:
		b.reach(p)
		images := b.images(p)
		images.Last = true
		b.last(e, images)
	}
	return known, nil
}

// last has a part write into the rows of batches, for which bytes are reserved.
func (b *builder) last(e *batch.Writer, p core.RowPart) {
	e.Last = p
	b.Memory.Parts = append(b.Memory.Parts, p)
}
