package survey

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// probing replaces a step whose results are not known. It takes the first sample that
// comes, remembers its results, and gives the keys of samples.
type probing struct {
	call     *recipe.Call
	chain    []recipe.Step // functions that are called one after the other; nil: there is one
	held     recipe.Args   // of the step, or of the first of the chain
	failures *recipe.Failures
	learner  core.Learner                // the step, where it is no function; nil: it is one
	in       sample.Schema               // what comes to it, with the extents that first samples told; nil: not checked yet
	gives    []sample.Schema             // by function, nil of a filter; nil: no sample has come
	tuple    sample.Schema               // what the last function gives, if that is a tuple; nil: it is none
	flush    func(context.Context) error // ends what gathers samples, where some have come; nil: none have
}

// Gathers tells whether a step is tried that gathers samples.
func Gathers(args recipe.Args) bool {
	p, ok := args.(*probing)
	return ok && recipe.TraitsOf(p.held).Count == recipe.Gathers
}

// atEnd asks what gathers samples at the end of an epoch.
func (p *probing) atEnd(ctx context.Context) (found bool, err error) {
	if p.flush != nil {
		err = p.flush(ctx)
	}
	return p.gives != nil && err == nil, err
}

// Held implements recipe.Holder.
func (p *probing) Held() any { return p.held }

// MarshalJSON implements recipe.Holder.
func (p *probing) MarshalJSON() ([]byte, error) { return json.Marshal(p.held) }

// Plain implements [recipe.Plain].
func (p *probing) Plain() bool { return true }

// CallsPython says that it is a function of Python.
func (p *probing) CallsPython() {}

// Check implements recipe.Args.
func (p *probing) Check(in sample.Schema) (sample.Schema, error) {
	if p.chain == nil {
		if _, err := p.held.Check(in); err != nil {
			return nil, err
		}
	}
	for out, i := in, 0; i < len(p.chain) && out != nil; i++ {
		var err error
		if out, err = p.chain[i].Args.Check(out); err != nil {
			return nil, err
		}
	}
	if p.in == nil {
		p.in = slices.Clone(in)
		for i := range in {
			p.in[i].Type.Shape = slices.Clone(in[i].Type.Shape)
		}
	}
	return probed, nil
}

// probed is the schema of the results of a probing.
var probed = sample.Schema{{Name: "key", Type: sample.TextType}}

var _ core.Linker = (*probing)(nil)

// Link implements [core.Linker].
func (p *probing) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	in, where := t.Schema, &t.Columns
	var next *python.Function
	var err error
	if p.chain != nil {
		if next, err = python.NewTrial(w, p.chain, joined(p.chain), in, where); err != nil {
			return nil, err
		}
	} else {
		next = &python.Function{Env: w, Name: name, Workers: 1}
		o := python.OptionsOf(p.call, in)
		o.Rows, o.States = where.Rows, false
		next.Begin(o.In, where)
		if next.Pool, _, err = python.HostOf(w).Open(name, &p.call.Python, o, p.failures); err != nil {
			return nil, err
		}
	}
	if t.Schema, err = p.Check(in); err != nil {
		return nil, err
	}
	return &probe{next, p, where.Put("key", sample.TextType)}, nil
}

// probe is the part that a probing is.
type probe struct {
	*python.Function
	what *probing
	key  record.Column
}

// run implements part. The stage has one worker.
func (p *probe) Run(ctx context.Context, it *record.Record, _ *core.Tool) error {
	if p.what.gives == nil {
		err := pipe.Ungated(ctx, func() error { return p.look(ctx, it) })
		if err != nil {
			return err
		}
	}
	it.Values.Texts[p.key.At] = it.Key
	return nil
}

// look calls the function. If it makes several samples, the first tells; if it makes
// none, the next sample is tried.
func (p *probe) look(ctx context.Context, it *record.Record) error {
	c := p.Call(it)
	defer p.Done(c)

	switch recipe.TraitsOf(p.what.held).Count {
	case recipe.More:
	case recipe.Gathers:
		c.Begin = p.what.flush == nil
		p.what.flush = p.end
	default:
		if err := p.Try(ctx, c, nil); err != nil {
			return python.Final(err)
		}
		if !c.Keep {
			return pipe.Skip
		}
		return p.note(it, c, c.Out)
	}

	err := p.Pool.Stream(ctx, c, func(out []extern.Value) error {
		if err := p.note(it, c, out); err != nil {
			return err
		}
		return python.ErrEnough
	})

	switch {
	case err == nil:
		return pipe.Skip
	case errors.Is(err, python.ErrEnough):
		return nil
	}
	return python.Final(err)
}

// end asks what gathers samples for what it has at the end of an epoch.
func (p *probe) end(ctx context.Context) error {
	c := &extern.Call{Flush: true}
	err := p.Pool.Stream(ctx, c, func(out []extern.Value) error {
		it := &record.Record{}
		p.Env.Blank(it)
		defer p.Env.Drop(it)
		if err := p.note(it, c, out); err != nil {
			return err
		}
		return python.ErrEnough
	})
	if err != nil && !errors.Is(err, python.ErrEnough) {
		return fmt.Errorf("headrace: %s: %w", p.Name, err)
	}
	return nil
}

// note remembers types.
func (p *probe) note(it *record.Record, c *extern.Call, out []extern.Value) error {
	var gives sample.Schema
	for i, name := range c.Names {
		if len(c.Same) > 0 && c.Same[i] >= 0 {
			out[i] = c.In[c.Same[i]]
		} else {
			p.Env.Adopt(it.Values, out[i].Data)
		}
		gives = append(gives, sample.Field{Name: name, Type: typeOf(&out[i])})
	}
	found := c.Found
	if p.what.chain == nil {
		found = []sample.Schema{gives}
	}

	came := sample.Schema{} // to a function, as this sample has it
	for i := range c.In {
		came = append(came, sample.Field{Name: p.In[i].Name, Type: typeOf(&c.In[i])})
	}
	of := p.what.in // as all samples have it
	for i, gives := range found {
		if gives == nil { // a filter
			continue
		}
		if len(gives) == 0 {
			return fmt.Errorf("headrace: %s gives a sample without fields", p.what.nameOf(i, p.Name))
		}
		all := alike(gives, came, of)
		// A result as long as this batch has its rows there; other batches have more or
		// fewer.
		if rows := len(it.Members); rows > 0 && p.rowsDiffer() {
			for k := range all {
				if shape := all[k].Type.Shape; gives[k].Type.Kind == sample.Tensor && len(shape) > 0 && shape[0] == rows {
					all[k].Type.Shape = slices.Clone(shape)
					all[k].Type.Shape[0] = tensor.Unknown
				}
			}
		}
		for k := range gives {
			came, of = came.With(gives[k].Name, gives[k].Type), of.With(gives[k].Name, all[k].Type)
		}
		found[i] = all
	}
	p.what.gives, p.what.tuple = found, c.Tuple
	return nil
}

// rowsDiffer tells whether batches come that have other numbers of rows.
func (p *probe) rowsDiffer() bool {
	return slices.ContainsFunc(p.what.in, func(f sample.Field) bool { return len(f.Type.Shape) > 0 && f.Type.Shape[0] == tensor.Unknown })
}

// nameOf is the name of a function.
func (p *probing) nameOf(i int, all string) string {
	if p.chain == nil {
		return all
	}
	return p.chain[i].Name
}

// joined names a chain.
func joined(steps []recipe.Step) string {
	var names []string
	for _, s := range steps {
		names = append(names, s.Name)
	}
	return strings.Join(names, "+")
}

func typeOf(v *extern.Value) sample.Type {
	if v.Kind != sample.Tensor {
		return sample.Type{Kind: v.Kind, Shape: v.Shape}
	}
	return sample.TensorType(v.DType, slices.Clone(v.Shape)...)
}

// alike are the types that all samples have of which one has these. An extent is that
// of all, unless it is known to differ between those that come and the function has
// left it as it was.
func alike(gives, came, of sample.Schema) sample.Schema {
	gives = slices.Clone(gives)
	for k := range gives {
		t := &gives[k].Type
		i, j := came.Find(gives[k].Name), of.Find(gives[k].Name)
		if i < 0 || j < 0 || len(came[i].Type.Shape) != len(t.Shape) || len(of[j].Type.Shape) != len(t.Shape) {
			continue
		}
		t.Shape = slices.Clone(t.Shape)
		for axis, extent := range of[j].Type.Shape {
			if extent == tensor.Unknown && came[i].Type.Shape[axis] == t.Shape[axis] {
				t.Shape[axis] = tensor.Unknown
			}
		}
	}
	return gives
}

// foresee implements part.
func (p *probe) Foresee(*record.Record, *core.Tool) int64 { return 0 }
