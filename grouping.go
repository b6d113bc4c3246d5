package headrace

import (
	"context"
	"fmt"
	"headrace/internal/ops"
	"sync/atomic"

	"headrace/budget"
	"headrace/group"
	"headrace/internal/record"
	"headrace/media"
	"headrace/pipe"
	"headrace/recipe"
	"headrace/recipe/fuse"
	"headrace/tensor"
)

// grouping is how samples come into batches by what they are: by the shape of their image, by the length of their sequences.
//
// What a sample is, a stage measures before it waits for others; it also fails there, or is left out. While it waits nobody waits for its bytes. What it takes to
// decode it, it reserves when its batch is on its way, in a lane of the budget where samples are ordered as they come.
type grouping struct {
	work      *ops.Env
	layout    *layout
	images    *ops.ImageSteps // whose plan tells the shape; nil: the picture is stored
	picture   record.Column   // nowhere: lengths count
	image     int             // the field of the picture
	sequences []record.Column
	equal     bool // the sequences of a sample are equally long
	limit     int  // of a length
	overlong  group.Overlong

	leg    *ops.MemoryScope // nil: nothing is decoded behind it
	lane   *budget.Lane
	served atomic.Uint64
}

// measure finds out where a sample belongs.
func (g *grouping) measure(_ context.Context, it *record.Record) (err error) {
	if g.picture.Kind == record.Images {
		it.Group, err = g.groupOf(it)
	} else {
		it.Length, err = g.lengthOf(it.Values)
	}
	if err == nil {
		it.Content.Park()
		it.Working.Park()
	}
	return err
}

// groupOf says which form of batch the sample's picture fits into. It follows from the header of a file, and from the sample's random draws.
func (g *grouping) groupOf(it *record.Record) (int, error) {
	shape := it.Values.Images[g.picture.At].Form().Shape()
	if g.images != nil {
		if g.images.Decodes() {
			it.Header, it.HeaderErr = media.Probe(it.Values.Bytes[g.images.From.At])
		}
		t := g.work.Tool(it)
		defer g.work.Done(t)
		if err := g.images.Plan(it, t, g.images.FormOf(it), false); err != nil {
			return 0, err
		}
		shape = t.Plan.Form().Shape()
	}
	forms := g.layout.forms
	for i := range forms {
		if forms[i].shapes[g.image].Equal(shape) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("headrace: the picture comes out as %v, which no batch has", shape)
}

// lengthOf is that of the longest sequence.
func (g *grouping) lengthOf(v *record.Values) (int, error) {
	longest := 0
	for i, at := range g.sequences {
		n := v.Arrays[at.At].Shape[0]
		if g.equal && i > 0 && n != longest {
			return 0, fmt.Errorf("headrace: its sequences have %d and %d elements: takes equally long ones", longest, n)
		}
		longest = max(longest, n)
	}
	switch {
	case g.equal && longest == 0:
		return 0, fmt.Errorf("headrace: its sequences are empty: there is nothing to pack")
	case longest <= g.limit:
		return longest, nil
	case g.overlong == group.Truncate:
		return g.limit, nil
	case g.overlong == group.Drop:
		return 0, pipe.Skip
	}
	return 0, &group.LengthError{Length: longest, Limit: g.limit}
}

// takes tells whether a sample fits into a batch that was made for another.
func (g *grouping) takes(it *record.Record, b *Batch) bool {
	f := b.form.Load()
	if g.picture.Kind == record.Images {
		return &g.layout.forms[it.Group] == f
	}
	return len(f.extents) == 0 || it.Length <= f.extents[0]
}

// group is the flow of batches behind the samples.
func (j joiner) group(in pipe.Flow[*record.Record], end *ending, p fuse.Plan) (pipe.Flow[*Batch], error) {
	step := p.Last.Names[len(p.Last.Names)-1]
	together := pipe.AggregateOpts{Name: "group " + step, Buffer: j.info.Workers}
	length := func(it *record.Record) int { return it.Length }
	j.note(together.Name, 1, nil)
	switch {
	case p.Pack != nil:
		o := group.PackOpts{Length: p.Pack.Length, Open: p.Pack.Open}
		if p.Pack.Fit == "first" {
			o.Fit = group.FirstFit
		}
		begin, err := group.Pack(length, o)
		if err != nil {
			return pipe.Flow[*Batch]{}, err
		}
		j.slots.packs = true
		rows := pipe.Discard(pipe.Aggregate(in, begin, together), end.dropRow)
		return pipe.Fill(rows, j.layout.rows, j.slots, end.pack, j.filling(end, p, p.Pack.DropLast)), nil
	case p.Buckets != nil:
		together.DropLast = p.Buckets.DropLast
		o := group.BucketOpts{Lengths: p.Buckets.Lengths, Longest: p.Buckets.PadTo == "longest"}
		for _, f := range j.layout.forms {
			o.Sizes = append(o.Sizes, f.rows)
		}
		begin, err := group.Buckets(length, o)
		if err != nil {
			return pipe.Flow[*Batch]{}, err
		}
		return fillGroups(j, pipe.Aggregate(in, begin, together), end, p, j.layout.ofLength), nil
	default:
		together.DropLast = p.Batch.DropLast
		shape := func(it *record.Record) (int, error) { return it.Group, nil }
		begin, err := group.Shapes(shape, group.ShapeOpts{Size: j.layout.rows, Open: len(j.layout.forms)})
		if err != nil {
			return pipe.Flow[*Batch]{}, err
		}
		return fillGroups(j, pipe.Aggregate(in, begin, together), end, p, func(i int) *form { return &j.layout.forms[i] }), nil
	}
}

// fillGroups writes samples into the batches that were made for them.
func fillGroups[S any](j joiner, in pipe.Flow[group.Placed[*record.Record, S]], end *ending, p fuse.Plan, formOf func(S) *form) pipe.Flow[*Batch] {
	type placed = group.Placed[*record.Record, S]
	drop := func(p placed) { j.work.Drop(p.Item) }
	in = pipe.Discard(in, drop)
	if g := end.grouping; g.leg != nil {
		reserve := func(ctx context.Context, p placed) (placed, error) { return p, g.reserve(ctx, p.Item) }
		o := pipe.Opts{Name: "reserve " + p.Last.Names[0], Ordered: true, Buffer: j.info.Workers}
		j.note(o.Name, 1, nil)
		in = pipe.Discard(pipe.Map(in, reserve, o), drop)
	}
	write := func(ctx context.Context, p placed, b *Batch, row int) error {
		if b.form.Load() == nil {
			b.form.CompareAndSwap(nil, formOf(p.Shape)) // others write rows of it now, too
		}
		return end.fill(ctx, p.Item, b, row)
	}
	return pipe.FillGroups(in, j.layout.rows, placed.Last, j.slots, write, j.filling(end, p, false))
}

// reserve waits for the bytes that decoding takes. One sample at a time does.
func (g *grouping) reserve(ctx context.Context, it *record.Record) (err error) {
	if g.leg.Probe.Kind == record.Bytes {
		it.Header, it.HeaderErr = media.Probe(it.Values.Bytes[g.leg.Probe.At])
	}
	before := it.Working
	if it.Working, err = g.lane.Acquire(ctx, g.served.Add(1), ops.ForDecoder, g.leg.Most(it)); err != nil {
		g.work.Drop(it)
	}
	before.Release()
	return err
}

// ofLength is the form of a batch that is padded to a length.
func (l *layout) ofLength(n int) *form {
	for i := range l.forms {
		if f := &l.forms[i]; len(f.extents) == 0 || f.extents[0] == n {
			return f
		}
	}
	o := open{rows: l.rows}
	for range l.unknown() {
		o.extents = append(o.extents, n)
	}
	f, err := l.form(o)
	if err != nil {
		panic(err) // a larger one was laid out
	}
	return &f
}

// groups tells whether samples come into batches by what they are.
func groups(r recipe.Recipe, p fuse.Plan) bool {
	return p.Buckets != nil || p.Pack != nil || r.ImageShapes() != nil
}

// formsOf are what a batch may be. Rows is the size of one that is made of any samples.
func formsOf(r recipe.Recipe, p fuse.Plan, rows int) (forms []open, err error) {
	switch {
	case p.Pack != nil:
		return []open{{rows: p.Pack.Size}}, nil
	case p.Buckets != nil:
		rows, err := p.Buckets.Rows(p.Schema)
		if err != nil {
			return nil, err
		}
		for i, n := range rows {
			o := open{rows: n}
			if len(rows) > 1 || p.Buckets.PadTo == "longest" {
				for range p.Schema.Ragged() {
					o.extents = append(o.extents, p.Buckets.Lengths[i])
				}
			}
			forms = append(forms, o)
		}
		return forms, nil
	}
	shapes := r.ImageShapes()
	if shapes == nil {
		return []open{{rows: rows}}, nil
	}
	i := imageIn(p.Schema)
	for _, s := range shapes {
		o := open{rows: rows}
		for k, n := range p.Schema[i].Type.Shape {
			if n == tensor.Unknown {
				o.extents = append(o.extents, s[k])
			}
		}
		forms = append(forms, o)
	}
	return forms, nil
}

// mostBatches bounds the batches that n samples come into: full ones of the smallest kind, and one of each kind that is not full.
func (l *Loader) mostBatches(p fuse.Plan, n int64) int64 {
	fewest, dropLast, kinds := int64(l.layout.rows), p.Batch.DropLast, int64(len(l.layout.forms))
	for _, f := range l.layout.forms {
		fewest = min(fewest, int64(f.rows))
	}
	switch {
	case p.Pack != nil: // a row has one sample, at least
		dropLast = p.Pack.DropLast
	case p.Buckets != nil:
		dropLast = p.Buckets.DropLast
	}
	if dropLast {
		return n / fewest
	}
	return min(n, n/fewest+kinds)
}
