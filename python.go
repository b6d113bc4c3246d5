package headrace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"headrace/extern"
	"headrace/internal/record"
	"headrace/media"
	"headrace/pipe"
	"headrace/recipe"
	"headrace/sample"
)

// python is a part of a recipe that is a function of Python: workers in other processes call it. Its stage waits for them and holds no permit of the
// gate, as they compute and not it.
type python struct {
	work    *work
	name    string // of its step
	stage   string // that it runs in
	op      uint64 // of the random draws
	pool    *extern.Pool
	workers int      // as many as it begins with
	hands   int      // samples in hand for each
	shared  []string // generators that its threads share, and that are seeded for each sample: there can be one thread

	in      []slot
	out     []slot
	taken   []record.Column // of fields that are gone behind it
	filters bool

	calls sync.Pool // of *extern.Call
}

// slot is a field that the function is given, or gives.
type slot struct {
	name  string
	typ   sample.Type
	place record.Column
}

// run implements part.
func (p *python) run(ctx context.Context, it *record.Record, _ *tool) error {
	c := p.call(it)
	defer p.done(c)
	if err := p.ask(ctx, c); err != nil {
		return err
	}
	if p.filters {
		if !c.Keep {
			return pipe.Skip
		}
		return nil
	}
	return p.store(it, c)
}

// ask has the function called, and tells its stage how long a worker worked for that.
func (p *python) ask(ctx context.Context, c *extern.Call) error {
	err := p.pool.Call(ctx, c)
	pipe.Worked(ctx, c.Took)
	return final(err)
}

// final makes an end of the run of what is no matter of one sample: that no worker can start.
func final(err error) error {
	var start *extern.StartError
	if errors.As(err, &start) {
		return pipe.Stop(err)
	}
	return err
}

// call is what the function is called with for a sample.
func (p *python) call(it *record.Record) *extern.Call {
	c, _ := p.calls.Get().(*extern.Call)
	if c == nil {
		c = &extern.Call{In: make([]extern.Value, len(p.in))}
	}
	key := p.work.chance(it)
	c.ID, c.Key = it.ID, it.Key
	c.Random = [2]uint64{key.Uint64(p.op, 0), key.Uint64(p.op, 1)}
	if p.work.ledger {
		it.Drew(p.name, map[string]any{"key": c.Random})
	}
	for i := range p.in {
		c.In[i] = p.load(it, &p.in[i])
	}
	return c
}

// done lets go of what a call holds.
func (p *python) done(c *extern.Call) {
	clear(c.In)
	clear(c.Out)
	clear(c.Room)
	*c = extern.Call{In: c.In, Out: c.Out[:0], Same: c.Same[:0], Room: c.Room[:0]}
	p.calls.Put(c)
}

// load is the value of a field, in memory that workers have too, where it is more than a number.
func (p *python) load(it *record.Record, s *slot) extern.Value {
	v, at := it.Values, s.place
	value := extern.Value{Kind: s.typ.Kind, DType: s.typ.DType, Shape: s.typ.Shape}
	switch at.Kind {
	case record.Numbers:
		value.Data = v.Numbers[at.At:][:at.Size:at.Size]
	case record.Texts:
		value.Text = v.Texts[at.At]
	case record.Bytes:
		v.Bytes[at.At] = p.work.ShareBytes(v, v.Bytes[at.At])
		value.Data = v.Bytes[at.At]
	case record.Images:
		v.Images[at.At] = p.work.ShareImage(v, v.Images[at.At])
		f := v.Images[at.At].Form()
		value.Shape = f.Shape()
		n, _ := value.Shape.Bytes(f.DType) // it is in memory
		value.Data = v.Images[at.At].Data[:n:n]
	case record.Arrays:
		v.Arrays[at.At].Data = p.work.ShareBytes(v, v.Arrays[at.At].Data)
		value.Shape, value.Data = v.Arrays[at.At].Shape, v.Arrays[at.At].Data
	}
	return value
}

// store takes what the function gives. Every value has memory of its own, as behind other operations.
func (p *python) store(it *record.Record, c *extern.Call) error {
	v := it.Values
	for i := range p.out {
		if len(c.Same) > 0 && c.Same[i] >= 0 {
			c.Out[i] = c.In[c.Same[i]]
			if p.in[c.Same[i]].place.Kind == record.Numbers { // where something else is written now
				c.Out[i].Data = slices.Clone(c.Out[i].Data)
			}
		} else {
			p.work.Adopt(v, c.Out[i].Data)
		}
	}
	for i := range p.out {
		if err := p.out[i].fits(&c.Out[i]); err != nil {
			return p.misfit(err)
		}
	}
	for _, at := range p.taken {
		v.Forget(at)
	}
	for i := range p.out {
		v.Forget(p.out[i].place)
	}
	for i := range p.out {
		p.put(v, &p.out[i], &c.Out[i])
	}
	p.work.Settle(it)
	it.Account()
	return nil
}

// makes tells whether a field comes from the function.
func (p *python) makes(name string) bool {
	return slices.ContainsFunc(p.out, func(s slot) bool { return s.name == name })
}

func (p *python) misfit(err error) error { return fmt.Errorf("headrace: %s %w", p.name, err) }

// fits holds a value against the type that it is to have.
func (s *slot) fits(v *extern.Value) error {
	is := sample.Type{Kind: v.Kind, DType: v.DType, Shape: v.Shape}
	fits := v.Kind == s.typ.Kind
	if fits && v.Kind == sample.Tensor {
		fits = v.DType == s.typ.DType && fitsShape(v.Shape, s.typ.Shape)
	}
	if fits && s.typ.Axes != "" {
		fits = v.Shape[0] > 0 && v.Shape[1] > 0 && v.Shape[1] <= media.MaxPixels/v.Shape[0]
	}
	if !fits {
		return fmt.Errorf("gives %q as %v: it is to be %v", s.name, is, s.typ)
	}
	return nil
}

// put puts a value that fits at its place.
func (p *python) put(v *record.Values, s *slot, value *extern.Value) {
	switch at := s.place; at.Kind {
	case record.Numbers:
		copy(v.Numbers[at.At:][:at.Size], value.Data)
	case record.Texts:
		v.Texts[at.At] = value.Text
	case record.Bytes:
		v.Bytes[at.At] = v.OwnBytes(value.Data)
	case record.Arrays:
		shape := s.typ.Shape
		if !shape.Fixed() {
			shape = slices.Clone(value.Shape)
		}
		v.Arrays[at.At] = record.Array{Shape: shape, Data: v.OwnBytes(value.Data)}
	case record.Images:
		f := recipe.ImageForm(sample.Type{DType: value.DType, Shape: value.Shape, Axes: s.typ.Axes})
		pixels := media.Pixels{Data: value.Data, Stride: f.RowBytes(), Width: f.Width, Height: f.Height, Color: f.Color, DType: f.DType}
		v.Images[at.At] = v.OwnImage(&p.work.Images, record.Image{Pixels: pixels})
	}
}

// foresee implements part. An image whose size is not said is taken to be no larger than the one before.
func (p *python) foresee(_ *record.Record, t *tool) (bytes int64) {
	before := make([]media.Form, len(p.out))
	for i, s := range p.out {
		if s.place.Kind == record.Images {
			before[i] = t.forms[s.place.At]
		}
	}
	for _, at := range p.taken {
		if at.Kind == record.Images {
			t.forms[at.At] = media.Form{}
		}
	}
	for i, s := range p.out {
		if s.place.Kind != record.Images {
			if n, err := s.typ.Shape.Bytes(s.typ.DType); err == nil && s.place.Kind == record.Arrays && s.typ.Fixed() {
				bytes += n
			}
			continue
		}
		after := recipe.ImageForm(s.typ)
		if after.Height == media.Unknown {
			after.Height = before[i].Height
		}
		if after.Width == media.Unknown {
			after.Width = before[i].Width
		}
		if after.Height <= 0 || after.Width <= 0 || after.Width > media.MaxPixels/after.Height {
			after = media.Form{} // known when it is there
		} else {
			bytes += record.StoredBytes(after)
		}
		t.forms[s.place.At] = after
	}
	return bytes
}

// isPython tells whether a step is a function of Python, called on samples.
func isPython(args recipe.Args) bool {
	switch args := args.(type) {
	case *recipe.Object, *recipe.Map, *recipe.Filter, *recipe.FlatMap, *recipe.Aggregate:
		return true
	case *recipe.Batch:
		return args.Collate != nil
	}
	return false
}
