package headrace

import (
	"context"
	"encoding/binary"

	"headrace/pipe"
)

// ending is the last part of a recipe: it writes samples into their rows.
type ending struct {
	work   *work
	images *images    // the last steps on an image; nil: there are none
	image  int        // the field that they write
	writer *rowWriter // a function of Python, the last step; nil: that is no such function
	cells  []cell     // all other fields
	tracks []track    // of rows into which samples are packed; nil: a sample has its own

	grouping  *grouping  // nil: samples come into batches as they come
	collating *collating // of which a function makes batches; all else here is nothing then

	write    func(context.Context, seat) (struct{}, error) // with all that is done about failures
	replaces bool
	losses   *pipe.Policy
}

// cell is a field of a batch.
type cell struct {
	field int
	text  int // of text or an object: which of the batch's
	place place

	// Of a sequence:
	pad    []byte // behind its end; nil: it is none
	length int    // the field with its length
	bytes  int    // of an element
}

// seat is a sample with its row.
type seat struct {
	it    *item
	batch *Batch
	row   int
}

// bear says what is done about failures. Way is how samples get here.
func (e *ending) bear(name string, h handling, way []op) {
	e.write, e.replaces, e.losses = e.writeOnce, h.replaces, h.policy
	if h.retries > 0 {
		e.write = pipe.Retry(e.write, pipe.Backoff{Times: h.retries, First: h.wait, Most: mostWait})
	}
	if !h.replaces {
		return
	}
	write, w := e.write, e.work
	e.write = pipe.Replace(write, func(ctx context.Context, s seat, err error) (struct{}, error) {
		w.drop(s.it)
		out, err := w.substitute(ctx, s.it, err, name, way, func(ctx context.Context, it *item) (*item, error) {
			if _, err := write(ctx, seat{it, s.batch, s.row}); err != nil {
				w.drop(it)
				return nil, err
			}
			return it, nil
		})
		if err == nil {
			w.drop(out)
		}
		return struct{}{}, err
	})
}

// fill writes a sample into its row. The sample is done with, whatever comes of it.
func (e *ending) fill(ctx context.Context, it *item, b *Batch, row int) error {
	defer e.work.drop(it)
	if _, err := e.write(ctx, seat{it, b, row}); err != nil {
		return it.blamed(err)
	}
	return nil
}

func (e *ending) writeOnce(ctx context.Context, s seat) (_ struct{}, err error) {
	defer catch(&err)
	if e.grouping != nil && !e.grouping.takes(s.it, s.batch) {
		return struct{}{}, errElsewhere // drawn for the place of another
	}
	if e.images != nil {
		t := e.work.tool(s.it)
		defer e.work.tools.Put(t)
		if err := e.images.into(ctx, s.it, t, s.batch.row(e.image, s.row)); err != nil {
			return struct{}{}, err
		}
	}
	if e.writer != nil {
		if err := e.writer.into(ctx, s.it, s.batch, s.row); err != nil {
			return struct{}{}, err
		}
	}
	for _, c := range e.cells {
		c.write(s.it.values, s.batch, s.row)
	}
	s.batch.empty(s.row)
	s.batch.origin(s.row, s.it)
	return struct{}{}, nil
}

func (c cell) write(v *values, b *Batch, row int) {
	switch c.place.in {
	case texts:
		b.texts[c.text][row] = v.texts[c.place.at]
		return
	case data: // an object
		b.texts[c.text][row] = string(v.data[c.place.at])
		return
	}
	dst := b.row(c.field, row)
	switch c.place.in {
	case numbers:
		copy(dst, v.numbers[c.place.at:][:c.place.size])
	case pictures:
		v.pictures[c.place.at].copyTo(dst)
	case arrays:
		n := copy(dst, v.arrays[c.place.at].data)
		if c.pad != nil {
			repeat(dst[n:], c.pad)
			binary.NativeEndian.PutUint64(b.row(c.length, row), uint64(n/c.bytes))
		}
	}
}
