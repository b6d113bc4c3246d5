package headrace

import (
	"context"

	"headrace/media"
	"headrace/pipe"
	"headrace/tensor"
)

// passes is the recipe's one operation taken apart, for those who want to see what each of its steps does and costs: every step is a stage of its own
// that reads the pixels of the one before and stores what it makes of them. The last pass writes into the batch. It takes all steps from the
// first on that leaves anything but whole numbers side by side, which are all that can be stored between passes.
type passes struct {
	*work
	steps []media.Step // one pass each
	last  []media.Step // the pass into the batch
}

func newPasses(w *work) (passes, error) {
	steps := w.images.Steps
	form := w.images.Decode.Form()
	for i, s := range steps {
		var err error
		if form, err = s.Op.Result(form); err != nil {
			return passes{}, err
		}
		if !storable(form) {
			return passes{w, steps[:i], steps[i:]}, nil
		}
	}
	return passes{w, steps, nil}, nil
}

func storable(f media.Form) bool {
	return f.Layout == media.HWC && (f.DType == tensor.Uint8 || f.DType == tensor.Uint16)
}

// compile appends a stage for decoding and for each pass but the last, named as its step is.
func (p passes) compile(files pipe.Flow[*item], names []string, stage func(name string) pipe.Opts) pipe.Flow[*item] {
	flow := pipe.Discard(pipe.Map(files, p.whole, stage(names[0])), p.drop)
	for i := range p.steps {
		pass := func(ctx context.Context, it *item) (*item, error) { return p.pass(ctx, it, p.steps[i:i+1]) }
		flow = pipe.Discard(pipe.Map(flow, pass, stage(names[1+i])), p.drop)
	}
	return flow
}

// whole decodes the whole picture, and lets go of its file.
func (p passes) whole(ctx context.Context, it *item) (*item, error) {
	return p.attempt(it, func(t *tool) error {
		decoder, err := p.prepare(it, t, nil)
		if err != nil {
			return err
		}
		it.pixels = p.room(t.plan.Form())
		info := it.file.info
		defer p.dropFile(it)
		return p.watched(ctx, it, func() error {
			return decoder.DecodeInto(it.pixels.Data, it.pixels.Stride, *it.file.data, &info, &t.plan)
		})
	})
}

func (p passes) pass(ctx context.Context, it *item, step []media.Step) (*item, error) {
	return p.attempt(it, func(t *tool) error {
		before := it.pixels
		if err := p.plan(it, t, before.Form(), step); err != nil {
			return err
		}
		it.pixels = p.room(t.plan.Form())
		defer p.free(before)
		return p.watched(ctx, it, func() error {
			return media.CurrentRunner().Run(it.pixels.Data, it.pixels.Stride, before.Pixels, &t.plan)
		})
	})
}

// finish is the last pass: into the sample's row.
func (p passes) finish(ctx context.Context, it *item, b *Batch, row int) error {
	return p.intoRow(it, b, row, func(t *tool, dst []byte) error {
		if err := p.plan(it, t, it.pixels.Form(), p.last); err != nil {
			return err
		}
		stride, err := fitting(&t.plan, dst)
		if err != nil {
			return err
		}
		return p.watched(ctx, it, func() error {
			return media.CurrentRunner().Run(dst, stride, it.pixels.Pixels, &t.plan)
		})
	})
}

// plan makes one of steps on stored pixels. Their random draws are those that they have among all steps.
func (p passes) plan(it *item, t *tool, f media.Form, steps []media.Step) error {
	t.chance = p.chance(it)
	info := media.Info{Width: f.Width, Height: f.Height, Orientation: 1}
	o := media.Options{Mode: p.images.Decode.Mode, Color: f.Color, DType: f.DType}
	return media.MakePlan(info, o, steps, &t.chance, &t.plan)
}

// attempt runs a pass. Where it fails, the item lets go of all that it holds.
func (p passes) attempt(it *item, op func(*tool) error) (_ *item, err error) {
	defer func() {
		if err != nil {
			p.drop(it)
			err = it.blame(err)
		}
	}()
	defer catch(&err)
	t := p.tool()
	defer p.tools.Put(t)
	return it, op(t)
}

// reserve is what the passes of a picture take at most: of each, what it reads and what it writes.
func (p passes) reserve(it *item) int64 {
	t := p.tool()
	defer p.tools.Put(t)
	if media.MakePlan(it.file.info, p.images.Decode, nil, nil, &t.plan) != nil {
		return 0 // no pass will run
	}
	form := t.plan.Form()
	before, most := stored(form), stored(form)
	for i := range p.steps {
		if p.plan(it, t, form, p.steps[i:i+1]) != nil {
			break
		}
		form = t.plan.Form()
		most = max(most, before+stored(form))
		before = stored(form)
	}
	return most
}

// stored is the number of bytes of a stored picture.
func stored(f media.Form) int64 { return int64(f.RowBytes())*int64(f.Height) + media.Slack }

// storedPixels are pixels in memory that is used again.
type storedPixels struct {
	media.Pixels
	memory *[]byte
}

// room returns memory for a picture.
func (w *work) room(f media.Form) storedPixels {
	memory := w.pixels.Take(int(stored(f)))
	return storedPixels{media.Pixels{Data: *memory, Stride: f.RowBytes(), Width: f.Width, Height: f.Height, Color: f.Color, DType: f.DType}, memory}
}

func (w *work) free(p storedPixels) {
	if p.memory != nil {
		w.pixels.Give(p.memory)
	}
}
