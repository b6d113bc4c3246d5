package serve

import (
	"cmp"
	"context"
	"fmt"

	"github.com/headrace/headrace/internal/scratch"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
	"github.com/headrace/headrace/wire"
)

// decode makes one array of all inputs. Inputs that fail leave zeros in it if its shape
// is known without them; if the task is strict, nothing is made then.
func (s *ioSession) decode(ctx context.Context) (*result, []wire.Failure, error) {
	n, w := len(s.message.Inputs), &s.task
	if !w.Batch && n != 1 {
		return nil, nil, fmt.Errorf("%w: a task for one input has %d", wire.ErrProtocol, n)
	}

	images := make([]image, n)
	for i := range images {
		images[i].clock = clock{w.limit, w.limit}
	}
	s.sortBySize()

	form := w.form
	if !w.sized() {
		s.eachImage(ctx, images, func(i int, w worker) error { return s.probe(ctx, i, &images[i], w) })
		defer func() {
			for i := range images {
				images[i].forget()
			}
		}()
		if failures := failuresOf(images); len(failures) > 0 && w.Strict {
			return nil, failures, nil
		}
		form = s.commonForm(ctx, images)
		if failures := failuresOf(images); len(failures) > 0 && (w.Strict || form.Height <= 0) {
			return nil, failures, nil
		}
	}

	if form.Height <= 0 { // nothing was given
		form.Height, form.Width = 0, 0
	}

	shape := form.Shape()
	if w.Batch {
		shape = append(tensor.Shape{n}, shape...)
	}
	bytes, err := shape.Bytes(form.DType)
	if err != nil {
		return nil, nil, coded(wire.CodeRecipe, err)
	}

	slot, err := s.results.reserve(ctx, bytes)
	if err != nil {
		return nil, nil, err
	}

	row := form.RowBytes() * form.Height
	to := func(i int) []byte { return slot.Bytes()[i*row:][:row:row] }
	s.eachImage(ctx, images, func(i int, w worker) error {
		p := &images[i]
		defer p.forget()
		return s.decodeOne(ctx, i, p, w, to(i), form)
	})

	failures := failuresOf(images)
	if len(failures) > 0 && (w.Strict || !w.Batch) {
		slot.Drop()
		return nil, failures, nil
	}

	// Slots are used again: without this a failed row would show an earlier image.
	for i := range images {
		if images[i].err != nil {
			clear(to(i))
		}
	}

	return &result{slot, 8 * form.DType.Size(), shape}, failures, nil
}

func failuresOf(images []image) (failures []wire.Failure) {
	for i := range images {
		if err := images[i].err; err != nil {
			failures = append(failures, failure(&i, err))
		}
	}
	return failures
}

// probe reads an input to find its form, and keeps the data until it is decoded if there
// is room: the size of the first image decides the form of all.
func (s *ioSession) probe(ctx context.Context, i int, p *image, w worker) error {
	if err := s.fetch(ctx, i, p, w); err != nil {
		return err
	}
	p.grant.Release()
	p.grant = nothing
	if m := &s.engine.memory; m.keep(int64(len(*p.data))) {
		p.kept = m
	} else {
		p.input.forget()
	}
	return nil
}

// commonForm returns the form of a batch for which the task gives no size: that of the
// first image. Images of other sizes fail.
func (s *ioSession) commonForm(ctx context.Context, images []image) (form media.Form) {
	first := -1
	form = s.task.form
	s.eachImage(ctx, images, func(i int, w worker) error {
		return media.MakePlan(images[i].info, s.task.options, nil, nil, &s.plans[w.number])
	})
	for i := range images {
		p := &images[i]
		if p.err != nil {
			continue
		}
		width, height := p.info.Width, p.info.Height
		if s.task.options.Orient {
			width, height = p.info.Oriented()
		}
		switch {
		case first < 0:
			first = i
			form.Width, form.Height = width, height
		case form.Width != width || form.Height != height:
			p.err = fmt.Errorf("serve: it has %d×%d pixels, input %d has %d×%d: give width and height, "+
				"to which all are resized", width, height, first, form.Width, form.Height)
			p.forget()
		}
	}
	return form
}

// decodeOne decodes an image into dst.
func (s *ioSession) decodeOne(ctx context.Context, i int, p *image, w worker, dst []byte, form media.Form) (err error) {
	if p.data == nil {
		err = s.fetch(ctx, i, p, w)
	} else {
		p.grant, err = s.engine.memory.ask(ctx, s.memoryFor(p, w)-int64(len(*p.data)))
	}
	if err != nil {
		return err
	}
	if p.clock.limit > 0 {
		return s.decodeWithLimit(ctx, i, p, dst, form)
	}
	decode := s.decoder(i, &p.input, &s.plans[w.number], dst, form)
	waited := s.engine.gate.Do(ctx, func(permit int) { err = decode(permit) })
	return cmp.Or(waited, err)
}

// decodeWithLimit decodes an image into memory of its own, because a decoder that is
// abandoned must not write into an array that the client has.
func (s *ioSession) decodeWithLimit(ctx context.Context, i int, p *image, dst []byte, form media.Form) error {
	own := scratch.Make(len(dst))
	var plan media.Plan

	in, grant := p.input, p.grant
	p.input, p.grant = input{}, nothing // they are the decoder's, whether it is given up or not
	release := func() {
		in.forget()
		scratch.Free(own)
		grant.Release()
	}

	decode := s.decoder(i, &in, &plan, own, form)
	gate := s.engine.gate
	var failed error
	err := p.clock.run(ctx, func(begun func()) {
		failed = guarded(func() (err error) {
			waited := gate.Do(ctx, func(permit int) {
				begun()
				err = decode(permit)
			})
			if waited != nil {
				return waited
			}
			return err
		})
	}, release)
	if err != nil {
		return err
	}

	if failed == nil {
		copy(dst, own)
	}
	release()
	return failed
}

// decoder returns a function that decodes an input into dst.
func (s *ioSession) decoder(i int, in *input, plan *media.Plan, dst []byte, form media.Form) func(permit int) error {
	key, images, number, what := fmt.Sprintf("input %d", i), s.engine, s.number, &s.task
	if in.path != "" {
		key = in.path
	}
	options, steps := what.options, what.steps
	return func(permit int) error {
		decoder, err := options.Decoder(in.info.Format)
		if err != nil {
			return err
		}
		if err := media.MakePlan(in.info, options, steps, nil, plan); err != nil {
			return err
		}
		if got := plan.Form(); got != form {
			return fmt.Errorf("serve: the image comes out as %v, not %v", got, form)
		}
		defer images.inFlight(number, permit, i, key)()
		return decoder.DecodeInto(dst, form.RowBytes(), *in.data, &in.info, plan)
	}
}
