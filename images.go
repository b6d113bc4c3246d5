package headrace

import (
	"context"
	"fmt"

	"headrace/media"
	"headrace/recipe/fuse"
)

// images is a part of a recipe that consists of steps on an image. One plan carries them out, in one call: from the compressed bytes, if
// decoding is among them, else from stored pixels, to memory of the sample, or to its row.
type images struct {
	work  *work
	what  *fuse.Images
	bytes place // what is decoded; nowhere: the picture is there
	image place
	last  bool              // the result goes into the row
	names map[uint64]string // of the steps, by their IDs
}

// run implements part.
func (p *images) run(ctx context.Context, it *item, t *tool) error {
	if err := p.plan(it, t, p.formOf(it), p.work.ledger); err != nil {
		return err
	}
	to := it.values.room(&p.work.pictures, t.plan.Form())
	if err := p.draw(ctx, it, t, to.Data, to.Stride); err != nil {
		return err
	}
	it.values.forget(p.bytes)
	it.values.pictures[p.image.at] = to
	p.work.settle(it)
	return nil
}

// into is run with the result in the sample's row.
func (p *images) into(ctx context.Context, it *item, t *tool, row []byte) error {
	if err := p.plan(it, t, p.formOf(it), p.work.ledger); err != nil {
		return err
	}
	form := t.plan.Form()
	if n, err := form.Shape().Bytes(form.DType); err != nil || n != int64(len(row)) {
		return fmt.Errorf("headrace: the picture comes out as %v, its row in the batch takes %d bytes", form, len(row))
	}
	return p.draw(ctx, it, t, row, form.RowBytes())
}

func (p *images) decodes() bool { return p.bytes.in == data }

// formOf is that of the stored picture.
func (p *images) formOf(it *item) media.Form {
	if p.decodes() {
		return media.Form{}
	}
	return it.values.pictures[p.image.at].form()
}

// plan makes one of the steps, for compressed bytes, or for stored pixels of this form. Random draws are the same, however the steps are divided.
func (p *images) plan(it *item, t *tool, f media.Form, explain bool) error {
	info := media.Info{Width: f.Width, Height: f.Height, Orientation: 1}
	if p.decodes() {
		if it.bad != nil {
			return it.bad
		}
		info = it.info
	}
	if explain {
		return p.explain(it, t, info)
	}
	return media.MakePlan(info, p.what.Decode, p.what.Steps, &t.chance, &t.plan)
}

// draw carries the plan out.
func (p *images) draw(ctx context.Context, it *item, t *tool, dst []byte, stride int) error {
	if !p.decodes() {
		return p.work.watched(ctx, it, func() error {
			return media.CurrentRunner().Run(dst, stride, it.values.pictures[p.image.at].Pixels, &t.plan)
		})
	}
	decoder, err := media.DecoderFor(it.info.Format)
	if err != nil {
		return err
	}
	return p.work.watched(ctx, it, func() error {
		return decoder.DecodeInto(dst, stride, it.values.data[p.bytes.at], &it.info, &t.plan)
	})
}

// foresee implements part. It is an upper estimate of what the decoder takes, and of all pictures on the way to the result.
func (p *images) foresee(it *item, t *tool) (bytes int64) {
	before := t.forms[p.image.at]
	t.forms[p.image.at] = media.Form{}
	if !p.decodes() && before.Height <= 0 || p.plan(it, t, before, false) != nil {
		return 0 // nothing is known of the picture, or the operation will fail before it needs any
	}
	if p.decodes() {
		bytes = t.plan.WorkingBytes(&it.info, it.values.data[p.bytes.at])
	} else {
		bytes = t.plan.WorkingBytes(nil, nil)
	}
	if !p.last {
		t.forms[p.image.at] = t.plan.Form()
		bytes += storedBytes(t.plan.Form())
	}
	return bytes
}
