package ops

import (
	"context"
	"fmt"

	"headrace/internal/record"
	"headrace/media"
	"headrace/recipe/fuse"
)

// ImageSteps is a part of a recipe that consists of steps on an image. One plan carries
// them out, in one call: from the compressed bytes, if decoding is among them, else from
// stored pixels, to memory of the sample, or to its row.
type ImageSteps struct {
	Env   *Env
	Steps *fuse.Images
	From  record.Column // what is decoded; nowhere: the picture is there
	To    record.Column
	Last  bool              // the result goes into the row
	Names map[uint64]string // of the steps, by their IDs
}

// Run implements part.
func (p *ImageSteps) Run(ctx context.Context, it *record.Record, t *Tool) error {
	if err := p.Plan(it, t, p.FormOf(it), p.Env.Ledger); err != nil {
		return err
	}
	to := it.Values.NewImage(&p.Env.Images, t.Plan.Form())
	if err := p.draw(ctx, it, t, to.Data, to.Stride); err != nil {
		return err
	}
	it.Values.Forget(p.From)
	it.Values.Images[p.To.At] = to
	p.Env.Settle(it)
	return nil
}

// Into is run with the result in the sample's row.
func (p *ImageSteps) Into(ctx context.Context, it *record.Record, t *Tool, row []byte) error {
	if err := p.Plan(it, t, p.FormOf(it), p.Env.Ledger); err != nil {
		return err
	}
	form := t.Plan.Form()
	if n, err := form.Shape().Bytes(form.DType); err != nil || n != int64(len(row)) {
		return fmt.Errorf("headrace: the picture comes out as %v, its row in the batch takes %d bytes", form, len(row))
	}
	return p.draw(ctx, it, t, row, form.RowBytes())
}

// Decodes reports whether the steps begin with compressed bytes.
func (p *ImageSteps) Decodes() bool { return p.From.Kind == record.Bytes }

// FormOf is that of the stored picture.
func (p *ImageSteps) FormOf(it *record.Record) media.Form {
	if p.Decodes() {
		return media.Form{}
	}
	return it.Values.Images[p.To.At].Form()
}

// Plan makes one of the steps, for compressed bytes, or for stored pixels of this form.
// Random draws are the same, however the steps are divided.
func (p *ImageSteps) Plan(it *record.Record, t *Tool, f media.Form, explain bool) error {
	info := media.Info{Width: f.Width, Height: f.Height, Orientation: 1}
	if p.Decodes() {
		if it.HeaderErr != nil {
			return it.HeaderErr
		}
		info = it.Header
	}
	if explain {
		return p.explain(it, t, info)
	}
	return media.MakePlan(info, p.Steps.Decode, p.Steps.Steps, &t.chance, &t.Plan)
}

// draw carries the plan out.
func (p *ImageSteps) draw(ctx context.Context, it *record.Record, t *Tool, dst []byte, stride int) error {
	if !p.Decodes() {
		return p.Env.watched(ctx, it, func() error {
			return media.CurrentRunner().Run(dst, stride, it.Values.Images[p.To.At].Pixels, &t.Plan)
		})
	}
	decoder, err := media.DecoderFor(it.Header.Format)
	if err != nil {
		return err
	}
	return p.Env.watched(ctx, it, func() error {
		return decoder.DecodeInto(dst, stride, it.Values.Bytes[p.From.At], &it.Header, &t.Plan)
	})
}

// Foresee implements part. It is an upper estimate of what the decoder takes, and of all
// pictures on the way to the result.
func (p *ImageSteps) Foresee(it *record.Record, t *Tool) (bytes int64) {
	before := t.Forms[p.To.At]
	t.Forms[p.To.At] = media.Form{}
	if !p.Decodes() && before.Height <= 0 || p.Plan(it, t, before, false) != nil {
		return 0 // nothing is known of the picture, or the operation will fail before it needs any
	}
	if p.Decodes() {
		bytes = t.Plan.WorkingBytes(&it.Header, it.Values.Bytes[p.From.At])
	} else {
		bytes = t.Plan.WorkingBytes(nil, nil)
	}
	if !p.Last {
		t.Forms[p.To.At] = t.Plan.Form()
		bytes += record.StoredBytes(t.Plan.Form())
	}
	return bytes
}
