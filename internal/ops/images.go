package ops

import (
	"context"
	"fmt"
	"strings"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
)

// ImageSteps is a part of a recipe that consists of steps on an image. One plan carries
// them out, in one call: from the compressed bytes, if decoding is among them, else from
// stored pixels, to memory of the sample, or to its row.
type ImageSteps struct {
	Env   *core.Env
	Steps *fuse.Images
	Video *Video        // what is decoded is a video; nil: it is an image, or there are pixels
	From  record.Column // what is decoded; nowhere: the image is there
	Keeps bool          // From stays
	To    record.Column
	Form  media.Form        // of the result, as far as it is known
	Last  bool              // the result goes into the row
	Names map[uint64]string // of the steps, by their IDs

	Decoder string // the step that decodes; "": none does
	Boxes   *Boxes // that the steps move; nil: none
}

// result finds a place for what comes out.
func (p *ImageSteps) result(t *core.Scope) {
	p.Form, _ = media.Results(p.Steps.Form, p.Steps.Steps) // checked with the recipe
	is := recipe.ImageType(p.Form)
	if p.planes() {
		is = p.Video.args.Type()
		p.To = t.Columns.PutArray(p.Steps.To)
	} else {
		p.To = t.Columns.Put(p.Steps.To, is)
	}
	t.Schema = t.Schema.With(p.Steps.To, is)
}

// Run implements part.
func (p *ImageSteps) Run(ctx context.Context, it *record.Record, t *core.Tool) error {
	if err := p.Plan(it, t, p.FormOf(it), p.Env.Ledger); err != nil {
		return err
	}
	form := p.made(it, t)
	to := it.Values.NewImage(&p.Env.Images, form)
	if err := p.draw(ctx, it, t, form, to.Data); err != nil {
		return err
	}
	if p.Boxes != nil {
		if err := p.Boxes.move(p.Env, it.Values, &t.Plan); err != nil {
			return err
		}
	}
	it.Shut()
	if !p.Keeps {
		it.Values.Forget(p.From)
	}
	if p.planes() {
		shape := form.Shape()
		it.Values.Arrays[p.To.At] = record.Array{Shape: shape[:len(shape)-1], Data: to.Data[:form.Bytes()]}
	} else {
		it.Values.Images[p.To.At] = to
	}
	p.Env.Settle(it)
	return nil
}

// planes reports whether frames of a video stay planes.
func (p *ImageSteps) planes() bool { return p.Video != nil && p.Video.args.Planes() }

// Result implements [RowPart].
func (p *ImageSteps) Result() record.Column { return p.To }

// Into implements [RowPart].
func (p *ImageSteps) Into(ctx context.Context, it *record.Record, t *core.Tool, row []byte) error {
	if err := p.Plan(it, t, p.FormOf(it), p.Env.Ledger); err != nil {
		return err
	}
	form := p.made(it, t)
	if n, err := form.Shape().Bytes(form.DType); err != nil || n != int64(len(row)) {
		return fmt.Errorf("headrace: the image comes out as %v, but its row in the batch has %d bytes", form, len(row))
	}
	return p.draw(ctx, it, t, form, row)
}

// Decodes reports whether the steps begin with compressed bytes.
func (p *ImageSteps) Decodes() bool { return p.From.Kind != 0 }

// FormOf is that of the stored image.
func (p *ImageSteps) FormOf(it *record.Record) media.Form {
	if p.Decodes() {
		return media.Form{}
	}
	return it.Values.Images[p.To.At].Form()
}

// Plan makes one of the steps, for compressed bytes, or for stored pixels of this form.
// Random draws are the same, however the steps are divided.
func (p *ImageSteps) Plan(it *record.Record, t *core.Tool, f media.Form, explain bool) error {
	info := media.Info{Width: f.Width, Height: f.Height, Orientation: 1}
	if p.Decodes() {
		if it.HeaderErr != nil {
			return p.decoded(it.HeaderErr)
		}
		info = it.Header
	}
	if p.Video != nil {
		info = it.Opened.(*opened).info()
	}

	var err error
	if explain {
		err = p.explain(it, t, info)
	} else {
		err = media.MakePlan(info, p.Steps.Decode, p.Steps.Steps, &t.Chance, &t.Plan)
	}
	if err == nil {
		err = p.alike(it, &t.Plan)
	}
	if p.Video == nil {
		return p.planned(err)
	}
	if err == nil {
		err = p.affordable(it, t)
	}
	return p.planned(media.About("video", err))
}

// alike checks that images which a step has in common have one size when it is done: what
// is drawn for one is not for the other otherwise.
func (p *ImageSteps) alike(it *record.Record, plan *media.Plan) error {
	for _, j := range p.Steps.Joint {
		step, is := p.Steps.Steps[j.Step].ID, plan.Given(j.Step)
		if other, size := it.Shares(step, p.Steps.To, is); size != is {
			return fmt.Errorf("%w: %s works on %s: %q has %d×%d pixels there, and %q %d×%d; they must be of one size", media.ErrGeometry,
				p.Names[step], strings.Join(j.Fields, ", "), other, size.Width, size.Height, p.Steps.To, is.Width, is.Height)
		}
	}
	return nil
}

// made is the form of what the plan makes: of an image, or of clips as they are there.
func (p *ImageSteps) made(it *record.Record, t *core.Tool) media.Form {
	f := t.Plan.Form()
	if p.Video != nil {
		o := it.Opened.(*opened)
		if p.planes() {
			f = planesForm(p.Video.args, f)
		}
		f.Frames, f.Clips = o.each, p.Form.Clips
	} else if !p.Decodes() {
		stored := it.Values.Images[p.To.At]
		f.Frames, f.Clips = stored.Frames, stored.Clips
	}
	if p.Form.Layout == media.CTHW {
		f.Layout = media.CTHW
	}
	return f
}

// affordable refuses clips that no memory could hold: files say what they like.
func (p *ImageSteps) affordable(it *record.Record, t *core.Tool) error {
	f := p.made(it, t)
	if n, most := f.Bytes(), it.Source.Lane.Limit(); n > most || n < 0 {
		return fmt.Errorf("headrace: a clip of %d frames of %d×%d pixels needs more memory than the loader's %d bytes: set frames or max_frames, or resize it", f.Pictures(), f.Width, f.Height, most)
	}
	return nil
}

// draw carries the plan out, and writes what has this form.
func (p *ImageSteps) draw(ctx context.Context, it *record.Record, t *core.Tool, form media.Form, dst []byte) error {
	stride := form.RowBytes()
	switch {
	case p.Video != nil:
		p.Video.times(it, it.Opened.(*opened))
		p.Video.window(it, it.Opened.(*opened))
		return p.decoded(p.Env.Watched(ctx, it, func() error { return p.play(ctx, it, t, form, dst) }))
	case !p.Decodes() && form.Moves():
		return p.Env.Watched(ctx, it, func() error { return p.frames(it, t, form, dst) })
	case !p.Decodes():
		return p.Env.Watched(ctx, it, func() error {
			return media.CurrentRunner().Run(dst, stride, it.Values.Images[p.To.At].Pixels, &t.Plan)
		})
	}
	decoder, err := p.Steps.Decode.Decoder(it.Header.Format)
	if err != nil {
		return p.decoded(err)
	}
	return p.decoded(p.Env.Watched(ctx, it, func() error {
		return decoder.DecodeInto(dst, stride, it.Values.Bytes[p.From.At], &it.Header, &t.Plan)
	}))
}

// frames carries the plan out on each frame of stored clips.
func (p *ImageSteps) frames(it *record.Record, t *core.Tool, form media.Form, dst []byte) error {
	from, to := it.Values.Images[p.To.At], newFrameWriter(form, dst)
	for i := range form.Pictures() {
		err := to.frame(i, func(to []byte) error {
			return media.CurrentRunner().Run(to, form.Picture().RowBytes(), from.Frame(i), &t.Plan)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Foresee implements part. It is an upper estimate of what the decoder takes, and of all
// images on the way to the result.
func (p *ImageSteps) Foresee(it *record.Record, t *core.Tool) (bytes int64) {
	if p.planes() {
		return p.foreseePlanes(it, t)
	}
	before := t.Forms[p.To.At]
	t.Put(p.To.At, media.Form{})
	if !p.Decodes() && before.Height <= 0 || p.Plan(it, t, before, false) != nil {
		return 0 // nothing is known of the image, or the operation will fail before it needs any
	}

	defer func() { bytes += p.Boxes.bytes(it.Values) }()
	switch {
	case p.Video != nil:
		bytes = t.Plan.WorkingBytes(nil, nil) + it.Opened.(*opened).working(p.Steps.Decode.Form())
	case p.Decodes():
		bytes = t.Plan.WorkingBytes(&it.Header, it.Values.Bytes[p.From.At])
	default:
		bytes = t.Plan.WorkingBytes(nil, nil)
	}
	if !p.Last {
		made := t.Plan.Form()
		made.Frames, made.Clips = before.Frames, before.Clips
		if p.Video != nil {
			made = p.made(it, t)
		}
		t.Put(p.To.At, made)
		bytes += record.StoredBytes(made)
	}
	return bytes
}
