package headrace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"headrace/extern"
	"headrace/internal/batch"
	"headrace/internal/machine"
	"headrace/internal/ops"
	"headrace/internal/record"
	"headrace/internal/source"
	"headrace/pipe"
	"headrace/recipe"
	"headrace/recipe/fuse"
	"headrace/sample"
	"headrace/tensor"
)

// found is what is found out about a recipe before its loader is made.
type found struct {
	config   Config
	options  Options
	listed   map[string]*source.Files // by source
	suffixes []string                 // of files in folders
	room     int                      // bytes of a batch that a function makes; 0: nobody has seen one
	guesses  []guess                  // extents that first samples have told
}

// materials are what a loader is made of with what was found out.
func (f *found) materials(probes bool) materials {
	return materials{config: f.config, options: f.options, files: f.files, room: f.roomFor(f.config.withDefaults()), probes: probes}
}

// files lists a source, once.
func (f *found) files(ctx context.Context, s *fuse.Source) (*source.Files, error) {
	if known, ok := f.listed[s.Name]; ok {
		again := *known
		return &again, nil
	}
	l, err := source.NewFiles(ctx, s.Files, f.suffixes)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	f.listed[s.Name] = l
	return l, nil
}

// unknown tells whether some function of Python does not say what it gives.
func unknown(r recipe.Recipe) bool {
	for _, s := range r.All() {
		switch m := s.Args.(type) {
		case *recipe.Object:
			if m.Gives.Schema == nil {
				return true
			}
		case *recipe.Map:
			if m.Gives.Schema == nil {
				return true
			}
		case *recipe.Aggregate:
			if m.Gives.Schema == nil {
				return true
			}
		case *recipe.FlatMap:
			if m.Gives.Schema == nil {
				return true
			}
		case *recipe.Batch:
			if m.Collate != nil && m.Collate.Gives.Schema == nil {
				return true
			}
		}
	}
	return false
}

// probe says of functions of Python what they give, where the recipe does not: what they make of the first sample of epoch 0 that comes to them, on all
// ranks. So the first samples are worked on once more than the run does.
func (f *found) probe(ctx context.Context, r recipe.Recipe) (recipe.Recipe, error) {
	steps, err := f.chain(ctx, r, r.Steps, false)
	if r.Steps = steps; err != nil {
		return r, err
	}
	if _, err := r.Check(); err == nil {
		f.loosen(func() error { _, err := r.Check(); return err })
	}
	return r, nil
}

func (f *found) chain(ctx context.Context, r recipe.Recipe, steps recipe.Chain, branch bool) (recipe.Chain, error) {
	steps = slices.Clone(steps)
	for i, s := range steps {
		var err error
		switch args := s.Args.(type) {
		case *recipe.Merge:
			m := *args
			m.Of = slices.Clone(m.Of)
			for k, of := range m.Of {
				if m.Of[k], err = f.chain(ctx, r, of, branch); err != nil {
					return nil, err
				}
			}
			steps[i].Args = &m
		case *recipe.Route:
			for _, b := range args.Branches {
				if _, err := f.chain(ctx, r, b.Steps, true); err != nil {
					return nil, err
				}
			}
		case *recipe.Object:
			o := *args
			if err = f.object(ctx, r, s, &o); err != nil {
				return nil, err
			}
			steps[i].Args = &o
		case *recipe.Map:
			m := *args
			if err = f.step(ctx, r, steps[:i], s, &m, branch); err != nil {
				return nil, err
			}
			steps[i].Args = &m
		case *recipe.Aggregate:
			a, m := *args, recipe.Map{Python: args.Python(), Gives: args.Gives}
			if err = f.step(ctx, r, steps[:i], s, &m, branch); err != nil {
				return nil, err
			}
			a.Gives = m.Gives
			steps[i].Args = &a
		case *recipe.FlatMap:
			m := *args
			if err = f.step(ctx, r, steps[:i], s, (*recipe.Map)(&m), branch); err != nil {
				return nil, err
			}
			steps[i].Args = &m
		case *recipe.Batch:
			if args.Collate == nil {
				continue
			}
			b, c := *args, *args.Collate
			b.Collate = &c
			if err = f.collate(ctx, r, steps[:i], s, &b); err != nil {
				return nil, err
			}
			steps[i].Args = &b
		}
	}
	return steps, nil
}

// step finds out what a step gives, behind these.
func (f *found) step(ctx context.Context, r recipe.Recipe, before recipe.Chain, s recipe.Step, args *recipe.Map, branch bool) error {
	if args.Gives.Schema != nil {
		return nil
	}
	if branch {
		return mistake(r, s.Name, errors.New("does not say what it gives, and stands in a branch, where no first sample may come: say gives"))
	}
	p := &probing{args: args, held: s.Args, failures: s.Failures}
	failures := s.Failures
	if failures != nil { // its worker watches its time limit, which begins when it does
		unlimited := *failures
		unlimited.TimeLimit = nil
		failures = &unlimited
	}
	prefix := recipe.Recipe{Seed: r.Seed, Steps: append(slices.Clone(before),
		recipe.Step{Op: s.Op, Name: s.Name, Args: p, Failures: failures}, recipe.Step{Name: s.Name + ".probe", Args: &recipe.Batch{Size: 1}})}
	if _, err := f.first(ctx, prefix, r, s.Name, p.atEnd); err != nil {
		return err
	}
	args.Gives.Schema = p.gives
	f.remember(args.Gives.Schema)
	return nil
}

// first has a loader make the first batch of a recipe, which is the beginning of another one: up to the step of this name. At the end of an epoch without one, atEnd
// may find out what was asked for. It returns the loader, closed.
func (f *found) first(ctx context.Context, prefix, r recipe.Recipe, name string, atEnd func(context.Context) (found bool, err error)) (*Loader, error) {
	c := f.config
	c.Epochs, c.Rank, c.WorldSize, c.StepsPerEpoch, c.Workers, c.Order, c.Prefetch = new(1), 0, 1, nil, new(1), InputOrder, 1
	c.DeadLetters = "" // the run tells of what it loses itself

	o := f.options
	o.Announce, o.Held, o.Lost, o.Warn, o.Ledger = nil, nil, nil, nil, false
	only := *f
	only.config, only.options = c, o

	if _, err := prefix.Check(); err != nil {
		return nil, err
	}

	f.loosen(func() error { _, err := prefix.Check(); return err }) // the one that comes to the step need not be the first
	defer f.tighten()
	schema, err := prefix.Check()
	if err != nil {
		return nil, err
	}

	l, err := assemble(ctx, prefix, schema, only.materials(true))
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if err := l.Start(State{}, nil); err != nil {
		return nil, err
	}

	b, err := l.Next(ctx)
	if err == io.EOF {
		var found bool
		if found, err = atEnd(ctx); found {
			return l, nil
		}
		err = cmp.Or(err, io.EOF)
	}

	switch {
	case err == io.EOF:
		return nil, mistake(r, name, errors.New("does not say what it gives, and no sample came there that would tell: say gives"))
	case err != nil:
		return nil, err
	}

	b.Release()
	return l, nil
}

// mistake is one of a step.
func mistake(r recipe.Recipe, name string, err error) error {
	for n, s := range r.All() {
		if s.Name == name {
			return &recipe.Error{Step: n, Name: name, Err: err}
		}
	}
	return err
}

// probing stands in the place of a step of which it is not known what it gives. It takes the first sample that comes, remembers what is made of that, and gives the
// keys of samples.
type probing struct {
	args     *recipe.Map
	held     recipe.Args // of which args is a copy, or of which it has all there is to know
	failures *recipe.Failures
	in       sample.Schema               // what comes to it, with the extents that first samples told; nil: not checked yet
	gives    sample.Schema               // nil: no sample has come
	flush    func(context.Context) error // ends what gathers samples, where some have come; nil: none have
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

// CallsPython says that it is a function of Python.
func (p *probing) CallsPython() {}

// Check implements recipe.Args.
func (p *probing) Check(in sample.Schema) (sample.Schema, error) {
	if _, err := p.args.Check(in); err != nil {
		return nil, err
	}
	if p.in == nil {
		p.in = slices.Clone(in)
		for i := range in {
			p.in[i].Type.Shape = slices.Clone(in[i].Type.Shape)
		}
	}
	return sample.Schema{{Name: "key", Type: sample.TextType}}, nil
}

// link implements program.
func (p *probing) Link(w *ops.Env, name string, in sample.Schema, where *record.Columns) (ops.Part, sample.Schema, error) {
	next := &ops.Function{Env: w, Name: name, Workers: 1}
	next.Begin(p.args.Takes(in), where)
	var err error
	o := extern.Options{Kind: extern.Map, In: p.args.Takes(in), To: p.args.To}
	switch p.held.(type) {
	case *recipe.FlatMap:
		o.Kind = extern.FlatMap
	case *recipe.Aggregate:
		o.Kind = extern.Aggregate
	}
	if next.Pool, _, err = w.Host.Open(name, &p.args.Python, o, p.failures); err != nil {
		return nil, nil, err
	}
	out, err := p.Check(in)
	return &probe{next, p, where.Put("key", sample.TextType)}, out, err
}

// probe is the part that a probing is.
type probe struct {
	*ops.Function
	what *probing
	key  record.Column
}

// run implements part. The stage has one worker.
func (p *probe) Run(ctx context.Context, it *record.Record, _ *ops.Tool) error {
	if p.what.gives == nil {
		err := pipe.Ungated(ctx, func() error { return p.look(ctx, it) })
		if err != nil {
			return err
		}
	}
	it.Values.Texts[p.key.At] = it.Key
	return nil
}

// look calls the function. Where it makes several samples, the first tells; where it makes none, the next one that comes.
func (p *probe) look(ctx context.Context, it *record.Record) error {
	c := p.Call(it)
	defer p.Done(c)

	switch p.what.held.(type) {
	case *recipe.FlatMap:
	case *recipe.Aggregate:
		c.Begin = p.what.flush == nil
		p.what.flush = p.end
	default:
		if err := p.Pool.Call(ctx, c); err != nil {
			return ops.Final(err)
		}
		return p.note(it, c, c.Out)
	}

	err := p.Pool.Stream(ctx, c, func(out []extern.Value) error {
		if err := p.note(it, c, out); err != nil {
			return err
		}
		return ops.ErrEnough
	})

	switch {
	case err == nil:
		return pipe.Skip
	case errors.Is(err, ops.ErrEnough):
		return nil
	}
	return ops.Final(err)
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
		return ops.ErrEnough
	})
	if err != nil && !errors.Is(err, ops.ErrEnough) {
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
		gives = append(gives, sample.Field{Name: name, Type: p.typeOf(name, &out[i], c.In)})
	}
	if len(gives) == 0 {
		return fmt.Errorf("headrace: %s gives a sample without fields", p.Name)
	}
	p.what.gives = gives
	return nil
}

// typeOf is the type of a value. An extent is that of all samples, unless it is known to differ between those that come and the function has left it as it was.
func (p *probe) typeOf(name string, v *extern.Value, in []extern.Value) sample.Type {
	if v.Kind != sample.Tensor {
		return sample.Type{Kind: v.Kind}
	}
	t := sample.TensorType(v.DType, slices.Clone(v.Shape)...)
	i := slices.IndexFunc(p.In, func(s ops.Field) bool { return s.Name == name })
	if i < 0 || len(in) == 0 || len(p.In[i].Type.Shape) != len(t.Shape) {
		return t
	}
	for axis, extent := range p.what.in[p.what.in.Find(name)].Type.Shape {
		if extent == tensor.Unknown && in[i].Shape[axis] == t.Shape[axis] {
			t.Shape[axis] = tensor.Unknown
		}
	}
	return t
}

// foresee implements part.
func (p *probe) Foresee(*record.Record, *ops.Tool) int64 { return 0 }

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
	pool, _, err := source.OpenWorkers(h, &fuse.Source{Name: s.Name, Object: args, Failures: s.Failures}, kind, f.config.Rank, max(1, f.config.WorldSize))
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

// collate finds out what a function makes of the first batch. How large that is tells how large slots should be.
func (f *found) collate(ctx context.Context, r recipe.Recipe, before recipe.Chain, s recipe.Step, args *recipe.Batch) error {
	if args.Collate.Gives.Schema != nil {
		return nil
	}
	b := recipe.Batch{Size: args.Size, Collate: args.Collate}
	if b.Size == 0 {
		b.Size = max(1, args.GlobalSize/max(1, f.config.WorldSize))
	}
	only := recipe.Recipe{Seed: r.Seed, Steps: append(slices.Clone(before), recipe.Step{Op: s.Op, Name: s.Name, Args: &b, Failures: s.Failures})}
	l, err := f.first(ctx, only, r, s.Name, func(context.Context) (bool, error) { return false, nil })
	if err != nil {
		return err
	}
	args.Collate.Gives.Schema, f.room = l.compiled.Collating.Found, int(min(2*int64(l.compiled.Collating.Bytes), batch.MaxSlot))
	return nil
}

// roomFor is how large slots are where batches differ: as twice the first one. Where nobody has seen one, it is some megabytes: pages that nobody writes cost nothing but a place in the
// budget. Larger batches take memory of their own.
func (f *found) roomFor(c Config) int {
	if f.room > 0 {
		return f.room
	}
	limit := machine.Here().Budget(c.LocalWorldSize)
	if c.Memory != nil {
		limit = *c.Memory
	}
	return int(min(max(limit/64, 1<<20), 16<<20))
}
