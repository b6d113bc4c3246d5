package compile

import (
	"slices"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/data"
	"github.com/headrace/headrace/op/video"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
)

// compiler makes lines of a plan. It never changes: a scope holds the state at a place of
// a line, and facts tell how a stage affects the program.
type compiler struct {
	Target
	sources  map[*fuse.Source]*source.Listing
	mixes    map[string]*source.Listing          // by name
	again    map[*source.Listing]*source.Listing // of sources of mixes that take what arrives: these, again and again
	sections map[*fuse.Plan]Section

	overtakes bool // results of a function may come in another order than the loader's
}

// scope is the compiler's state at a place of a line.
type scope struct {
	core.Scope
	video   *video.Video    // that the next part decodes
	path    []core.PathStep // how samples get there, from their beginning or from the last routing around
	lost    bool            // path does not begin there, for samples are made of several
	samples int64           // in an epoch of this rank, at most
}

func newCompiler(p *fuse.Plan, t Target) compiler {
	c := compiler{Target: t, sources: map[*fuse.Source]*source.Listing{}, mixes: map[string]*source.Listing{},
		again: map[*source.Listing]*source.Listing{}, sections: map[*fuse.Plan]Section{}}
	for i, s := range p.Samples.Sources() {
		c.sources[s] = t.Sources[i]
	}
	for _, s := range t.Begins {
		if m, ok := s.Contents.(*source.Mixed); ok && m.In != nil {
			c.again[m.Of[0]] = s
		}
		for m := range s.Mixes() {
			c.mixes[m.Name] = m
		}
	}
	c.overtakes = slices.ContainsFunc(p.Parts(), func(of *fuse.Part) bool {
		return slices.ContainsFunc(of.Chain(), func(s recipe.Step) bool {
			call := recipe.TraitsOf(s.Args).Call
			return call != nil && call.Order == recipe.CompletionOrder
		})
	})
	for i := len(t.Sections) - 1; p != nil; p, i = p.Samples.Batches, i-1 {
		c.sections[p] = t.Sections[i]
	}
	return c
}

// nowhere is the scope before anything.
func nowhere() scope {
	return scope{Scope: core.Scope{Columns: record.Columns{Table: record.NewTable()}}}
}

// section goes along a plan.
func (c compiler) section(p *fuse.Plan, t scope) (*section, scope, error) {
	n, t, err := c.line(p, p.Samples, t)
	if err != nil {
		return nil, t, err
	}
	s := &section{Section: c.sections[p], plan: p, line: n}
	b := builder{c, p, n, t}
	if s.end, s.known, err = b.end(); err != nil {
		return nil, t, err
	}
	s.known.uneven = s.known.uneven || n.batches != nil && !p.Single
	s.table, s.called = b.table(s), b.called(s)
	return s, b.scope, nil
}

// line goes along a flow, whose samples come into batches of a plan.
func (c compiler) line(p *fuse.Plan, f fuse.Flow, t scope) (*line, scope, error) {
	b := builder{c, p, new(line), t}
	err := b.begin(f)
	for _, next := range f.Nodes {
		switch {
		case err != nil:
			return nil, t, err
		case next.Part != nil:
			err = b.add(*next.Part)
		default:
			err = b.route(next.Route)
		}
	}
	return b.line, b.scope, err
}

// builder puts a line together, stage by stage. Its scope is that of the next stage.
type builder struct {
	compiler
	plan *fuse.Plan // by which samples come into batches
	line *line
	scope
}

// begin begins a line, unless it is a branch, which goes on.
func (b *builder) begin(f fuse.Flow) error {
	switch {
	case f.Source != nil:
		return b.source(f.Source)
	case f.Merge != nil && f.Merge.Computed():
		return b.mix(f.Merge)
	case f.Merge != nil:
		return b.merge(f.Merge)
	case f.Batches != nil:
		return b.open(f.Batches)
	}
	return nil
}

// leg begins another part of the line for which bytes are reserved together.
func (b *builder) leg() {
	b.Memory = &core.MemoryScope{Env: b.Env}
	b.Columns.Fresh = nil
}

// append appends a stage that is done with.
func (b *builder) append(s *stage) { b.line.steps = append(b.line.steps, step{stage: s}) }

// push appends a stage of an operation. Undo makes a sample as it was before its
// operation has failed.
func (b *builder) push(s *stage, f *recipe.Failures, do core.Op, undo func(*record.Record)) {
	s.fields = new([]*data.FieldChange)
	do = thenFields(do, s.fields)
	h := b.Policies.Of(f, b.samples)
	if s.python != nil {
		h.Limit = 0 // they end a worker that takes longer
	}
	s.losses, s.known = h.Policy, s.known.with(handles(s.name, h))
	s.asks = s.asks || h.Replaces || h.Retries > 0 && h.Limit > 0

	a := b.Env.Guard(do, h, b.path, undo)
	s.op = a
	if h.Replaces {
		s.op = b.Env.Replacing(a, s.name, b.path)
	}
	s.op = core.Named(s.op)
	b.path = append(slices.Clip(b.path), core.PathStep{Do: a, Waits: s.waits || s.python != nil})
	b.append(s)
}

// lose says that no sample from here on can be made again alone, and that bytes are
// reserved again for what each of them has.
func (b *builder) lose() {
	b.Memory, b.path, b.lost = nil, []core.PathStep{{Do: b.Env.Lose}}, true
}
