package headrace

import (
	"context"
	"fmt"

	"headrace/internal/record"
	"headrace/media"
	"headrace/recipe/fuse"
)

// images is a part of a recipe that consists of steps on an image. One plan carries them out, in one call: from the compressed bytes, if
// decoding is among them, else from stored pixels, to memory of the sample, or to its row.
type images struct {
	work  *work
	what  *fuse.Images
	bytes record.Column // what is decoded; nowhere: the picture is there
	image record.Column
	last  bool              // the result goes into the row
	names map[uint64]string // of the steps, by their IDs
}

// run implements part.
func (p *images) run(ctx context.Context, it *record.Record, t *tool) error {
	if err := p.plan(it, t, p.formOf(it), p.work.ledger); err != nil {
		return err
	}
	to := it.Values.NewImage(&p.work.Images, t.plan.Form())
	if err := p.draw(ctx, it, t, to.Data, to.Stride); err != nil {
		return err
	}
	it.Values.Forget(p.bytes)
	it.Values.Images[p.image.At] = to
	p.work.Settle(it)
	return nil
}

// into is run with the result in the sample's row.
func (p *images) into(ctx context.Context, it *record.Record, t *tool, row []byte) error {
	if err := p.plan(it, t, p.formOf(it), p.work.ledger); err != nil {
		return err
	}
	form := t.plan.Form()
	if n, err := form.Shape().Bytes(form.DType); err != nil || n != int64(len(row)) {
		return fmt.Errorf("headrace: the picture comes out as %v, its row in the batch takes %d bytes", form, len(row))
	}
	return p.draw(ctx, it, t, row, form.RowBytes())
}

func (p *images) decodes() bool { return p.bytes.Kind == record.Bytes }

// formOf is that of the stored picture.
func (p *images) formOf(it *record.Record) media.Form {
	if p.decodes() {
		return media.Form{}
	}
	return it.Values.Images[p.image.At].Form()
}

// plan makes one of the steps, for compressed bytes, or for stored pixels of this form. Random draws are the same, however the steps are divided.
func (p *images) plan(it *record.Record, t *tool, f media.Form, explain bool) error {
	info := media.Info{Width: f.Width, Height: f.Height, Orientation: 1}
	if p.decodes() {
		if it.HeaderErr != nil {
			return it.HeaderErr
		}
		info = it.Header
	}
	if explain {
		return p.explain(it, t, info)
	}
	return media.MakePlan(info, p.what.Decode, p.what.Steps, &t.chance, &t.plan)
}

// draw carries the plan out.
func (p *images) draw(ctx context.Context, it *record.Record, t *tool, dst []byte, stride int) error {
	if !p.decodes() {
		return p.work.watched(ctx, it, func() error {
			return media.CurrentRunner().Run(dst, stride, it.Values.Images[p.image.At].Pixels, &t.plan)
		})
	}
	decoder, err := media.DecoderFor(it.Header.Format)
	if err != nil {
		return err
	}
	return p.work.watched(ctx, it, func() error {
		return decoder.DecodeInto(dst, stride, it.Values.Bytes[p.bytes.At], &it.Header, &t.plan)
	})
}

// foresee implements part. It is an upper estimate of what the decoder takes, and of all pictures on the way to the result.
func (p *images) foresee(it *record.Record, t *tool) (bytes int64) {
	before := t.forms[p.image.At]
	t.forms[p.image.At] = media.Form{}
	if !p.decodes() && before.Height <= 0 || p.plan(it, t, before, false) != nil {
		return 0 // nothing is known of the picture, or the operation will fail before it needs any
	}
	if p.decodes() {
		bytes = t.plan.WorkingBytes(&it.Header, it.Values.Bytes[p.bytes.At])
	} else {
		bytes = t.plan.WorkingBytes(nil, nil)
	}
	if !p.last {
		t.forms[p.image.At] = t.plan.Form()
		bytes += record.StoredBytes(t.plan.Form())
	}
	return bytes
}
