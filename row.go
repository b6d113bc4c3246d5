package headrace

import "context"

// ending is the last part of a recipe: it writes samples into their rows.
type ending struct {
	work   *work
	images *images // the last steps on an image; nil: there are none
	image  int     // the field that they write
	cells  []cell  // all other fields
}

// cell is a field of a batch.
type cell struct {
	field int
	text  int // which of the texts it is
	place place
}

// fill writes a sample into its row. The sample is done with, whatever comes of it.
func (e *ending) fill(ctx context.Context, it *item, b *Batch, row int) (err error) {
	defer e.work.drop(it)
	defer e.work.blame(it, &err)
	defer catch(&err)
	if e.images != nil {
		t := e.work.tool(it)
		defer e.work.tools.Put(t)
		if err := e.images.into(ctx, it, t, e.work.layout.row(b.slot.Bytes(), e.image, row)); err != nil {
			return err
		}
	}
	for _, c := range e.cells {
		c.write(it.values, b, row)
	}
	return nil
}

func (c cell) write(v *values, b *Batch, row int) {
	if c.place.in == texts {
		b.texts[c.text][row] = v.texts[c.place.at]
		return
	}
	dst := b.slots.layout.row(b.slot.Bytes(), c.field, row)
	switch c.place.in {
	case numbers:
		copy(dst, v.numbers[c.place.at:][:c.place.size])
	case pictures:
		v.pictures[c.place.at].copyTo(dst)
	}
}
