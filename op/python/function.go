package python

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// Function is a part of a recipe that is a function of Python: workers in other processes
// call it. Its stage waits for them and holds no permit of the gate, as they compute and
// not it.
type Function struct {
	Env       *core.Env
	Name      string    // of its step
	Stage     string    // that it runs in
	DrawID    uint64    // of the random draws
	links     []link    // of a chain: its functions
	rest      *Function // of a chain that reads samples: those behind its first, for samples that were read already; nil: there are none
	Pool      *extern.Pool
	Workers   int      // as many as it begins with
	PerWorker int      // samples in hand for each
	Shared    []string // generators that its threads share, and that are seeded for each sample: there can be one thread

	// Land has a sample come whose record is ahead of it, and is what is done instead of
	// calling the function, which is a stream. nil: it is called.
	Land func(*record.Record, *extern.Call) error

	In       []Field
	Out      []Field
	taken    []record.Column // of fields that are gone after it
	Filters  bool
	Relabels bool // other labels than those of the source

	results sample.Schema // what comes back
	calls   sync.Pool     // of *extern.Call
}

// Field is a field that the function is given, or gives.
type Field struct {
	Name   string
	Type   sample.Type
	Column record.Column
}

// Run implements part.
func (p *Function) Run(ctx context.Context, it *record.Record, _ *core.Tool) error {
	c := p.Call(it)
	defer p.Done(c)
	if err := p.Ask(ctx, c); err != nil {
		return err
	}
	if p.Filters && !c.Keep {
		return pipe.Skip
	}
	if len(p.Out) == 0 {
		return nil
	}
	return p.store(it, c)
}

// Ask has the function called, and tells its stage how long a worker worked for that.
func (p *Function) Ask(ctx context.Context, c *extern.Call) error {
	err := p.Try(ctx, c, p.results)
	pipe.Worked(ctx, c.Took)
	return Final(err)
}

// Together is how many samples are worth being given to [Function.AskAll].
func (p *Function) Together() int {
	if h := HostOf(p.Env); h.probes || h.trials.some.Load() { // each is looked for among those that were tried
		return 1
	}
	return p.Pool.Together()
}

// AskAll is [Function.Ask] for several samples, each of which is done when it has come
// back.
func (p *Function) AskAll(ctx context.Context, calls []*extern.Call, done func(i int, err error)) {
	p.Pool.CallAll(ctx, calls, func(i int, err error) {
		pipe.Worked(ctx, calls[i].Took)
		done(i, Final(err))
	})
}

// Try calls the function, unless it was called with this sample when the loader was
// opened. Gives are its results; nil: it says them itself.
func (p *Function) Try(ctx context.Context, c *extern.Call, gives sample.Schema) error {
	host := HostOf(p.Env)
	if host.recall(p.Name, p.Pool, c, gives) {
		return nil
	}
	if p.rest != nil {
		if done, err := p.goOn(ctx, c); done {
			return err
		}
	}
	t := host.begin(p.Pool, c)
	if err := p.Pool.Call(ctx, c); err != nil || t == nil {
		return err
	}
	host.keep(p.Name, p.Pool, c, t, gives)
	return nil
}

// Final makes an end of the run of what is no matter of one sample: that no worker can
// start, or that a hook around the call has failed.
func Final(err error) error {
	var start *extern.StartError
	var failed *extern.CallError
	if errors.As(err, &start) || errors.As(err, &failed) && failed.Ends {
		return pipe.Stop(err)
	}
	return err
}

// Call returns the function's call for a sample.
func (p *Function) Call(it *record.Record) *extern.Call {
	c, _ := p.calls.Get().(*extern.Call)
	if c == nil {
		c = &extern.Call{In: make([]extern.Value, len(p.In))}
	}
	c.ID, c.Key = it.ID, it.Key
	key := p.Env.RandomKey(it)
	if p.links == nil {
		c.Random = p.draw(it, key, p.Name, p.DrawID)
	}
	for _, l := range p.links {
		c.Keys = append(c.Keys, p.draw(it, key, l.name, l.drawID))
	}
	for i := range p.In {
		c.In[i] = p.Load(it, &p.In[i])
	}
	return c
}

// draw is the key of a sample's random numbers in a function.
func (p *Function) draw(it *record.Record, key order.Key, name string, id uint64) [2]uint64 {
	random := [2]uint64{key.Uint64(id, 0), key.Uint64(id, 1)}
	if p.Env.Ledger {
		it.Drew(name, map[string]any{"key": random})
	}
	return random
}

// Done releases the values of a call.
func (p *Function) Done(c *extern.Call) {
	clear(c.In)
	clear(c.Out)
	clear(c.Room)
	*c = extern.Call{In: c.In, Out: c.Out[:0], Same: c.Same[:0], Room: c.Room[:0], Keys: c.Keys[:0]}
	p.calls.Put(c)
}

// Load is the value of a field, in memory that workers have too, where it is more than a
// number.
func (p *Function) Load(it *record.Record, s *Field) extern.Value {
	v, at := it.Values, s.Column
	value := extern.Value{Kind: s.Type.Kind, DType: s.Type.DType, Shape: s.Type.Shape}
	switch at.Kind {
	case record.Numbers:
		value.Data = v.Numbers[at.At:][:at.Size:at.Size]
	case record.Texts:
		value.Text = v.Texts[at.At]
	case record.Bytes:
		v.Bytes[at.At] = p.Env.ShareBytes(v, v.Bytes[at.At])
		value.Data = v.Bytes[at.At]
	case record.Images:
		v.Images[at.At] = p.Env.ShareImage(v, v.Images[at.At])
		f := v.Images[at.At].Form()
		value.Shape = f.Shape()
		n, _ := value.Shape.Bytes(f.DType) // it is in memory
		value.Data = v.Images[at.At].Data[:n:n]
	case record.Arrays:
		v.Arrays[at.At].Data = p.Env.ShareBytes(v, v.Arrays[at.At].Data)
		value.Shape, value.Data = v.Arrays[at.At].Shape, v.Arrays[at.At].Data
	}
	return value
}

// store takes the results of the function. Every value has memory of its own, as after
// other operations.
func (p *Function) store(it *record.Record, c *extern.Call) error {
	v := it.Values
	for i := range p.Out {
		if len(c.Same) > 0 && c.Same[i] >= 0 {
			c.Out[i] = c.In[c.Same[i]]
			if p.In[c.Same[i]].Column.Kind == record.Numbers { // where something else is written now
				c.Out[i].Data = slices.Clone(c.Out[i].Data)
			}
		} else {
			p.Env.Adopt(v, c.Out[i].Data)
		}
	}

	// A misfit is found before any field is changed, so that a retry sees the sample as
	// it was.
	for i := range p.Out {
		if err := p.Out[i].Fits(&c.Out[i]); err != nil {
			return p.Misfit(err)
		}
	}

	for _, at := range p.taken {
		v.Forget(at)
	}
	for i := range p.Out {
		v.Forget(p.Out[i].Column)
	}
	for i := range p.Out {
		p.Put(v, &p.Out[i], &c.Out[i])
	}

	p.Env.Settle(it)
	it.Account()
	return nil
}

// Makes tells whether a field comes from the function.
func (p *Function) Makes(name string) bool {
	return slices.ContainsFunc(p.Out, func(s Field) bool { return s.Name == name })
}

// Misfit names the function in an error about what it returned.
func (p *Function) Misfit(err error) error { return fmt.Errorf("headrace: %s %w", p.Name, err) }

// Fits holds a value against the type that it is to have.
func (s *Field) Fits(v *extern.Value) error {
	is := sample.Type{Kind: v.Kind, DType: v.DType, Shape: v.Shape}
	fits := v.Kind == s.Type.Kind
	if fits && v.Kind == sample.Tensor {
		fits = v.DType == s.Type.DType && core.FitsShape(v.Shape, s.Type.Shape)
	}
	if fits && s.Type.Axes != "" {
		f := recipe.ImageForm(sample.Type{DType: v.DType, Shape: v.Shape, Axes: s.Type.Axes})
		fits = slices.Min(v.Shape) > 0 && f.Width <= media.MaxPixels/f.Height
	}
	if !fits {
		return fmt.Errorf("gives %q as %v: it must be %v", s.Name, is, s.Type)
	}
	return nil
}

// Put puts a value that fits at its place.
func (p *Function) Put(v *record.Values, s *Field, value *extern.Value) {
	switch at := s.Column; at.Kind {
	case record.Numbers:
		copy(v.Numbers[at.At:][:at.Size], value.Data)
	case record.Texts:
		v.Texts[at.At] = value.Text
	case record.Bytes:
		v.Bytes[at.At] = v.OwnBytes(value.Data)
	case record.Arrays:
		shape := s.Type.Shape
		if !shape.Fixed() {
			shape = slices.Clone(value.Shape)
		}
		v.Arrays[at.At] = record.Array{Shape: shape, Data: v.OwnBytes(value.Data)}
	case record.Images:
		f := recipe.ImageForm(sample.Type{DType: value.DType, Shape: value.Shape, Axes: s.Type.Axes})
		pixels := media.Pixels{Data: value.Data, Stride: f.RowBytes(), Width: f.Width, Height: f.Height, Color: f.Color, DType: f.DType}
		v.Images[at.At] = v.OwnImage(&p.Env.Images, record.Image{Pixels: pixels, Frames: f.Frames, Clips: f.Clips})
	}
}

// Foresee implements part. An image whose size is not said is taken to be no larger than
// the one before.
func (p *Function) Foresee(_ *record.Record, t *core.Tool) (bytes int64) {
	before := make([]media.Form, len(p.Out))
	for i, s := range p.Out {
		if s.Column.Kind == record.Images {
			before[i] = t.Forms[s.Column.At]
		}
	}

	t.Forget(p.taken)
	for i, s := range p.Out {
		if s.Column.Kind != record.Images {
			if n, err := s.Type.Shape.Bytes(s.Type.DType); err == nil && s.Column.Kind == record.Arrays && s.Type.Fixed() {
				bytes += n
			}
			continue
		}
		bytes += t.ForeseeImage(s.Column, recipe.ImageForm(s.Type), before[i])
	}

	return bytes
}
