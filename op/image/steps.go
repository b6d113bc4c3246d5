package image

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

// Steps is a part of a recipe that consists of steps on an image. One plan carries
// them out, in one call: from the compressed bytes, if decoding is among them, else from
// stored pixels, to memory of the sample, or to its row.
type Steps struct {
	Env    *core.Env
	Steps  *fuse.Images
	Frames Frames        // which are decoded; nil: it is an image, or there are pixels
	From   record.Column // what is decoded; nowhere: the image is there
	Keeps  bool          // From stays
	To     record.Column
	Form   media.Form        // of the result, as far as it is known
	Last   bool              // the result goes into the row
	Names  map[uint64]string // of the steps, by their IDs

	Decoder string       // the step that decodes; "": none does
	Boxes   *MovingBoxes // that the steps move; nil: none
	Points  []MovingPoints
}

// result finds a place for the result.
func (p *Steps) result(t *core.Scope) {
	p.Form, _ = media.Results(p.Steps.Form, p.Steps.Steps) // checked with the recipe
	is := recipe.ImageType(p.Form)
	if p.planes() {
		is = p.Frames.Type()
		p.To = t.Columns.PutArray(p.Steps.To)
	} else {
		p.To = t.Columns.Put(p.Steps.To, is)
	}
	t.Schema = t.Schema.With(p.Steps.To, is)
}

// Run implements part.
func (p *Steps) Run(ctx context.Context, it *record.Record, t *core.Tool) error {
	if err := p.Plan(it, t, p.FormOf(it), true); err != nil {
		return err
	}
	form := p.made(it, t)
	to := it.Values.NewImage(&p.Env.Images, form)
	if err := p.draw(ctx, it, t, form, to.Data); err != nil {
		return err
	}
	for i := range p.Points { // before boxes, with which their rows may go
		p.Points[i].move(p.Env, it.Values, &t.Plan)
	}
	if p.Boxes != nil {
		if err := p.Boxes.move(p.Env, it.Values, &t.Plan); err != nil {
			return err
		}
	}

	// The file and the compressed bytes are needed until here: draw reads them.
	it.Shut()
	if !p.Keeps {
		it.Values.Forget(p.From)
	}
	if p.planes() {
		it.Values.Arrays[p.To.At] = record.Array{Shape: form.Shape(), Data: to.Data[:form.Bytes()]}
	} else {
		it.Values.Images[p.To.At] = to
	}
	p.Env.Settle(it)
	return nil
}

// planes reports whether frames of a video stay planes.
func (p *Steps) planes() bool { return p.Frames != nil && p.Frames.Planes() }

// Result implements [RowPart].
func (p *Steps) Result() record.Column { return p.To }

// Into implements [RowPart].
func (p *Steps) Into(ctx context.Context, it *record.Record, t *core.Tool, row []byte) error {
	if err := p.Plan(it, t, p.FormOf(it), true); err != nil {
		return err
	}
	form := p.made(it, t)
	if n, err := form.Shape().Bytes(form.DType); err != nil || n != int64(len(row)) {
		return fmt.Errorf("headrace: the image comes out as %v, but its row in the batch has %d bytes", form, len(row))
	}
	return p.draw(ctx, it, t, form, row)
}

// Decodes reports whether the steps begin with compressed bytes.
func (p *Steps) Decodes() bool { return p.From.Kind != 0 }

// FormOf returns the form of the stored image.
func (p *Steps) FormOf(it *record.Record) media.Form {
	if p.Decodes() {
		return media.Form{}
	}
	return it.Values.Images[p.To.At].Form()
}

// Plan makes one of the steps, for compressed bytes, or for stored pixels of this form.
// Random draws are the same, however the steps are divided. Before it is run, a plan
// takes what steps draw for boxes for the whole image: they may not be there yet.
func (p *Steps) Plan(it *record.Record, t *core.Tool, f media.Form, run bool) error {
	explain := run && p.Env.Ledger
	info := media.Info{Width: f.Width, Height: f.Height, Orientation: 1}
	if p.Decodes() {
		// The header was read when memory was reserved. Its error is reported here, in
		// the stage where users look for it.
		if it.HeaderErr != nil {
			return p.decoded(it.HeaderErr)
		}
		info = it.Header
	}
	if p.Frames != nil {
		info = p.Frames.Info(it)
	}

	t.Plan.Along = nil
	if run {
		t.Plan.Along = p.along(it)
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
	if p.Frames == nil {
		return p.planned(err)
	}
	if err == nil {
		err = p.affordable(it, t)
	}
	return p.planned(media.About("video", err))
}

// along is what goes with the image of a record.
func (p *Steps) along(it *record.Record) *media.Along {
	if !slices.ContainsFunc(p.Steps.Steps, func(s media.Step) bool { _, needs := s.Op.(media.RandomIoUCrop); return needs }) {
		return nil
	}
	along := &media.Along{Agree: func(id uint64, draw func() media.Rect) (media.Rect, error) {
		if p.Boxes == nil {
			if part, ok := it.Agreed(id); ok {
				return part, nil
			}
			return media.Rect{}, fmt.Errorf("%w: %q has no boxes: decode the image that has them before it", media.ErrGeometry, p.Steps.To)
		}
		part := draw()
		it.Agree(id, part)
		return part, nil
	}}
	if p.Boxes != nil {
		along.Boxes, along.From = p.Boxes.bounds(it.Values), p.Boxes.from
	}
	return along
}

// alike checks that images which a step has in common have one size when it is done: what
// is drawn for one is not for the other otherwise.
func (p *Steps) alike(it *record.Record, plan *media.Plan) error {
	for _, j := range p.Steps.Joint {
		step, is := p.Steps.Steps[j.Step].ID, plan.Given(j.Step)
		if other, size := it.Shares(step, p.Steps.To, is); size != is {
			return fmt.Errorf("%w: %s works on %s: %q has %d×%d pixels there, and %q %d×%d; they must be of one size", media.ErrGeometry,
				p.Names[step], strings.Join(j.Fields, ", "), other, size.Width, size.Height, p.Steps.To, is.Width, is.Height)
		}
	}
	return nil
}

// made returns the form of the plan's result: of an image, or of clips as they are there.
func (p *Steps) made(it *record.Record, t *core.Tool) media.Form {
	f := t.Plan.Form()
	if p.Frames != nil {
		if p.planes() {
			f = p.Frames.PlanesForm(f)
		}
		f.Frames, f.Clips = p.Frames.Each(it), p.Form.Clips
	} else if !p.Decodes() {
		stored := it.Values.Images[p.To.At]
		f.Frames, f.Clips = stored.Frames, stored.Clips
	}
	if p.Form.Layout == media.CTHW {
		f.Layout = media.CTHW
	}
	return f
}

// affordable refuses clips that no memory could hold, whatever their file states.
func (p *Steps) affordable(it *record.Record, t *core.Tool) error {
	f := p.made(it, t)
	if n, most := f.Bytes(), it.Source.Lane.Limit(); n > most || n < 0 {
		return fmt.Errorf("headrace: a clip of %d frames of %d×%d pixels needs more memory than the loader's %d bytes: "+
			"set frames or max_frames, or resize it", f.Pictures(), f.Width, f.Height, most)
	}
	return nil
}

// draw carries the plan out, and writes a result of this form.
func (p *Steps) draw(ctx context.Context, it *record.Record, t *core.Tool, form media.Form, dst []byte) error {
	stride := form.RowBytes()
	switch {
	case p.Frames != nil:
		p.Frames.Note(it)
		return p.decoded(p.Env.Watched(ctx, it, func() error { return p.Frames.Play(ctx, it, t, p.Steps, form, dst) }))
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
func (p *Steps) frames(it *record.Record, t *core.Tool, form media.Form, dst []byte) error {
	from, to := it.Values.Images[p.To.At], NewFrameWriter(form, dst)
	for i := range form.Pictures() {
		err := to.Frame(i, func(to []byte) error {
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
func (p *Steps) Foresee(it *record.Record, t *core.Tool) (bytes int64) {
	if p.planes() {
		return p.foreseePlanes(it, t)
	}
	before := t.Forms[p.To.At]
	// If no plan can be made, later parts must not reckon with the old form.
	t.Put(p.To.At, media.Form{})
	if !p.Decodes() && before.Height <= 0 || p.Plan(it, t, before, false) != nil {
		return 0 // nothing is known of the image, or the operation will fail before it needs any
	}

	defer func() {
		bytes += p.Boxes.bytes(it.Values)
		for i := range p.Points {
			bytes += p.Points[i].bytes(it.Values)
		}
	}()
	switch {
	case p.Frames != nil:
		bytes = t.Plan.WorkingBytes(nil, nil) + p.Frames.Working(it, p.Steps.Decode.Form())
	case p.Decodes():
		bytes = t.Plan.WorkingBytes(&it.Header, it.Values.Bytes[p.From.At])
	default:
		bytes = t.Plan.WorkingBytes(nil, nil)
	}
	if !p.Last {
		made := t.Plan.Form()
		made.Frames, made.Clips = before.Frames, before.Clips
		if p.Frames != nil {
			made = p.made(it, t)
		}
		t.Put(p.To.At, made)
		bytes += record.StoredBytes(made)
	}
	return bytes
}

// foreseePlanes is Foresee of frames that stay planes.
func (p *Steps) foreseePlanes(it *record.Record, t *core.Tool) int64 {
	if p.Plan(it, t, media.Form{}, false) != nil {
		return 0
	}
	bytes := p.Frames.Working(it, p.Steps.Decode.Form())
	if !p.Last {
		bytes += record.StoredBytes(p.made(it, t))
	}
	return bytes
}

// Frames finds and decodes the frames of a video, with which steps on images begin.
// Package op/video has it.
type Frames interface {
	// Link finds places for what it says beside the clips.
	Link(t *core.Scope)
	KeepsFile() bool // for later steps
	// Planes reports whether frames stay planes, of this type and, for upright images of
	// a form, of this one.
	Planes() bool
	Type() sample.Type
	PlanesForm(media.Form) media.Form

	// Info describes the frames of a record that was opened, as the header of an image
	// does. A clip has Each of them.
	Info(it *record.Record) media.Info
	Each(it *record.Record) int
	// Working returns how many bytes decoding takes, with a frame of this form.
	Working(it *record.Record, f media.Form) int64
	// Note gives a record the times of its frames and its window.
	Note(it *record.Record)
	// Play writes clips of this form. t.Plan is for frames of the stream's size.
	Play(ctx context.Context, it *record.Record, t *core.Tool, steps *fuse.Images, form media.Form, dst []byte) error
}

// StepNames returns the names of steps by their numbers in random draws.
func StepNames(p fuse.Part) map[uint64]string {
	names := make(map[uint64]string, len(p.Names))
	for _, name := range p.Names {
		names[order.OpID(name)] = name
	}
	return names
}

// explain makes the plan of the steps on an image, and notes what they drew.
func (p *Steps) explain(it *record.Record, t *core.Tool, info media.Info) error {
	draws, err := media.Explain(info, p.Steps.Decode, p.Steps.Steps, &t.Chance, &t.Plan)
	for _, d := range draws {
		it.Drew(p.Names[p.Steps.Steps[d.Step].ID], d.Values)
	}
	return err
}

// planned says of an error of a plan which step it is about: what is wrong before any of
// them is the decoder's.
func (p *Steps) planned(err error) error {
	if of := (*media.StepError)(nil); errors.As(err, &of) {
		return &core.StepError{Step: p.Names[p.Steps.Steps[of.Step].ID], Err: err}
	}
	return p.decoded(err)
}

// decoded says of an error that decoding has failed.
func (p *Steps) decoded(err error) error {
	if err == nil || p.Decoder == "" {
		return err
	}
	return &core.StepError{Step: p.Decoder, Err: err}
}
