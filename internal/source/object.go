package source

import (
	"context"
	"errors"
	"strconv"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

// object are contents that an object of Python has: its workers are asked for them by
// their numbers.
type object struct {
	call   *recipe.Call
	python *python.Function // whose workers have it
	name   record.Column    // of the key
	brings bool             // samples bring it: they are called so
	each   int64            // bytes of a sample; 0: nobody knows
	late   bool             // samples are read when they have rows
}

// newObject makes contents of the function of a step.
func newObject(call *recipe.Call, l *Listing, rank, world int) Contents {
	if call.Iterated() {
		return &Iterable{object: object{call: call}, Source: l, rank: rank, world: world}
	}
	return &object{call: call}
}

// Len implements contents.
func (o *object) Len() int64 { return *o.call.Length }

// Key implements contents.
func (o *object) Key(index int64) string { return strconv.FormatInt(index, 10) }

// Link implements contents.
func (o *object) Link(w *core.Env, s *fuse.Source, schema sample.Schema, where *record.Columns) (*python.Function, error) {
	gives := o.call.Gives.Schema
	o.begins(w, s, gives, schema, where)
	o.python.PerWorker = python.InHand(o.call.Where, nil, gives)
	var err error
	o.python.Pool, o.python.Workers, err = OpenWorkers(python.HostOf(w), s, extern.Index, 0, 1)
	return o.python, err
}

// Late has samples read when they have rows, by the function that Link has returned or by
// a chain: Fetch makes them without what the object has.
func (o *object) Late(where *record.Columns) {
	o.late, o.name = true, where.Of["key"]
}

// begins finds the places of a sample's fields.
func (o *object) begins(w *core.Env, s *fuse.Source, gives, schema sample.Schema, where *record.Columns) {
	o.python = &python.Function{Env: w, Name: s.Name}
	o.python.Gives(gives)
	o.python.Begin(nil, where)
	python.HostOf(w).Calls = append(python.HostOf(w).Calls, o.python)
	for _, f := range gives {
		at := where.Of[f.Name]
		o.python.Out = append(o.python.Out, python.Field{Name: f.Name, Type: schema[schema.Find(f.Name)].Type, Column: at})
		if n, err := f.Type.Shape.Bytes(f.Type.DType); f.Type.Fixed() && err == nil && o.each >= 0 && at.Kind != record.Numbers {
			o.each += n
		} else if f.Type.Kind != sample.Text && at.Kind != record.Numbers {
			o.each = -1
		}
	}
	o.each = max(0, o.each)
	o.name, o.brings = where.Of["key"], gives.Find("key") >= 0
}

// Fetch implements contents.
func (o *object) Fetch(ctx context.Context, w *core.Env, it *record.Record) (n int64, err error) {
	if o.late {
		if v := w.Blank(it); o.name.Kind != 0 {
			v.Texts[o.name.At] = it.Key
		}
		return 0, nil
	}

	lane, of := it.Lane()
	if it.Content, err = lane.Acquire(ctx, w.Age(of), core.ForFiles, o.each); err != nil {
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
	if o.call.Keys != "" {
		it.Key, out = out[len(out)-1].Text, out[:len(out)-1]
	}
	if n, err = o.take(w, it, out); err != nil || n <= o.each {
		return n, err
	}

	// The oldest sample never waits for bytes, so asking while holding some cannot block.
	before := it.Content
	it.Content, err = lane.Acquire(ctx, w.Age(of), core.ForFiles, n)
	before.Release()
	return n, err
}

// take gives a sample its first values, in memory that a worker has filled. It tells how
// many bytes they have.
func (o *object) take(w *core.Env, it *record.Record, out []extern.Value) (n int64, err error) {
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
	case !o.brings && o.name.Kind != 0: // samples that are no dicts have no field for it
		v.Texts[o.name.At] = it.Key
	case o.brings && o.call.Keys == "":
		it.Key = v.Texts[o.name.At]
	}
	v.Sweep()
	return n, nil
}

// OpenWorkers starts the workers of a source.
func OpenWorkers(h *python.Host, s *fuse.Source, kind extern.Kind, rank, world int) (*extern.Pool, int, error) {
	call := recipe.TraitsOf(s.Args).Call
	o := extern.Options{Kind: kind, Keys: call.Keys, In: sample.Schema{}, To: call.To,
		Gives: call.Gives.Schema, States: kind == extern.Iterate, Rank: rank, World: world}
	return h.Open(s.Name, &call.Python, o, s.Failures)
}
