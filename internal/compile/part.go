package compile

import (
	"context"
	"slices"

	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/column"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/data"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/op/video"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

// add appends a part whose result is stored.
func (b *builder) add(p fuse.Part) (err error) {
	if p.Step != nil {
		if recipe.TraitsOf(p.Step.Args).Batches != nil {
			return b.gather(p)
		}
		switch recipe.TraitsOf(p.Step.Args).Count {
		case recipe.More:
			return b.flatMap(p)
		case recipe.Gathers:
			return b.aggregate(p)
		case recipe.Rows:
			return b.unbatch(p)
		}
		// A change of fields costs less than the way to a stage of its own.
		if args, ok := p.Step.Args.(recipe.FieldStep); ok {
			b.fields(p, args)
			return nil
		}
	}

	b.reach(p)
	s := &stage{name: p.Name(), steps: p.Names}
	var next core.Part
	switch {
	case p.Step == nil:
		next = b.images(p)
	case recipe.TraitsOf(p.Step.Args).Call != nil:
		if s.python, s.known, err = b.python(p); err == nil {
			s.python.Stage = s.name
			s.order = recipe.TraitsOf(p.Step.Args).Call.Order
		}
		next = s.python
	case recipe.TraitsOf(p.Step.Args).Columns:
		var of *column.Part
		if of, err = b.columns(p); p.Failures == nil {
			s.columns = of
		}
		next = of
	default:
		next, s.known, err = b.link(*p.Step)
	}
	if err != nil {
		return err
	}

	b.Memory.Parts = append(b.Memory.Parts, next)
	b.push(s, p.Failures, b.Env.Carry(next), func(it *record.Record) { it.Values.Sweep() })
	return nil
}

// reach sees to it that bytes are reserved for a part: it begins another leg if the one
// so far cannot foresee it.
func (b *builder) reach(p fuse.Part) {
	what := "reserve "
	switch {
	case p.Step != nil && opensFile(p.Step.Args, b.Schema):
		what = "load "
	case p.Images == nil || p.Images.Field == "":
	case video.OpensVideo(p.Images):
		b.index(p)
		what = "load "
	default:
		what = "probe "
	}
	if b.Memory != nil && (what == "reserve " || what == "probe " && b.canProbe(p.Images.Field)) {
		return
	}
	b.leg()
	name := ""
	if p.Names == nil { // a step that was put before another part, which names it
		name = p.Step.Name
	} else {
		name = p.Names[0]
	}
	b.push(&stage{name: what + name, waits: true, asks: true}, nil, b.Memory.Reserve, func(*record.Record) {})
}

// canProbe reports whether the leg so far can look at a field's content when it begins:
// it looks at no other, and the content is there already.
func (b *builder) canProbe(field string) bool {
	return b.Memory.Probe.Kind != record.Bytes && !slices.Contains(b.Columns.Fresh, field)
}

// opensFile tells whether a step opens a file by its path.
func opensFile(args recipe.Args, in sample.Schema) bool {
	o, ok := args.(recipe.Opener)
	return ok && o.Opens(in)
}

// index appends the stage that finds the packets of videos.
func (b *builder) index(p fuse.Part) {
	b.video = video.NewVideo(b.Env, p.Names[0], p.Images, &b.Scope)
	if recipe.TraitsOf(p.Images.Decoder).Count == recipe.Times {
		b.apart(p)
		return
	}
	b.push(&stage{name: "index " + p.Names[0]}, nil, b.video.Index, func(*record.Record) {})
}

// apart appends the stage that takes videos apart.
func (b *builder) apart(p fuse.Part) {
	next := video.NewVideoApart(b.video, p.Images, &b.Scope)
	h := b.Policies.Of(nil, b.samples)
	s := &stage{name: "index " + p.Names[0], expand: next.Expand, asks: true, losses: h.Policy, known: facts{drops: true, makes: true}}
	if !h.Replaces { // it leaves what is wrong to the decoder, which replaces
		s.known = s.known.with(handles(s.name, h))
	}
	b.path = append(slices.Clip(b.path), core.PathStep{Do: next.Again})
	if clips := next.Always(); clips > 0 && (b.line.source != nil || b.line.batches != nil) {
		b.line.clips = max(1, b.line.clips) * clips
		b.samples *= clips
	} else { // in branches, samples of some are made into more than those of others
		s.known.uncounted = true
	}
	b.append(s)
}

// images makes a part of steps on an image.
func (b *builder) images(p fuse.Part) *image.Steps {
	var frames image.Frames
	if video.OpensVideo(p.Images) {
		frames = b.video
	}
	return image.Link(b.Env, p, &b.Scope, frames, b.Library)
}

// link makes a part of a step that is no function of Python.
func (b *builder) link(s recipe.Step) (next core.Part, known facts, err error) {
	next, err = s.Args.(core.Linker).Link(b.Env, s.Name, &b.Scope)
	if _, own := s.Args.(recipe.Holder); own {
		known.programs = true
		known.relabels = slices.Contains(b.Columns.Fresh, "label")
	}
	return next, known, err
}

// columns makes one part of steps on columns.
func (b *builder) columns(p fuse.Part) (whole *column.Part, err error) {
	for _, s := range p.Chain() {
		next, err := s.Args.(core.Linker).Link(b.Env, s.Name, &b.Scope)
		if err != nil {
			return nil, err
		}
		if of := next.(*column.Part); whole == nil {
			whole = of
		} else {
			whole.Then(of)
		}
	}
	return whole, nil
}

// fields adds a step that changes fields to the stage before it.
func (b *builder) fields(p fuse.Part, args recipe.FieldStep) {
	b.reach(p)
	had := b.Schema.Find("label") >= 0
	var next *data.FieldChange
	next, b.Schema = data.NewFieldChange(b.Env, args, b.Schema, &b.Columns)
	s := b.change(next)
	s.steps = append(slices.Clip(s.steps), p.Names...)
	s.known.relabels = s.known.relabels || had && b.Schema.Find("label") < 0
}

// change has fields changed after the last stage of the line, for which bytes are
// reserved.
func (b *builder) change(next *data.FieldChange) *stage {
	b.Memory.Parts = append(b.Memory.Parts, next)
	s := b.line.steps[len(b.line.steps)-1].stage
	*s.fields = append(*s.fields, next)
	return s
}

// thenFields is an operation with changes of fields after it. They cost less than the
// way to another stage.
func thenFields(do core.Op, fields *[]*data.FieldChange) core.Op {
	return func(ctx context.Context, it *record.Record) error {
		if err := do(ctx, it); err != nil {
			return err
		}
		for _, f := range *fields {
			if err := f.Run(ctx, it, nil); err != nil {
				return err
			}
		}
		return nil
	}
}

// gather appends the stages that make batches in a chain of a merge or route, each of
// which is a sample to the stages after them.
func (b *builder) gather(p fuse.Part) error {
	next, err := stackingOf(b.Env, p, &b.Scope, b.Lane.Limit())
	if err != nil {
		return err
	}
	b.samples = max(1, b.samples/int64(next.Rows))
	h := b.Policies.Of(p.Failures, b.samples)
	next.Bear(h)
	known := facts{drops: true, makes: true, uncounted: true, uneven: true}.with(handles(p.Name(), h))
	s := &stage{name: p.Name(), steps: p.Names, stacking: next, op: core.Named(next.Make), asks: true, losses: h.Policy, known: known}
	if next.Collate != nil {
		s.python, next.Collate.Stage = next.Collate.Function, s.name
	}
	b.append(s)
	b.lose()
	return nil
}

// unbatch appends the stage that takes batches apart. Bytes are reserved again after it.
func (b *builder) unbatch(p fuse.Part) error {
	out, err := p.Step.Args.Check(b.Schema)
	if err != nil {
		return err
	}
	next := &batch.Rows{Env: b.Env}
	for _, f := range b.Schema {
		next.In = append(next.In, python.Field{Name: f.Name, Type: f.Type, Column: b.Columns.Take(f.Name)})
	}
	for _, f := range out {
		next.Out = append(next.Out, b.Columns.PutAny(f.Name, f.Type))
	}
	b.Schema, b.Columns.Rows = out, false
	known := facts{uneven: true}
	if b.line.batches != nil {
		b.samples, _ = b.line.batches.taken(ofRank)
		known.makes = b.line.batches.Layout.Whole // of as many rows as the function likes
		known.uncounted = known.makes
	}

	h := b.Policies.Of(p.Failures, b.samples)
	b.append(&stage{
		name: p.Name(), steps: p.Names, expand: next.Expand, unbatches: true, asks: true, losses: h.Policy,
		known: known.with(handles(p.Name(), h)),
	})
	b.lose()
	return nil
}
