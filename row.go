package headrace

import (
	"context"
	"encoding/binary"
	"headrace/internal/ops"

	"headrace/internal/record"
	"headrace/pipe"
)

// ending is the last part of a recipe: it writes samples into their rows.
type ending struct {
	work   *ops.Env
	images *ops.ImageSteps // the last steps on an image; nil: there are none
	image  int             // the field that they write
	writer *rowWriter      // a function of Python, the last step; nil: that is no such function
	cells  []cell          // all other fields
	tracks []track         // of rows into which samples are packed; nil: a sample has its own

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
	place record.Column

	// Of a sequence:
	pad    []byte // behind its end; nil: it is none
	length int    // the field with its length
	bytes  int    // of an element
}

// seat is a sample with its row.
type seat struct {
	it    *record.Record
	batch *Batch
	row   int
}

// bear says what is done about failures. Way is how samples get here.
func (e *ending) bear(name string, h ops.Handling, way []ops.PathStep) {
	e.write, e.replaces, e.losses = e.writeOnce, h.Replaces, h.Policy
	if h.Retries > 0 {
		e.write = pipe.Retry(e.write, pipe.Backoff{Times: h.Retries, First: h.Wait, Most: ops.MostWait})
	}
	if !h.Replaces {
		return
	}
	write, w := e.write, e.work
	e.write = pipe.Replace(write, func(ctx context.Context, s seat, err error) (struct{}, error) {
		w.Drop(s.it)
		out, err := w.Substitute(ctx, s.it, err, name, way, func(ctx context.Context, it *record.Record) (*record.Record, error) {
			if _, err := write(ctx, seat{it, s.batch, s.row}); err != nil {
				w.Drop(it)
				return nil, err
			}
			return it, nil
		})
		if err == nil {
			w.Drop(out)
		}
		return struct{}{}, err
	})
}

// fill writes a sample into its row. The sample is done with, whatever comes of it.
func (e *ending) fill(ctx context.Context, it *record.Record, b *Batch, row int) error {
	defer e.work.Drop(it)
	if _, err := e.write(ctx, seat{it, b, row}); err != nil {
		return ops.Blame(it, err)
	}
	return nil
}

func (e *ending) writeOnce(ctx context.Context, s seat) (_ struct{}, err error) {
	defer ops.Catch(&err)
	if e.grouping != nil && !e.grouping.takes(s.it, s.batch) {
		return struct{}{}, ops.ErrElsewhere // drawn for the place of another
	}
	if e.images != nil {
		t := e.work.Tool(s.it)
		defer e.work.Done(t)
		if err := e.images.Into(ctx, s.it, t, s.batch.row(e.image, s.row)); err != nil {
			return struct{}{}, err
		}
	}
	if e.writer != nil {
		if err := e.writer.into(ctx, s.it, s.batch, s.row); err != nil {
			return struct{}{}, err
		}
	}
	for _, c := range e.cells {
		c.write(s.it.Values, s.batch, s.row)
	}
	s.batch.empty(s.row)
	s.batch.origin(s.row, s.it)
	return struct{}{}, nil
}

func (c cell) write(v *record.Values, b *Batch, row int) {
	switch c.place.Kind {
	case record.Texts:
		*b.texts[c.text].at(row) = v.Texts[c.place.At]
		return
	case record.Bytes: // an object
		*b.texts[c.text].at(row) = string(v.Bytes[c.place.At])
		return
	}
	dst := b.row(c.field, row)
	switch c.place.Kind {
	case record.Numbers:
		copy(dst, v.Numbers[c.place.At:][:c.place.Size])
	case record.Images:
		v.Images[c.place.At].CopyTo(dst)
	case record.Arrays:
		n := copy(dst, v.Arrays[c.place.At].Data)
		if c.pad != nil {
			repeat(dst[n:], c.pad)
			binary.NativeEndian.PutUint64(b.row(c.length, row), uint64(n/c.bytes))
		}
	}
}
