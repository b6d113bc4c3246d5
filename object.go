package headrace

import (
	"context"
	"errors"
	"fmt"
	"headrace/internal/ops"
	"strconv"

	"headrace/extern"
	"headrace/internal/record"
	"headrace/recipe"
	"headrace/recipe/fuse"
	"headrace/sample"
)

// object are contents that an object of Python has: its workers are asked for them by their numbers.
type object struct {
	args   *recipe.Object
	python *ops.Function // whose workers have it
	name   record.Column // of the key
	brings bool          // samples bring it: they are called so
	each   int64         // bytes of a sample; 0: nobody knows
}

// newObject makes contents of the arguments of a step.
func newObject(args *recipe.Object, l *listing, c Config) contents {
	if args.Iterated() {
		return &iterable{object: object{args: args}, source: l, rank: c.Rank, world: c.WorldSize}
	}
	return &object{args: args}
}

// len implements contents.
func (o *object) len() int64 { return *o.args.Length }

// key implements contents.
func (o *object) key(index int64) string { return strconv.FormatInt(index, 10) }

// link implements contents.
func (o *object) Link(c *compiler, read *stage, s *fuse.Source) error {
	gives := o.args.Gives.Schema
	o.begins(c, s, gives)
	o.python.PerWorker = ops.PerWorkerFor(nil, gives)
	var err error
	o.python.Pool, o.python.Workers, err = openSource(c.work.Host, s, extern.Index, 0, 1)
	read.python = o.python
	return err
}

// begins finds the places of what a sample has.
func (o *object) begins(c *compiler, s *fuse.Source, gives sample.Schema) {
	t := &c.trail
	o.python = &ops.Function{Env: c.work, Name: s.Name}
	o.python.Begin(nil, &t.places)
	c.work.Host.Calls = append(c.work.Host.Calls, o.python)
	for _, f := range gives {
		at := t.places.Of[f.Name]
		o.python.Out = append(o.python.Out, ops.Field{Name: f.Name, Type: t.schema[t.schema.Find(f.Name)].Type, Column: at})
		if n, err := f.Type.Shape.Bytes(f.Type.DType); f.Type.Fixed() && err == nil && o.each >= 0 && at.Kind != record.Numbers {
			o.each += n
		} else if f.Type.Kind != sample.Text && at.Kind != record.Numbers {
			o.each = -1
		}
	}
	o.each = max(0, o.each)
	o.name, o.brings = t.places.Of["key"], gives.Find("key") >= 0
}

// fetch implements contents.
func (o *object) fetch(ctx context.Context, w *ops.Env, it *record.Record) (n int64, err error) {
	if it.Content, err = it.Source.Lane.Acquire(ctx, w.Age(it.ID), ops.ForFiles, o.each); err != nil {
		return 0, err
	}
	c := o.python.Call(it)
	defer o.python.Done(c)
	if err := o.python.Ask(ctx, c); err != nil {
		if call := (*extern.CallError)(nil); errors.As(err, &call) && call.Key != "" {
			it.Key = call.Key
		}
		return 0, err
	}
	out := c.Out
	if o.args.Keys != "" {
		it.Key, out = out[len(out)-1].Text, out[:len(out)-1]
	}
	if n, err = o.take(w, it, out); err != nil || n <= o.each {
		return n, err
	}
	before := it.Content
	it.Content, err = it.Source.Lane.Acquire(ctx, w.Age(it.ID), ops.ForFiles, n)
	before.Release()
	return n, err
}

// take gives a sample its first values, in memory that a worker has filled. It tells how many bytes they have.
func (o *object) take(w *ops.Env, it *record.Record, out []extern.Value) (n int64, err error) {
	v := w.Blank(it)
	for i := range out {
		n += int64(len(out[i].Data))
		w.AdoptFile(v, out[i].Data) // the same bytes are reserved for it
	}
	for i := range o.python.Out {
		if err := o.python.Out[i].Fits(&out[i]); err != nil {
			return n, o.python.Misfit(err)
		}
	}
	for i := range o.python.Out {
		o.python.Put(v, &o.python.Out[i], &out[i])
	}
	switch {
	case !o.brings:
		v.Texts[o.name.At] = it.Key
	case o.args.Keys == "":
		it.Key = v.Texts[o.name.At]
	}
	v.Sweep()
	return n, nil
}

// openSource starts the workers of a source.
func openSource(h *ops.Host, s *fuse.Source, kind extern.Kind, rank, world int) (*extern.Pool, int, error) {
	o := extern.Options{Kind: kind, Keys: s.Object.Keys, In: sample.Schema{}, To: s.Object.Fields, Gives: s.Object.Gives.Schema, States: kind == extern.Iterate, Rank: rank, World: world}
	return h.Open(s.Name, &recipe.Python{Function: s.Object.Function, Fields: s.Object.Fields, Seed: s.Object.Seed}, o, s.Failures)
}

// object finds out what the samples of an object are, where its step does not say so: those of the first one.
func (f *found) object(ctx context.Context, r recipe.Recipe, s recipe.Step, args *recipe.Object) error {
	if args.Gives.Schema != nil {
		return nil
	}
	nothing := mistake(r, s.Name, errors.New("does not say what it gives, and has no sample that would tell: say gives"))
	if args.Length != nil && *args.Length == 0 {
		return nothing
	}
	h, err := ops.NewHost(f.options.Python, f.options.Log, f.options.Look, 1, true)
	if err != nil {
		return err
	}
	defer h.Close()
	kind := extern.Index
	if args.Iterated() {
		kind = extern.Iterate
	}
	pool, _, err := openSource(h, &fuse.Source{Name: s.Name, Object: args, Failures: s.Failures}, kind, f.config.Rank, max(1, f.config.WorldSize))
	if err != nil {
		return err
	}
	c := &extern.Call{ID: sample.ID{Source: s.Name}, Key: "0"}
	note := func(out []extern.Value) error {
		for i, name := range c.Names {
			t := sample.Type{Kind: out[i].Kind}
			if t.Kind == sample.Tensor {
				t = sample.TensorType(out[i].DType, out[i].Shape...)
			}
			args.Gives.Schema = append(args.Gives.Schema, sample.Field{Name: name, Type: t})
			if h.Heap.Has(out[i].Data) {
				h.Heap.Give(out[i].Data)
			}
		}
		return ops.ErrEnough
	}
	if kind == extern.Iterate {
		err = pool.Stream(ctx, c, note)
	} else if err = pool.Call(ctx, c); err == nil {
		err = note(c.Out)
	}
	switch {
	case err == nil:
		return nothing
	case !errors.Is(err, ops.ErrEnough):
		return fmt.Errorf("headrace: %s: %w", s.Name, &sample.Error{Key: "0", Err: err})
	case len(args.Gives.Schema) == 0:
		return mistake(r, s.Name, errors.New("gives a sample without fields"))
	}
	f.remember(args.Gives.Schema)
	return nil
}
